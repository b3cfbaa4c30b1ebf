// The page of `fhd report`: what it holds, and what hostile results do to it.
#include "io/page/report_page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "recon/error.hpp"
#include "validation/tests/io/page/report_pages.hpp"

namespace fhd {
namespace {

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
  EXPECT_EQ(result["stages"],
            nlohmann::json::parse(content(path("out.json")))["environment"]["images"][0]["stages"]);
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
  provenance.reports[0].messages = {{"a", Severity::note, "<img src=x onerror=alert(1)>"},
                                    {"b", Severity::note, "@DATA@"}};
  const auto page = io::report_page({bare_result({8, 8, 1}, provenance)});
  EXPECT_EQ(page.find("</script><script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
  EXPECT_EQ(data_of(page)["results"][0]["notes"][0], "<img src=x onerror=alert(1)>");
}

TEST_F(ReportPage, is_titled_by_its_result) {
  const auto result = bare_result({8, 8, 1});
  EXPECT_NE(io::report_page({result}).find("<title>bare</title>"), std::string::npos);
  const std::string odd = "<b>&@DATA@@TITLE@";
  std::filesystem::copy_file(result, path(odd + ".h5"));
  const auto page = io::report_page({path(odd + ".h5")});
  EXPECT_NE(page.find("<title>&lt;b>&amp;@DATA@@TITLE@</title>"), std::string::npos);
  EXPECT_EQ(data_of(page)["title"], odd);
}

TEST_F(ReportPage, of_several_results_is_titled_by_all_and_tells_namesakes_apart) {
  const auto result = bare_result({8, 8, 1});
  std::filesystem::create_directory(path("other"));
  for (const std::string name : {"one.h5", "two.h5", "three.h5", "four.h5", "other/one.h5"})
    std::filesystem::copy_file(result, path(name));
  EXPECT_NE(io::report_page({path("one.h5"), path("two.h5")}).find("<title>one, two</title>"),
            std::string::npos);
  const auto four =
      data_of(io::report_page({path("one.h5"), path("two.h5"), path("three.h5"), path("four.h5")}));
  EXPECT_EQ(four["title"], "one, two, three and 1 more");
  const auto namesakes = data_of(io::report_page({path("one.h5"), path("other/one.h5")}));
  EXPECT_EQ(namesakes["results"][0]["title"], path("one"));
  EXPECT_EQ(namesakes["results"][1]["title"], path("other/one"));
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
  series.images.assign(6, image_of({120, 120, 1}));
  provenance.reports.resize(6);
  const auto all = shown(series, provenance);
  EXPECT_EQ(all["shown"]["repetitions"], nlohmann::json::array({"4", "5", "9"}));
  EXPECT_EQ(all["shown"]["slices"], nlohmann::json::array({"1", "7"}));
  EXPECT_EQ(voxels_of(all), 6 * 120 * 120);
  // Every repetition has the same slices, also where there is no room for all.
  const auto some = shown(series, provenance, {}, 20000);
  EXPECT_EQ(some["shown"]["repetitions"], nlohmann::json::array({"4", "5", "9"}));
  EXPECT_EQ(some["shown"]["slices"], nlohmann::json::array({"7"}));
  EXPECT_EQ(voxels_of(some), 3 * 120 * 120);
}

/// Frames of zeros, and what says that they are frames; each took 2 s, one of them for Q.
std::pair<io::ImageSeries, io::Provenance> film_of(std::size_t frames, const Image& frame) {
  io::ImageSeries series;
  io::Provenance provenance;
  series.repetition_count = static_cast<std::int64_t>(frames);
  series.images.assign(frames, frame);
  provenance.frames.emplace().first_readouts.resize(frames);
  provenance.reports.resize(frames);
  for (auto& report : provenance.reports) report.seconds = 2, report.stages = {{"Q", 1}};
  return {series, provenance};
}

TEST_F(ReportPage, shows_every_frame_of_a_film_and_calls_it_a_frame) {
  const auto [series, provenance] = film_of(20, image_of({80, 80, 1}));
  const auto film = shown(series, provenance, {}, 20000);
  EXPECT_EQ(film["shown"]["kind"], "frame");
  EXPECT_EQ(film["shown"]["repetitions"].size(), 20U);
  EXPECT_EQ(film["reduced"], "Shown are means of 2 × 2 pixels; the result file holds all.");
  EXPECT_NE(film["subtitle"].get<std::string>().find("20 frames"), std::string::npos) << film["subtitle"];
  const auto [longer, of_longer] = film_of(200, image_of({32, 32, 1}));
  EXPECT_EQ(shown(longer, of_longer, {}, 20000)["reduced"],
            "Shown are 50 of 200 frames; the result file holds all.")
      << "smaller pictures would show nothing";
  io::Provenance gated = provenance;
  gated.frames->gating.assign(1, {"a belt", {0}, {0}});
  EXPECT_EQ(shown(series, gated)["shown"]["kind"], "bin");
  EXPECT_EQ(shown({20, 1, series.images})["shown"]["kind"], "repetition");
}

TEST_F(ReportPage, adds_the_times_of_all_images) {
  const auto [series, provenance] = film_of(20, image_of({8, 8, 1}));
  const auto film = shown(series, provenance);
  EXPECT_EQ(film["seconds"], 40);
  EXPECT_EQ(film["stages"], nlohmann::json::parse(R"([{"name": "Q", "seconds": 20.0}])"));
}

TEST_F(ReportPage, shows_means_of_pixels_not_some_of_them) {
  // Columns 2 and 0 in turn: every second pixel alone would be all white.
  Image image = image_of({200, 200, 1});
  for (std::int64_t i = 0; i < image.values.size(); ++i) image.values[i] = {0, i % 2 == 0 ? 2.0F : 0.0F};
  const auto result = shown({1, 1, {image}}, {}, {}, 20000);
  EXPECT_EQ(result["shown"]["stride"], 2);
  EXPECT_EQ(result["image"]["largest"], 1.0);
  // 100 x 100 values of 65535: 20,000 bytes of 0xff are 26,666 digits '/', and two more bits.
  const auto magnitude = result["image"]["magnitude"].get<std::string>();
  EXPECT_EQ(magnitude.find_first_not_of('/'), 26666U);
}

TEST_F(ReportPage, shows_means_of_coil_maps) {
  // Stripes of 2 and 0 beside a coil of 1: their means are the same.
  DiagnosticImages diagnostic_images;
  diagnostic_images.sensitivity_maps = Array<Complex<float>>(Shape{2, 256, 256});
  for (std::int64_t i = 0; i < 256 * 256; ++i) {
    diagnostic_images.sensitivity_maps[i] = {i % 2 == 0 ? 2.0F : 0.0F, 0};
    diagnostic_images.sensitivity_maps[256 * 256 + i] = {1, 0};
  }
  const auto maps =
      shown({1, 1, {image_of({256, 256, 1})}}, {}, {std::nullopt, diagnostic_images})["coil_maps"];
  EXPECT_EQ(maps["stride"], 2);
  EXPECT_EQ(maps["of"], 2);
  // 2 x 128 x 128 values of 65535: 65,536 bytes of 0xff are 87,381 digits '/', and two bits more.
  EXPECT_EQ(maps["magnitude"].get<std::string>().find_first_not_of('/'), 87381U);
}

TEST_F(ReportPage, leaves_out_what_is_missing) {
  const auto result = data_of(io::report_page({bare_result({9, 7, 3})}))["results"][0];
  for (const char* part : {"gridded", "certificate", "lambda_curve", "coil_maps", "point_spread", "letters"})
    EXPECT_FALSE(result.contains(part)) << part;
}

TEST_F(ReportPage, names_the_sides_that_the_scan_states) {
  Image image = image_of({8, 6, 1}, {200, 150, 5});
  image.geometry.read_direction = {0, 0.96, 0.28};  // mostly to the posterior
  image.geometry.phase_direction = {-1, 0, 0};      // to the right
  const auto letters = shown({1, 1, {image}})["letters"][0];
  EXPECT_EQ(letters["right"], "P");
  EXPECT_EQ(letters["left"], "A");
  EXPECT_EQ(letters["bottom"], "R");
  EXPECT_EQ(letters["top"], "L");
}

TEST_F(ReportPage, shows_the_worst_certificate) {
  const auto page_of = [&](const std::vector<Certificate>& certificates) {
    io::Provenance provenance;
    for (const auto& certificate : certificates) provenance.reports.emplace_back().certificate = certificate;
    const auto slices = static_cast<std::int64_t>(certificates.size());
    return shown({1, slices, std::vector(certificates.size(), image_of({4, 4, 1}))}, provenance);
  };
  Certificate good, worse, failed, broken;
  good.adjoint_error = 1e-8, good.requested = 1e-5, good.passed = true;
  worse = good, worse.adjoint_error = 1e-6;
  failed = good, failed.adjoint_error = 1e-4, failed.passed = false;
  broken = good, broken.adjoint_error = std::numeric_limits<double>::quiet_NaN();
  auto page = page_of({good, worse, good});
  EXPECT_EQ(page["certificate"]["adjoint_error"], 1e-6);
  EXPECT_EQ(page["certificate"]["passed"], true);
  EXPECT_EQ(page["certified"]["failed"], 0);
  page = page_of({worse, failed, good});
  EXPECT_EQ(page["certificate"]["adjoint_error"], 1e-4);
  EXPECT_EQ(page["certificate"]["passed"], false);
  EXPECT_EQ(page["certified"]["failed"], 1);
  EXPECT_EQ(page["certified"]["images"], 3);
  EXPECT_EQ(page_of({good, broken})["certificate"]["passed"], false) << "an error that is not a number";
  broken = good, broken.forward_error = std::numeric_limits<double>::quiet_NaN();
  broken.normal_error = broken.true_residual = 1e-8;
  EXPECT_EQ(page_of({good, broken})["certificate"]["passed"], false) << "one of three that is not a number";
}

TEST_F(ReportPage, counts_voxels_that_are_not_finite) {
  Image image = image_of({4, 4, 1});
  std::fill(image.values.begin(), image.values.end(), Complex<float>(1, 0));
  image.values[3] = {std::numeric_limits<float>::quiet_NaN(), 0};
  image.values[5] = {0, std::numeric_limits<float>::infinity()};
  const auto result = shown({1, 1, {image}});
  EXPECT_EQ(result["image"]["not_finite"], 2);
  EXPECT_EQ(result["image"]["largest"], 1.0);
  EXPECT_FALSE(
      data_of(io::report_page({bare_result({4, 4, 1})}))["results"][0]["image"].contains("not_finite"));
}

TEST_F(ReportPage, states_the_field_of_view_of_what_is_drawn) {
  const auto drawn = shown({1, 1, {image_of({201, 150, 1}, {402, 150, 5})}}, {}, {}, 20000)["shown"];
  ASSERT_EQ(drawn["stride"], 2);
  EXPECT_EQ(drawn["width"], 101);
  EXPECT_EQ(drawn["fov_mm"], nlohmann::json::array({404.0, 150.0})) << "the last block is half outside";
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

TEST_F(ReportPageDrawn, runs_in_a_browser) {
  const auto page = io::report_page({bare_result({16, 16, 4})});
  EXPECT_EQ(draw(page), 0);
  EXPECT_GT(std::filesystem::file_size(path("drawn.png")), 5000U);
  EXPECT_EQ(draw(page, "need(false, 'this check fails');"), 1) << "a check that fails is noticed";
}

TEST_F(ReportPageDrawn, follows_keys_and_pointer) {
  const int status = draw(io::report_page({full_result()}), R"js(
    const key = k => document.body.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true, cancelable: true}));
    const shown = n => document.querySelector(`input[aria-label=${n}]`).parentNode.querySelector("output").textContent;
    const canvases = [...document.querySelectorAll(".frame canvas")], readout = document.querySelector(".readout");
    const point = (c, x, y) => {
      const box = c.getBoundingClientRect();
      c.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + (x + .5) / 64 * box.width, clientY: box.top + (y + .5) / 64 * box.height}));
    };
    need(canvases.length === 3 && shown("Slice") === "8" && shown("Repetition") === "2", "start");
    point(canvases[0], 10, 40);
    need(readout.textContent.startsWith("Voxel x 10, y 40, slice 8, repetition 2Conjugate") || readout.textContent.startsWith("Voxel x 10, y 40, slice 8, repetition 2Image"), readout.textContent);
    need(/ 10 ∠ 0° · gridded 20 ∠ 90° · difference [-\d.e]+$/.test(readout.textContent), readout.textContent);
    key("ArrowUp"); key("ArrowRight");
    need(shown("Slice") === "9" && shown("Repetition") === "5", "arrows");
    need(/slice 9, repetition 5.* 110 ∠ 0° · gridded 220 ∠ 90°/.test(readout.textContent), "the voxel is read again: " + readout.textContent);
    key("ArrowDown"); key("ArrowLeft"); key("ArrowLeft");
    need(shown("Slice") === "8" && shown("Repetition") === "2", "arrows back");
    for (const z of [1, 2, 3]) {
      key("+");
      for (const c of canvases) need(c.getBoundingClientRect().width === 64 * z && c.getBoundingClientRect().height === 64 * z, "zoom " + z);
      point(canvases[2], 63, 0);
      need(readout.textContent.startsWith("Voxel x 63, y 0,"), "corner " + readout.textContent);
      const bar = document.querySelector(".scale");
      need(Math.abs(bar.getBoundingClientRect().width - parseFloat(bar.textContent) / 240 * 64 * z) <= 1, "scale bar at zoom " + z);
    }
    const colours = c => c.getContext("2d").getImageData(0, 0, 64, 64).data;
    need(colours(canvases[1])[4 * 63] === colours(canvases[1])[4 * 63 + 1], "magnitudes are gray");
    key("p");
    const [red, green] = [0, 1].map(i => colours(canvases[1])[4 * 63 + i]);
    need(green > red && red > 0, "90 degrees are yellowish green");
    for (const t of document.querySelectorAll("svg text")) need(parseFloat(getComputedStyle(t).fontSize) >= 12 && Math.abs(t.getScreenCTM().a ** 2 + t.getScreenCTM().b ** 2 - 1) < 1e-3, "text in plots");
    need(document.querySelectorAll("svg").length === 2, "convergence and point spread");
    need(document.documentElement.scrollWidth <= innerWidth, "as wide as the window");
  )js");
  EXPECT_EQ(status, 0) << text("said");
}

