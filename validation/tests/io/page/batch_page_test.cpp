// The page of a batch: what it lists, and what hostile summaries do to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/page/report_page.hpp"
#include "recon/error.hpp"
#include "validation/tests/io/page/report_pages.hpp"

namespace fhd {
namespace {

TEST_F(ReportPage, of_a_batch_lists_every_scan) {
  bare_result({8, 8, 1});
  std::ofstream(path("summary.json")) << R"({"scans": [
    {"name": "bare", "scan": "/s/bare.h5", "status": "finished", "seconds": 1.5, "data_residual": 0.1},
    {"name": "bad<b>", "scan": "/s/bad.h5", "status": "failed", "why": "expected </script>"},
    {"name": "../escape", "scan": "x", "status": "finished"}]})";
  const auto pages = io::write_batch_pages(path(""), true);
  EXPECT_TRUE(pages.failures.empty()) << pages.failures.front();
  const auto data = data_of(content(pages.index));
  ASSERT_EQ(data["scans"].size(), 3U);
  EXPECT_EQ(data["scans"][0]["status"], "failed") << "failures come first";
  EXPECT_FALSE(data["scans"][0].contains("page"));
  EXPECT_EQ(data["scans"][1]["page"], "bare.html");
  EXPECT_EQ(data["scans"][1]["picture"], "bare.png");
  EXPECT_FALSE(data["scans"][2].contains("page"));
  EXPECT_EQ(data_of(content(path("bare.html")))["results"].size(), 1U);
  EXPECT_THROW(io::write_batch_pages(path("no/such"), true), Error);
}

TEST_F(ReportPage, of_a_batch_shows_all_results_that_it_can_and_says_which_it_cannot) {
  bare_result({8, 8, 1});
  ASSERT_EQ(run("report bare.h5 -o broken.html"), 0) << text("err");  // of an earlier run
  std::ofstream(path("broken.h5")) << "no HDF5";
  std::ofstream(path("summary.json")) << R"({"scans": [{"name": "broken", "status": "finished"},
    {"name": "bare", "status": "finished"}]})";
  EXPECT_EQ(run("report ."), 1);
  EXPECT_EQ(text("out"), "wrote     ./index.html\n");
  EXPECT_EQ(text("err"), "fhd: ./broken.h5: expected an HDF5 file, found another format\n");
  const auto scans = data_of(content(path("index.html")))["scans"];
  ASSERT_EQ(scans.size(), 2U);
  EXPECT_EQ(scans[0]["line"], "./broken.h5: expected an HDF5 file, found another format");
  EXPECT_FALSE(scans[0].contains("page"));
  EXPECT_FALSE(std::filesystem::exists(path("broken.html"))) << "which is not its page any more";
  EXPECT_EQ(scans[1]["page"], "bare.html");
  EXPECT_EQ(data_of(content(path("bare.html")))["results"].size(), 1U);
}

// Copying or printing such values was the end of the stack.
TEST_F(ReportPage, of_json_that_nests_deeper_than_any_report_is_refused_in_a_line) {
  const auto deep = [](const std::string& before, const std::string& behind) {
    constexpr int depth = 100000;
    return before + std::string(depth, '[') + std::string(depth, ']') + behind;
  };
  const auto result = bare_result({8, 8, 1});
  const std::string report = deep("{\"images\": [{\"settings\": {\"a\": ", "}}]}");
  {
    auto file = io::hdf5::File::create(path("deep.h5"), path("deep.h5"));
    const std::vector<Complex<float>> image(4, {1, 0});
    file.write("/image", image.data(), {1, 1, 1, 2, 2});
    file.create_group("/report");
    file.write("/report/json", report);
    file.close();
  }
  EXPECT_EQ(run("report deep.h5"), 1);
  EXPECT_EQ(
      text("err"),
      "fhd: deep.h5:/report/json: expected the report of 'fhd recon', found JSON that nests too deep\n");
  std::filesystem::create_directory(path("batch"));
  std::ofstream(path("batch/summary.json")) << deep(R"({"scans": [{"name": )", "}]}");
  EXPECT_EQ(run("report batch"), 1);
  EXPECT_EQ(text("err"),
            "fhd: batch/summary.json: expected the summary of 'fhd batch', found something else; run 'fhd "
            "batch' again\n");
  std::ofstream(path("other.json")) << deep(R"({"input": {}, "program": )", "}");
  EXPECT_THROW(io::require_replaceable({path("other")}, "scan.h5", io::ChecksumInBackground::of("00")),
               Error);
}

TEST_F(ReportPage, of_a_batch_shows_the_pictures_beside_it_and_what_is_suspicious) {
  bare_result({20, 20, 1});
  std::ofstream(path("odd #1.png")) << content(path("bare.png"));
  std::ofstream(path("odd #1.h5")) << "only has to be there";
  std::ofstream(path("summary.json")) << R"({"scans": [{"name": "bare", "status": "x", "suspicious": true},
    {"name": "odd #1", "status": "suspicious"}, {"name": "gone", "status": "failed earlier"}]})";
  const auto page = content(io::write_batch_pages(path(""), false).index);
  const auto scans = data_of(page)["scans"];
  EXPECT_EQ(scans[0]["failed"], true);
  EXPECT_FALSE(scans[0].contains("picture"));
  EXPECT_EQ(scans[1]["picture"], "bare.png");
  EXPECT_EQ(scans[1]["suspicious"], true);
  EXPECT_EQ(scans[2]["picture"], "odd%20%231.png");
  EXPECT_EQ(scans[2]["suspicious"], false) << "a field says so, not a word";
  EXPECT_NE(page.find("img-src data: file:; base-uri 'none'"), std::string::npos);
}

TEST_F(ReportPageDrawn, of_a_batch_sorts_and_shows_pictures) {
  bare_result({40, 30, 1});
  for (const char* name : {"b2", "b10"}) {
    std::ofstream(path(std::string(name) + ".png")) << content(path("bare.png"));
    std::ofstream(path(std::string(name) + ".h5")) << "only has to be there";
  }
  std::ofstream(path("summary.json")) << R"({"scans": [
    {"name": "b10", "scan": "b10.h5", "status": "finished", "seconds": 9, "data_residual": 0.2},
    {"name": "b2", "scan": "b2.h5", "status": "finished", "seconds": 10, "data_residual": 0.1},
    {"name": "a", "scan": "a.h5", "status": "failed", "why": "no k-space"}]})";
  const std::string check = R"js(
    const names = () => [...document.querySelectorAll("tbody tr")].map(r => r.children[1].firstChild.textContent).join(" ");
    const sort = n => document.querySelectorAll("th button")[n].click();
    need(names() === "a b10 b2", "failed first: " + names());
    need(document.querySelector("tbody tr").innerText.includes("no k-space"), "and why");
    sort(0); need(names() === "a b2 b10", "names with numbers: " + names());
    sort(2); need(names() === "b10 b2 a", "time: " + names());
    sort(2); need(names() === "b2 b10 a", "time, longest first: " + names());
    need(document.querySelector("[aria-sort=descending]").innerText.includes("time"), "the head tells");
    for (const i of document.images) i.loading = "eager";
    setTimeout(() => need([...document.images].length === 2 && [...document.images].every(i => i.naturalWidth > 0), "pictures"), 2000);)js";
  EXPECT_EQ(draw(content(io::write_batch_pages(path(""), false).index), check), 0) << text("said");
  std::filesystem::remove(path("b2.png"));
  EXPECT_EQ(draw(content(path("index.html")), check), 1) << "a picture that is missing is noticed";
}

}  // namespace
}  // namespace fhd
