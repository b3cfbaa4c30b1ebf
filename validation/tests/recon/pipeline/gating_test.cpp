// Bins of a motion: the signals, and what becomes of the readouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/simulate.hpp"
#include "recon/pipeline/frame_layout.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/recon/pipeline/frame_cases.hpp"

namespace fhd {
namespace {

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  double mean_a = 0, mean_b = 0, product = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) mean_a += a[i] / n, mean_b += b[i] / n;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += (a[i] - mean_a) * (b[i] - mean_b);
    of_a += (a[i] - mean_a) * (a[i] - mean_a), of_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return product / std::sqrt(of_a * of_b);
}

/// A chest, 4 coils.
data::SimulationSettings chest(double breaths, std::int64_t readouts, int matrix = 48) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {matrix, matrix, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.trajectory.readout_count = readouts;
  settings.coil_count = 4;
  settings.snr = 20;
  settings.breaths = breaths;
  return settings;
}

TEST(SelfGating, follows_the_breath) {
  using data::TrajectoryKind;
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::radial, TrajectoryKind::spiral})
    for (const double breaths : {9.0, 23.0}) {
      auto settings = chest(breaths, 600);
      settings.trajectory.kind = kind;
      const auto made = data::simulate(settings);
      const auto signal = self_gating_signal(made.scan, made.readout_length, 0);
      EXPECT_GE(correlation(signal.values, made.depths), 0.95)
          << name_of(kind) << ", " << breaths << " breaths";
      EXPECT_EQ(signal.doubt, "") << name_of(kind);
    }
}

TEST(SelfGating, follows_the_breath_where_times_are_known) {
  const auto made = data::simulate(chest(15, 1000));
  const double time_s = 0.06;  // 15 breaths a minute
  const auto signal = self_gating_signal(made.scan, made.readout_length, time_s);
  EXPECT_GE(correlation(signal.values, made.depths), 0.95);
  EXPECT_NE(signal.source.find("self-gated, 0.2"), std::string::npos) << signal.source;
}

TEST(SelfGating, follows_the_breath_in_spite_of_gradient_delays_and_in_a_volume) {
  auto delayed = chest(12, 600), volume = chest(12, 800, 24);
  delayed.trajectory.delay_samples = {1.5, 0.5, 0};
  volume.trajectory.matrix_size = {24, 24, 24};
  volume.trajectory.fov_mm = {240, 240, 240};
  volume.trajectory.kind = data::TrajectoryKind::golden_means_radial_3d;
  for (const auto& settings : {delayed, volume}) {
    const auto made = data::simulate(settings);
    EXPECT_GE(correlation(self_gating_signal(made.scan, made.readout_length, 0).values, made.depths), 0.95);
  }
}

TEST(SelfGating, doubts_a_signal_of_an_object_at_rest) {
  for (const std::uint64_t seed : {1, 2, 3})
    for (const auto snr : {std::optional(20.0), std::optional<double>()}) {
      auto settings = chest(0, 600);
      settings.seed = seed;
      settings.snr = snr;
      const auto made = data::simulate(settings);
      const auto signal = self_gating_signal(made.scan, made.readout_length, 0);
      EXPECT_NE(signal.doubt, "") << signal.source;
    }
}

TEST(SelfGating, refuses_readouts_that_miss_the_centre_and_scans_that_are_too_short) {
  auto settings = chest(0, 0, 128);
  settings.coil_count = 1;
  settings.trajectory.kind = data::TrajectoryKind::cartesian;
  const auto lines = data::simulate(settings);
  EXPECT_EQ(io::error_of([&] { self_gating_signal(lines.scan, lines.readout_length, 0); })
                .find("--gate: expected readouts that all pass the centre of k-space, for self, found "
                      "readout 0 that stays 64"),
            0u);
  const auto few = data::simulate(chest(3, 40));
  EXPECT_EQ(io::error_of([&] { self_gating_signal(few.scan, few.readout_length, 0); }),
            "--gate: expected a scan of several breaths with many readouts in each, for self, found 40 "
            "readouts; give a "
            "signal of another source, a file with one number for each readout");
  const auto slow = data::simulate(chest(10, 300));
  EXPECT_NE(io::error_of([&] { self_gating_signal(slow.scan, slow.readout_length, 2); }), "");
  EXPECT_NE(io::error_of([&] { self_gating_signal(slow.scan, 0, 0); }), "");
}

/// Heartbeats of so many readouts each, 25 units apart, from the middle of the first one on.
Scan with_heart(const std::vector<int>& lengths, std::vector<double>& phases) {
  Scan scan;
  for (std::size_t beat = 0; beat < lengths.size(); ++beat)
    for (int i = beat == 0 ? lengths[0] / 2 : 0; i < lengths[beat]; ++i) {
      scan.physiology_stamps.push_back({0, static_cast<std::uint32_t>(7 + 25 * i), 0});
      phases.push_back((7 + 25.0 * i) / (25.0 * lengths[beat] + 7));
    }
  const auto count = static_cast<std::int64_t>(scan.physiology_stamps.size());
  scan.trajectory.k = Array<double>({3, 2 * count});
  return scan;
}