TEST_F(ReportPageDrawn, shows_several_results_in_one_window) {
  // Twice as bright, 4 slices of 32 x 32, beside 16 of 64 x 64 in two repetitions.
  io::ImageSeries series;
  Image image;
  image.geometry.matrix_size = {32, 32, 4};
  image.values = Array<Complex<float>>(image.geometry.image_shape());
  for (std::int64_t p = 0; p < image.values.size(); ++p)
    image.values[p] = {static_cast<float>(p / 1024 + 1) * 100, 0};  // 100 ... 400 by slice
  series.images.push_back(image);
  io::write_results(path("small"), series, {});
  std::filesystem::copy_file(full_result(), path("again.h5"));
  const auto page = io::report_page({path("full.h5"), path("small.h5"), path("again.h5")});
  const int status = draw(page, R"js(
    const key = k => document.body.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true, cancelable: true}));
    const canvases = [...document.querySelectorAll(".beside canvas")], captions = [...document.querySelectorAll(".beside figcaption")];
    need(canvases.length === 3 && canvases[1].width === 32, "three panels");
    const level = (c, x) => c.getContext("2d").getImageData(x, 0, 1, 1).data[0];
    const input = n => document.querySelector(`input[aria-label="${n}"]`);
    const set = (n, v) => { input(n).value = v; input(n).dispatchEvent(new Event("input")); };
    need(captions[0].textContent.includes("slice 8") && captions[1].textContent.includes("slice 2"), "the same share of the way: " + captions[1].textContent);
    // White is the brightest of all: 400 (99.5 % of small), so 63 is 63/400 of white in the others, and 300 is 3/4.
    need(document.querySelector("select[aria-label=Scale]").value === "same", "factor below 3");
    need(Math.abs(level(canvases[1], 5) - 255 * 300 / 400) <= 1, "small " + level(canvases[1], 5));
    need(Math.abs(level(canvases[0], 63) - 255 * 63 / 400) <= 1 && level(canvases[0], 63) === level(canvases[2], 63), "full " + level(canvases[0], 63));
    set("White of all", .5);
    need(level(canvases[1], 5) === 255 && Math.abs(level(canvases[0], 63) - 255 * 63 / 200) <= 1, "one window");
    set("Slice of all", 15); set("White of all", 1);
    need(captions[0].textContent.includes("slice 15") && captions[1].textContent.includes("slice 3"), "one slider");
    need(Math.abs(level(canvases[1], 5) - 255) <= 1, "the last slice of small is 400");
    set("Repetition of all", 1);
    need(Math.abs(level(canvases[0], 0) - 255 * 100 / 400) <= 1, "the second repetition begins at 100");
    key("ArrowDown");
    need(captions[0].textContent.includes("slice 14"), "keys turn all");
    Object.assign(document.querySelector("select[aria-label=Scale]"), {value: "own"}).dispatchEvent(new Event("change"));
    need(captions[1].textContent.includes("shown × "), captions[1].textContent);
    const box = canvases[1].getBoundingClientRect();
    canvases[1].dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + 1, clientY: box.top + 1}));
    need(document.querySelector(".readout").textContent === "full 100 ∠ 0° · small 400 ∠ 0° · again 100 ∠ 0°", document.querySelector(".readout").textContent);
    need(document.title === "full, small, again" && document.documentElement.scrollWidth <= innerWidth, "title, width");
  )js");
  EXPECT_EQ(status, 0) << text("said");
}

