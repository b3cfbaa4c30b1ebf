#pragma once
// Results and their pages, looked into and drawn by a browser.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/hdf5/hdf5.hpp"
#include "io/page/report_page.hpp"
#include "io/result/results.hpp"
#include "validation/tests/program.hpp"

namespace fhd {

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
  /// An image of zeros.
  static Image image_of(std::array<int, 3> matrix_size, std::array<double, 3> fov_mm = {}) {
    Image image;
    image.geometry.matrix_size = matrix_size;
    image.geometry.fov_mm = fov_mm;
    image.values = Array<Complex<float>>(image.geometry.image_shape());
    return image;
  }
  /// Returns the data of the page of these results.
  nlohmann::json shown(const io::ImageSeries& series, const io::Provenance& provenance = {},
                       const io::CompanionResults& companions = {}, std::size_t most_voxels = 600000) const {
    io::write_results(path("shown"), series, provenance, companions);
    return data_of(io::report_page({path("shown.h5")}, most_voxels))["results"][0];
  }
  /// OUT.h5 with nothing but images and a report.
  std::string bare_result(std::array<int, 3> matrix_size, const io::Provenance& provenance = {}) const {
    Image image = image_of(matrix_size);
    for (std::int64_t p = 0; p < image.values.size(); ++p)
      image.values[p] = {static_cast<float>(p % 17), static_cast<float>(p % 5)};
    io::write_results(path("bare"), {1, 1, {image}}, provenance);
    return path("bare.h5");
  }
};

/// Pages drawn by a browser. A check is JavaScript that runs behind the page's own and throws where the page
/// is wrong.
class ReportPageDrawn : public ReportPage {
 protected:
  void SetUp() override {
    constexpr int no_browser = 77;
    ReportPage::SetUp();
    if (draw("<body></body>") == no_browser)
      GTEST_SKIP() << "no Chromium: install the package chromium to see the page drawn";
  }
  /// 0 when page and check ran to their ends, 77 without a browser.
  int draw(std::string page, const std::string& check = {}) const {
    const auto script = std::filesystem::path(FHD_SOURCE) / "validation/tools/screenshot";
    if (!std::filesystem::exists(script)) return 77;
    const std::string end = "</body>";
    page.insert(page.rfind(end), "<script>const need = (ok, what) => { if (!ok) throw Error(what); };\n" +
                                     check + "</script>\n");
    std::ofstream(path("drawn.html")) << page;
    const int status = std::system((script.string() + " " + path("drawn.html") + " " + path("drawn.png") +
                                    " > " + path("said") + " 2>&1")
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }

  /// Slices 16, repetitions 2 and 5, of 64 x 64, with the gridded image and 4 coils.
  std::string full_result() const {
    io::ImageSeries series, gridded;
    series.repetition_count = 2;
    io::Provenance provenance;
    provenance.repetitions = {2, 5};
    for (int repetition = 0; repetition < 2; ++repetition) {
      Image image = image_of({64, 64, 16}, {240, 240, 80});
      for (std::int64_t p = 0; p < image.values.size(); ++p)
        image.values[p] = {static_cast<float>(p % 64 + 100 * repetition), 0};  // the x of the voxel
      series.images.push_back(image);
      for (auto& v : image.values) v = {0, 2 * v.re};
      gridded.images.push_back(std::move(image));
      provenance.reports.emplace_back();
      provenance.reports.back().relative_residuals = {1, 0.1, 0.01};
    }
    gridded.repetition_count = 2;
    DiagnosticImages diagnostic_images;
    diagnostic_images.sensitivity_maps = Array<Complex<float>>(Shape{4, 64, 64});
    for (auto& v : diagnostic_images.sensitivity_maps) v = {1, 0};
    diagnostic_images.point_spread = Array<float>(Shape{128, 128});
    diagnostic_images.point_spread[64 * 128 + 64] = 1;
    io::write_results(path("full"), series, provenance, {gridded, diagnostic_images});
    return path("full.h5");
  }
};

}  // namespace fhd