TEST(CardiacPhase, goes_from_trigger_to_trigger) {
  std::vector<double> phases;
  const Scan scan = with_heart({40, 36, 44, 40}, phases);
  const auto signal = cardiac_phase(scan, 2, 1);
  ASSERT_EQ(signal.values.size(), phases.size());
  for (std::size_t r = 0; r < phases.size(); ++r) EXPECT_NEAR(signal.values[r], phases[r], 1e-12) << r;
  EXPECT_EQ(signal.source, "physiology time stamp 1, 4 heartbeats");
  EXPECT_EQ(signal.doubt, "");
}

TEST(CardiacPhase, doubts_a_skipped_trigger_and_refuses_what_holds_none) {
  std::vector<double> phases;
  const Scan scan = with_heart({40, 40, 80, 40, 40}, phases);
  EXPECT_EQ(cardiac_phase(scan, 2, 1).doubt.find("1 of 5 heartbeats last less than half or more"), 0u);
  EXPECT_EQ(io::error_of([&] { cardiac_phase(scan, 2, 0); }),
            "--gate: expected two triggers or more in physiology time stamp 0, found 0; choose another time "
            "stamp, or gate by self or a file");
  Scan without = scan;
  without.physiology_stamps.clear();
  EXPECT_EQ(io::error_of([&] { cardiac_phase(without, 2, 1); }),
            "--gate: expected physiology time stamp 1 of the readouts of the scan, found none; gate by "
            "self, or by a file");
}

TEST(Bins, hold_readouts_with_like_values) {
  // 11 readouts of 2 samples in 3 bins of 3: the last two are in none.
  const auto layout = lay_out_bins(22, 2, 3, {"a file", {5, -1, 3, 8, 0, 2, 9, 7, 1, 100, -100}, {}});
  EXPECT_EQ(layout.frames, 3);
  EXPECT_EQ(layout.unused(), 2);
  EXPECT_EQ(layout.order, (std::vector<std::int64_t>{1, 4, 8, 0, 2, 5, 3, 6, 7, 9, 10}));
  EXPECT_EQ(layout.samples_of(1), (std::vector<std::int64_t>{0, 1, 4, 5, 10, 11}));
  EXPECT_EQ(layout.first_readout(2), 3);
  EXPECT_EQ(doubt_of_gaps(layout), "");
}

TEST(Bins, refuse_signals_that_do_not_fit) {
  const auto line = [](std::vector<double> values) {
    return io::error_of([&] { lay_out_bins(20, 2, 3, {"signal.txt", std::move(values), {}}); });
  };
  EXPECT_EQ(line({1, 2, 3}), "signal.txt: expected 10 numbers, one for each readout, found 3");
  EXPECT_EQ(line(std::vector<double>(10, 4)),
            "signal.txt: expected a signal that changes, found the same number for every readout");
  Scan scan;
  scan.trajectory.k = Array<double>({3, 6});
  EXPECT_EQ(io::error_of([&] {
              given_signal(scan, 2, "signal.txt", {1, 2});
            }),
            "signal.txt: expected 3 numbers, one for each readout, found 2");
  EXPECT_NE(io::error_of([&] { given_signal(scan, 2, "signal.txt", {1, 2, NAN}); }), "");
  scan.readout_numbers = {1, 2, 4};  // of a file of five
  EXPECT_EQ(given_signal(scan, 2, "signal.txt", {0, 10, 20, 30, 40}).values,
            (std::vector<double>{10, 20, 40}));
}

TEST(Bins, of_breath_are_sharper_than_all_readouts_together) {
  const auto made = data::simulate(chest(16, 480, 64));
  const Execution execution{Device::cpu(), 1};
  Settings settings = tests::within_fov(tests::with_terms({{SparseKind::temporal_tv, 0.02}}));
  const auto layout = lay_out_bins(made.scan.trajectory.sample_count(), made.readout_length, 4,
                                   self_gating_signal(made.scan, made.readout_length, 0));
  const auto bins = Reconstructor(settings, execution)(made.scan, layout);
  settings.method = LeastSquares{};
  const auto all = reconstruct(made.scan, settings, execution);
  double of_bins = 0, together = 0;
  for (std::size_t bin = 0; bin < 4; ++bin) {
    const auto truth = values_of<double>(made.frames.at(bin));
    of_bins += metrics::relative_l2(values_of<double>(bins.at(bin).image), truth) / 4;
    together += metrics::relative_l2(values_of<double>(all.image), truth) / 4;
  }
  EXPECT_LE(of_bins, 0.6 * together);
  const auto& messages = bins.front().report.messages;
  EXPECT_TRUE(std::none_of(messages.begin(), messages.end(), is_doubt));
}

}  // namespace
}  // namespace fhd