TEST_F(ReportPageDrawn, reaches_no_network) {
  const auto page = io::report_page({bare_result({8, 8, 1})});
  const std::string policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ";
  ASSERT_LT(page.find(policy), page.find("<title>")) << "before anything that could load";
  // Nothing answers on the ports: what is not refused by the policy fails silently, and the check throws.
  const std::string attempts = R"js(
    let refused = 0;
    document.addEventListener("securitypolicyviolation", () => ++refused);
    fetch("http://127.0.0.1:9/a").catch(() => 0);
    new Image().src = "http://127.0.0.1:9/b.png";
    document.body.append(Object.assign(document.createElement("iframe"), {src: "http://127.0.0.1:9/c"}));
    document.body.append(Object.assign(document.createElement("script"), {src: "http://127.0.0.1:9/d.js"}));
    setTimeout(() => need(refused >= 4, refused + " of 4 refused"), 2000);)js";
  EXPECT_EQ(draw(page, attempts), 0);
  auto without = page;
  without.erase(page.find("<meta http-equiv"),
                page.find('>', page.find("<meta http-equiv")) + 1 - page.find("<meta http-equiv"));
  EXPECT_EQ(draw(without, attempts), 1) << "the check notices a page without the policy";
}

TEST_F(ReportPageDrawn, shows_a_name_that_is_a_script_as_text) {
  // A file name cannot hold '/': the name is that of a folder and a file.
  const auto scan = path("<script>alert(1)</script>");
  std::filesystem::create_directories(std::filesystem::path(scan).parent_path());
  ASSERT_EQ(run("simulate -o '" + scan + "' --matrix 16 --coils 2"), 0) << text("err");
  ASSERT_EQ(run("recon '" + scan + ".h5' -o '" + path("<img src=x onerror=alert(2)>") + "'"), 0)
      << text("err");
  ASSERT_EQ(run("report '" + path("<img src=x onerror=alert(2)>.h5") + "'"), 0) << text("err");
  const auto page = content(path("<img src=x onerror=alert(2)>.html"));
  EXPECT_EQ(page.find("<script>alert(1)"), std::string::npos);
  const int status = draw(page, R"js(
    need(document.body.innerText.includes("<script>alert(1)<" + "/script>.h5"), "the input is named");
    need(document.querySelector("h1").textContent === "<img src=x onerror=alert(2)>", "the title");
    need(document.scripts.length === 3 && !document.querySelector("img"), "no element came of a name");)js");
  EXPECT_EQ(status, 0) << text("said");
}

