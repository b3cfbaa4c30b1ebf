// The signal of --gate on the page of `fhd report`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "validation/tests/io/page/report_pages.hpp"

namespace fhd {
namespace {

using GatingCurve = ReportPage;
using GatingCurveDrawn = ReportPageDrawn;

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

TEST_F(GatingCurve, holds_the_gating_signal_and_the_bins_of_readouts) {
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

TEST_F(GatingCurveDrawn, draws_the_gating_signal_with_its_bins) {
  const auto result = bare_result({8, 8, 1}, gated(7));
  const int status = draw(io::report_page({result}), R"(
    const drawing = document.querySelector("svg[aria-label='gating signal against readout']");
    need(drawing, "the curve");
    const titles = [...drawing.querySelectorAll("title")].map(t => t.textContent);
    need(titles.join() === "in no bin,bin 0,bin 1,bin 2", titles.join());
    need(page.textContent.includes("7 readouts in 3 bins, by a belt; of the first of 2 slices"), "its words");
  )");
  if (status == no_browser) GTEST_SKIP() << install;
  EXPECT_EQ(status, 0) << content(path("said"));
}

}  // namespace
}  // namespace fhd
