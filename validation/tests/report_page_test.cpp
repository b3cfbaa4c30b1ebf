// The page of `fhd report`: what it holds, and what hostile results do to it.
#include "io/report_page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/hdf5.hpp"
#include "io/results.hpp"
#include "recon/error.hpp"
#include "validation/tests/program.hpp"

namespace fhd {
namespace {

class ReportPage : public tests::ProgramTest {
 protected:
  /// The data that a page carries.
  static nlohmann::json data_of(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const auto from = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  }
  static std::string content(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// How many voxels the page carries, each of two bytes.
  static std::size_t voxels_of(const nlohmann::json& result) {
    const auto digits = result["image"]["magnitude"].get<std::string>();
    return (digits.size() / 4 * 3 - std::count(digits.end() - 2, digits.end(), '=')) / 2;
  }
  /// OUT.h5 with nothing but images and a report.
  std::string bare_result(std::array<int, 3> matrix_size, const io::Provenance& provenance = {}) const {
    io::ImageSeries series;
    Image image;
    image.geometry.matrix_size = matrix_size;
    image.values = Array<Complex<float>>(image.geometry.image_shape());
    for (std::int64_t p = 0; p < image.values.size(); ++p)
      image.values[p] = {static_cast<float>(p % 17), static_cast<float>(p % 5)};
    series.images.push_back(std::move(image));
    io::write_results(path("bare"), series, provenance);
    return path("bare.h5");
  }
};

TEST_F(ReportPage, holds_what_the_result_holds) {
  ASSERT_EQ(run("simulate -o " + path("scan") + " --matrix 32 --coils 3"), 0) << text("err");
  ASSERT_EQ(run("recon " + path("scan.h5") + " -o " + path("out") + " --lambda auto"), 0) << text("err");
  ASSERT_EQ(run("report " + path("out.h5")), 0) << text("err");
  const auto page = content(path("out.html"));
  const auto result = data_of(page)["results"][0];
  const auto report = nlohmann::json::parse(content(path("out.json")))["images"][0];
  EXPECT_EQ(result["residuals"], report["relative_residuals"]);
  EXPECT_EQ(result["certificate"], report["certificate"]);
  EXPECT_EQ(result["lambda_curve"], report["lambda_curve"]);
  EXPECT_EQ(result["stages"], report["stages"]);
  EXPECT_EQ(result["coil_maps"]["count"], 3);
  EXPECT_EQ(result["point_spread"]["width"], 64);
  EXPECT_FALSE(result.contains("letters")) << "the scan says nothing of directions";
  // 32 x 32 voxels of two bytes in base64.
  EXPECT_EQ(result["image"]["magnitude"].get<std::string>().size(), (32 * 32 * 2 + 2) / 3 * 4U);
  EXPECT_EQ(result["gridded"]["magnitude"].get<std::string>().size(), (32 * 32 * 2 + 2) / 3 * 4U);
}

TEST_F(ReportPage, needs_nothing_from_elsewhere) {
  const auto page = io::report_page({bare_result({8, 8, 1})});
  for (const char* reference : {"https://", "src=\"", "href=\"", "@import", "url("})
    EXPECT_EQ(page.find(reference), std::string::npos) << reference;
  auto without_namespace = page;
  const std::string svg = "http://www.w3.org/2000/svg";  // a name, not an address
  without_namespace.erase(without_namespace.find(svg), svg.size());
  EXPECT_EQ(without_namespace.find("http://"), std::string::npos);
}

TEST_F(ReportPage, is_not_ended_by_what_files_are_called) {
  io::Provenance provenance;
  provenance.command_line = "fhd recon '</script><script>alert(1)</script>'";
  provenance.input_path = "a\"b'c<!--\xff\xfe.h5";
  provenance.reports.emplace_back();
  provenance.reports[0].notes = {"<img src=x onerror=alert(1)>", "@DATA@"};
  const auto page = io::report_page({bare_result({8, 8, 1}, provenance)});
  EXPECT_EQ(page.find("</script><script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
  EXPECT_EQ(data_of(page)["results"][0]["notes"][0], "<img src=x onerror=alert(1)>");
}

TEST_F(ReportPage, shows_large_volumes_in_part_and_says_so) {
  const auto large = bare_result({64, 64, 40});
  const auto page = io::report_page({large}, 20000);
  const auto result = data_of(page)["results"][0];
  EXPECT_EQ(result["shown"]["slices"].size(), 4U);
  EXPECT_NE(result["reduced"].get<std::string>().find("4 of 40 slices"), std::string::npos);
  EXPECT_LT(page.size(), 400000U);
  EXPECT_FALSE(data_of(io::report_page({large}))["results"][0].contains("reduced"));
  const auto fine = data_of(io::report_page({bare_result({300, 200, 1})}, 20000))["results"][0];
  EXPECT_LE(fine["shown"]["width"].get<int>() * fine["shown"]["height"].get<int>(), 20000);
}

TEST_F(ReportPage, tells_repetitions_from_slices_by_the_numbers_of_the_scan) {
  io::ImageSeries series;
  series.repetition_count = 3;
  series.slice_count = 2;
  io::Provenance provenance;
  provenance.repetitions = {4, 5, 9};
  provenance.slices = {1, 7};
  for (int i = 0; i < 6; ++i) {
    Image image;
    image.geometry.matrix_size = {80, 80, 1};
    image.values = Array<Complex<float>>(image.geometry.image_shape());
    series.images.push_back(std::move(image));
    provenance.reports.emplace_back();
  }
  io::write_results(path("many"), series, provenance);
  const auto all = data_of(io::report_page({path("many.h5")}))["results"][0];
  EXPECT_EQ(all["shown"]["repetitions"], nlohmann::json::array({4, 5, 9}));
  EXPECT_EQ(all["shown"]["slices"], nlohmann::json::array({"1", "7"}));
  EXPECT_EQ(voxels_of(all), 6 * 80 * 80);
  // Every repetition has the same slices, also where there is no room for all.
  const auto some = data_of(io::report_page({path("many.h5")}, 20000))["results"][0];
  EXPECT_EQ(some["shown"]["repetitions"], nlohmann::json::array({4, 5, 9}));
  EXPECT_EQ(some["shown"]["slices"], nlohmann::json::array({"7"}));
  EXPECT_EQ(voxels_of(some), 3 * 80 * 80);
}

TEST_F(ReportPage, shows_means_of_pixels_not_some_of_them) {
  // Columns 2 and 0 in turn: every second pixel alone would be all white.
  io::ImageSeries series;
  Image image;
  image.geometry.matrix_size = {200, 200, 1};
  image.values = Array<Complex<float>>(image.geometry.image_shape());
  for (std::int64_t i = 0; i < image.values.size(); ++i) image.values[i] = {0, i % 2 == 0 ? 2.0F : 0.0F};
  series.images.push_back(std::move(image));
  io::write_results(path("stripes"), series, {});
  const auto result = data_of(io::report_page({path("stripes.h5")}, 20000))["results"][0];
  EXPECT_EQ(result["shown"]["stride"], 2);
  EXPECT_EQ(result["image"]["largest"], 1.0);
  // 100 x 100 values of 65535: 20,000 bytes of 0xff are 26,666 digits '/', and two more bits.
  const auto magnitude = result["image"]["magnitude"].get<std::string>();
  EXPECT_EQ(magnitude.find_first_not_of('/'), 26666U);
}

TEST_F(ReportPage, leaves_out_what_is_missing) {
  const auto result = data_of(io::report_page({bare_result({9, 7, 3})}))["results"][0];
  for (const char* part : {"gridded", "certificate", "lambda_curve", "coil_maps", "point_spread", "letters"})
    EXPECT_FALSE(result.contains(part)) << part;
}

TEST_F(ReportPage, names_the_sides_that_the_scan_states) {
  io::ImageSeries series;
  Image image;
  image.geometry.matrix_size = {8, 6, 1};
  image.geometry.fov_mm = {200, 150, 5};
  image.geometry.read_direction = {0, 0.96, 0.28};  // mostly to the posterior
  image.geometry.phase_direction = {-1, 0, 0};      // to the right
  image.values = Array<Complex<float>>(image.geometry.image_shape());
  series.images.push_back(std::move(image));
  io::write_results(path("placed"), series, {});
  const auto letters = data_of(io::report_page({path("placed.h5")}))["results"][0]["letters"];
  EXPECT_EQ(letters["right"], "P");
  EXPECT_EQ(letters["left"], "A");
  EXPECT_EQ(letters["bottom"], "R");
  EXPECT_EQ(letters["top"], "L");
}

TEST_F(ReportPage, shows_the_worst_certificate) {
  const auto page_of = [&](const std::vector<Certificate>& certificates) {
    io::ImageSeries series;
    series.slice_count = static_cast<std::int64_t>(certificates.size());
    io::Provenance provenance;
    for (const auto& certificate : certificates) {
      Image image;
      image.geometry.matrix_size = {4, 4, 1};
      image.values = Array<Complex<float>>(image.geometry.image_shape());
      series.images.push_back(std::move(image));
      provenance.reports.emplace_back();
      provenance.reports.back().certificate = certificate;
    }
    io::write_results(path("some"), series, provenance);
    return data_of(io::report_page({path("some.h5")}))["results"][0];
  };
  Certificate good, worse, failed, broken;
  good.adjoint_error = 1e-8, good.requested = 1e-5, good.passed = true;
  worse = good, worse.adjoint_error = 1e-6;
  failed = good, failed.adjoint_error = 1e-4, failed.passed = false;
  broken = good, broken.adjoint_error = std::numeric_limits<double>::quiet_NaN();
  auto shown = page_of({good, worse, good});
  EXPECT_EQ(shown["certificate"]["adjoint_error"], 1e-6);
  EXPECT_EQ(shown["certificate"]["passed"], true);
  EXPECT_EQ(shown["certified"]["failed"], 0);
  shown = page_of({worse, failed, good});
  EXPECT_EQ(shown["certificate"]["adjoint_error"], 1e-4);
  EXPECT_EQ(shown["certificate"]["passed"], false);
  EXPECT_EQ(shown["certified"]["failed"], 1);
  EXPECT_EQ(shown["certified"]["images"], 3);
  EXPECT_EQ(page_of({good, broken})["certificate"]["passed"], false) << "an error that is not a number";
  broken = good, broken.forward_error = std::numeric_limits<double>::quiet_NaN();
  broken.normal_error = broken.true_residual = 1e-8;
  EXPECT_EQ(page_of({good, broken})["certificate"]["passed"], false) << "one of three that is not a number";
}

TEST_F(ReportPage, counts_voxels_that_are_not_finite) {
  io::ImageSeries series;
  Image image;
  image.geometry.matrix_size = {4, 4, 1};
  image.values = Array<Complex<float>>(image.geometry.image_shape());
  for (std::int64_t i = 0; i < image.values.size(); ++i) image.values[i] = {1, 0};
  image.values[3] = {std::numeric_limits<float>::quiet_NaN(), 0};
  image.values[5] = {0, std::numeric_limits<float>::infinity()};
  series.images.push_back(std::move(image));
  io::write_results(path("holes"), series, {});
  const auto result = data_of(io::report_page({path("holes.h5")}))["results"][0];
  EXPECT_EQ(result["image"]["not_finite"], 2);
  EXPECT_EQ(result["image"]["largest"], 1.0);
  EXPECT_FALSE(
      data_of(io::report_page({bare_result({4, 4, 1})}))["results"][0]["image"].contains("not_finite"));
}

TEST_F(ReportPage, states_the_field_of_view_of_what_is_drawn) {
  io::ImageSeries series;
  Image image;
  image.geometry.matrix_size = {201, 150, 1};
  image.geometry.fov_mm = {402, 150, 5};
  image.values = Array<Complex<float>>(image.geometry.image_shape());
  series.images.push_back(std::move(image));
  io::write_results(path("wide"), series, {});
  const auto shown = data_of(io::report_page({path("wide.h5")}, 20000))["results"][0]["shown"];
  ASSERT_EQ(shown["stride"], 2);
  EXPECT_EQ(shown["width"], 101);
  EXPECT_EQ(shown["fov_mm"], nlohmann::json::array({404.0, 150.0})) << "the last block is half outside";
}

TEST_F(ReportPage, refuses_what_is_no_result) {
  EXPECT_THROW(io::report_page({path("absent.h5")}), Error);
  EXPECT_THROW(io::report_page({}), Error);
  std::ofstream(path("text.h5")) << "no HDF5";
  EXPECT_EQ(run("report " + path("text.h5") + " -o " + path("page.html")), 1);
  EXPECT_FALSE(std::filesystem::exists(path("page.html")));
  const auto result = bare_result({8, 8, 1});
  EXPECT_EQ(run("report " + result + " -o " + result), 2) << "the result would be overwritten";
  EXPECT_EQ(io::read_image(result).images.size(), 1U);
}

TEST_F(ReportPage, of_a_batch_lists_every_scan) {
  bare_result({8, 8, 1});
  std::ofstream(path("summary.json")) << R"({"scans": [
    {"name": "bare", "scan": "/s/bare.h5", "status": "finished", "seconds": 1.5, "data_residual": 0.1},
    {"name": "bad<b>", "scan": "/s/bad.h5", "status": "failed", "why": "expected </script>"},
    {"name": "../escape", "scan": "x", "status": "finished"}]})";
  const auto index = io::write_batch_pages(path(""));
  const auto data = data_of(content(index));
  ASSERT_EQ(data["scans"].size(), 3U);
  EXPECT_EQ(data["scans"][0]["status"], "failed") << "failures come first";
  EXPECT_FALSE(data["scans"][0].contains("page"));
  EXPECT_EQ(data["scans"][1]["page"], "bare.html");
  EXPECT_EQ(data["scans"][1]["thumbnail"].get<std::string>().substr(0, 34),
            "data:image/png;base64,iVBORw0KGgoA");
  EXPECT_FALSE(data["scans"][2].contains("page"));
  EXPECT_EQ(data_of(content(path("bare.html")))["results"].size(), 1U);
  EXPECT_THROW(io::write_batch_pages(path("no/such")), Error);
}

TEST_F(ReportPage, runs_in_a_browser) {
  const auto script = std::filesystem::path(FHD_SOURCE) / "validation/screenshot";
  if (!std::filesystem::exists(script)) GTEST_SKIP() << "no source tree at " << FHD_SOURCE;
  std::ofstream(path("page.html")) << io::report_page({bare_result({16, 16, 4})});
  const int status = std::system(
      (script.string() + " " + path("page.html") + " " + path("page.png") + " > /dev/null 2>&1").c_str());
  if (WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "no Chromium: install the package chromium to see the page drawn";
  EXPECT_EQ(status, 0);
  EXPECT_GT(std::filesystem::file_size(path("page.png")), 5000U);
}

}  // namespace
}  // namespace fhd