TEST_F(ReportPageDrawn, says_first_whether_the_result_is_as_exact_as_asked) {
  const auto page_of = [&](const std::optional<Certificate>& certificate) {
    io::Provenance provenance;
    provenance.reports.emplace_back().certificate = certificate;
    provenance.reports[0].stages = {{"Q", 2.0}, {"FhD", 1.0}};
    return io::report_page({bare_result({8, 8, 1}, provenance)});
  };
  const auto check = [](const std::string& kind, const std::string& words) {
    return "const v = document.querySelector('.verdict'), text = v.innerText.replaceAll('\\u00a0', ' ');"
           "need(v.classList.contains('" +
           kind + "') && text.includes('" + words +
           "'), text);"
           "need(text.includes('computed in 3.00 s'), text);"
           "need(v.compareDocumentPosition(document.querySelector('canvas')) & "
           "Node.DOCUMENT_POSITION_FOLLOWING, "
           "'above the images');"
           "need([...document.querySelectorAll('.times tr')].some(r => "
           "r.innerText.replaceAll('\\u00a0', ' ').match(/^Q\\s+2.00 s$/)), 'stage');";
  };
  Certificate certificate;
  certificate.adjoint_error = 1e-8, certificate.requested = 1e-5, certificate.passed = true;
  EXPECT_EQ(draw(page_of(certificate), check("pass", "Certified")), 0) << text("said");
  EXPECT_EQ(draw(page_of({}), check("none", "Not certified")), 0);
  certificate.adjoint_error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(draw(page_of(certificate), check("fail", "did not pass")), 0);
  EXPECT_EQ(draw(page_of(certificate), check("pass", "Certified")), 1);
}

TEST_F(ReportPageDrawn, shows_when_each_stage_was_at_work) {
  const auto page_of = [&](std::vector<Stage> stages) {
    io::Provenance provenance;
    provenance.reports.emplace_back();
    provenance.reports[0].stages = std::move(stages);
    return io::report_page({bare_result({8, 8, 1}, provenance)});
  };
  // FhD in two parts with a second between, Q after it; a share of something else has no place.
  const auto page = page_of({{"Q", 2, {{6, 2}}}, {"FhD", 3, {{1, 1}, {3, 2}}}, {"shared", 1}});
  const std::string check =
      "const bars = [...document.querySelectorAll('svg.timeline rect')].map(b => b.getBBox());"
      "need(bars.length === 3, 'three spans: ' + bars.length);"
      "const second = bars[0].width, zero = bars[0].x - second, near = (a, b) => Math.abs(a - b) < .5;"
      "need(near(bars[1].x, zero + 3 * second) && near(bars[1].width, 2 * second), 'FhD goes on');"
      "need(near(bars[2].x, zero + 6 * second) && near(bars[2].width, 2 * second), 'Q');"
      "need(bars[0].y === bars[1].y && bars[2].y > bars[1].y, 'lanes in the order of their beginnings');"
      "const words = document.body.innerText;"
      "need(words.includes('1 of 3 stages are shares'), 'says what is not shown');";
  EXPECT_EQ(draw(page, check), 0) << text("said");
  EXPECT_EQ(draw(page_of({{"Q", 2}}), "need(!document.querySelector('svg.timeline'), 'nothing to draw');"), 0)
      << text("said");
}

/// A verdict with figures of everything, and the words of the program.
Verdict verdict_of(bool noise_is_measured) {
  Verdict verdict;
  verdict.judgement = Verdict::Judgement::ordinary;
  verdict.sentence = "the image explains the data but for an ordinary rest: 6.0 % is left over";
  verdict.unexplained = 0.06, verdict.noise_share = 0.02, verdict.chi_squared = 1234;
  verdict.noise_is_measured = noise_is_measured;
  verdict.by_radius = {{0.0625, 0.9, 0.05, 1500, 100, 0.05}, {1, 0.1, 0.3, 540, 900, 0.29}};
  verdict.by_coil = {{0, 0.4, 0.06, 21, 500}, {1, 0.6, 0.07, 22, 500}};
  verdict.by_readout = {0.05, 0.07, 0.06};
  verdict.readouts_per_group = 4;
  verdict.changes = {{"gain", "the gain of a coil differs by 2.8 %", 2.8, 0, "%", 0.09}};
  verdict.ordinary = {{"motion", "motion of some 0.3 voxels", 0.3, 0, "voxels", 0.4}};
  return verdict;
}

TEST_F(ReportPageDrawn, says_of_the_data_what_the_verdict_says_with_pictures) {
  const auto page_of = [&](bool noise_is_measured) {
    io::Provenance provenance;
    provenance.reports.emplace_back().verdict = verdict_of(noise_is_measured);
    return io::report_page({bare_result({8, 8, 1}, provenance)});
  };
  const std::string check = R"js(
    const says = document.querySelector(".says"), text = document.body.innerText.replaceAll("\u00a0", " ");
    need(says.textContent === "the image explains the data but for an ordinary rest: 6.0 % is left over.", says.textContent);
    need(says.classList.contains("amber"), "no green above what is left over");
    need(document.querySelectorAll("svg.rest").length === 3, "by radius, coil and readout");
    need(document.querySelectorAll("svg.rest")[2].querySelectorAll("rect").length === 3, "three bars");
    need(!/undefined|NaN|Infinity/.test(text + document.querySelector(".rests").innerHTML), "figures");
    // 0.29^2 0.1 is more than 0.05^2 0.9.
    need(text.includes("Most is left over beyond noise between 1/16 and 1 of the way to the edge: 29 % of the signal there."), text);
    need(text.includes("5.4 to 7.7 % of the mean signal") && text.includes("5 to 7 % of the mean signal"), "coils and readouts");
    need(text.includes("motion of some 0.3 voxels, 40 %"), "ordinary sources");
    need(!text.includes("gain of a coil"), "small changes are no findings");
  )js";
  EXPECT_EQ(draw(page_of(true), check + R"(need(text.includes("χ² is 1230"), "the noise is known");)"), 0)
      << text("said");
  EXPECT_EQ(draw(page_of(false), check + R"(need(!page.innerHTML.includes("χ²"), "it is not");)"), 0)
      << text("said");
}

TEST_F(ReportPageDrawn, of_a_report_that_is_odd_draws_what_it_can) {
  io::Provenance provenance;
  auto verdict = verdict_of(false);
  verdict.by_coil = {{0, 0, std::numeric_limits<double>::quiet_NaN(), 0, 0}, {1, 1, 0, 0, 0}};
  verdict.by_radius = {{1, 1, std::numeric_limits<double>::quiet_NaN(), 0, 1, 0}};
  verdict.by_readout = {std::numeric_limits<double>::infinity(), 1};
  verdict.noise_share = 0;
  provenance.reports.emplace_back().verdict = verdict;
  EXPECT_EQ(draw(io::report_page({bare_result({8, 8, 1}, provenance)}),
                 "need(document.querySelectorAll('svg.rest').length === 0, 'nothing to draw');"),
            0)
      << text("said");
}

TEST_F(ReportPageDrawn, plays_films_alone_and_side_by_side) {
  const auto [series, provenance] = film_of(4, image_of({8, 8, 1}));
  io::write_results(path("one"), series, provenance, {});
  io::write_results(path("two"), series, provenance, {});
  const std::string check = R"js(
    const buttons = [...document.querySelectorAll(".buttons button")].filter(b => b.textContent === "Play");
    const ranges = [...document.querySelectorAll("input")].filter(i => i.getAttribute("aria-label").startsWith("Frame"));
    need(buttons.length === films && ranges.length === films && ranges.every(s => s.value === "0"), "films");
    need(document.body.innerText.replaceAll("\u00a0", " ").includes("8.00 s"), "the time of all frames");
    need(!/repetition/i.test(document.body.innerText), "frames are frames");
    buttons[0].click();
    need(buttons[0].textContent === "Pause", "Play becomes Pause");
    setTimeout(() => {
      need(ranges[0].value !== "0", "it plays");
      buttons[0].click();
      need(buttons[0].textContent === "Play", "and Pause becomes Play");
    }, 250);)js";
  EXPECT_EQ(draw(io::report_page({path("one.h5")}), "const films = 1;" + check), 0) << text("said");
  EXPECT_EQ(draw(io::report_page({path("one.h5"), path("two.h5")}), "const films = 2;" + check), 0)
      << text("said");
}

/// Two slices of as many readouts, whose first has the signal 0, 0.5, 1, ... and the bins -1, 0, 1, 2, 0, ...
io::Provenance gated(std::int64_t readouts) {
  io::Provenance provenance;
  io::FrameNumbers frames{4, {0}};
  for (int slice = 0; slice < 2; ++slice) {
    io::GatingCourse course{"a belt", {}, {}};
    for (std::int64_t r = 0; r < readouts; ++r) {
      course.signal.push_back(slice == 0 ? 0.5 * static_cast<double>(r) : -7);
      course.bins.push_back(r == 0 ? -1 : static_cast<double>((r - 1) % 3));
    }
    frames.gating.push_back(std::move(course));
  }
  provenance.frames = std::move(frames);
  return provenance;
}

TEST_F(ReportPage, holds_the_gating_signal_and_the_bins_of_readouts) {
  EXPECT_FALSE(data_of(io::report_page({bare_result({8, 8, 1})}))["results"][0].contains("gating"));
  const auto gating = data_of(io::report_page({bare_result({8, 8, 1}, gated(7))}))["results"][0].at("gating");
  EXPECT_EQ(gating.at("source"), "a belt");
  EXPECT_EQ(gating.at("slices"), 2);
  EXPECT_EQ(gating.at("readouts"), 7);
  EXPECT_EQ(gating.at("stride"), 1);
  EXPECT_EQ(gating.at("signal"), nlohmann::json::array({0, 0.5, 1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(gating.at("bins"), nlohmann::json::array({-1, 0, 1, 2, 0, 1, 2}));
  const auto longer =
      data_of(io::report_page({bare_result({8, 8, 1}, gated(25000))}))["results"][0].at("gating");
  EXPECT_EQ(longer.at("stride"), 3);
  ASSERT_EQ(longer.at("signal").size(), 8334U);
  ASSERT_EQ(longer.at("bins").size(), 8334U);
  EXPECT_EQ(longer.at("signal").back(), 0.5 * 24999);
}

TEST_F(ReportPageDrawn, draws_the_gating_signal_with_its_bins) {
  const auto result = bare_result({8, 8, 1}, gated(7));
  const int status = draw(io::report_page({result}), R"(
    const drawing = document.querySelector("svg[aria-label='gating signal against readout']");
    need(drawing, "the curve");
    const titles = [...drawing.querySelectorAll("title")].map(t => t.textContent);
    need(titles.join() === "in no bin,bin 0,bin 1,bin 2", titles.join());
    need(page.textContent.includes("7 readouts in 3 bins, by a belt; of the first of 2 slices"), "its words");
  )");
  EXPECT_EQ(status, 0) << content(path("said"));
}

}  // namespace
}  // namespace fhd
