// The cost of a reconstruction: arithmetic, so it is tested without a GPU. plan_test and gpu_recon_test compare it
// with what happens.
#include "recon/pipeline/estimate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "recon/error.hpp"

namespace {

using namespace fhd;

constexpr std::size_t all = std::size_t{1} << 50;

ScanSizes head() {
  ScanSizes sizes;
  sizes.matrix_size = {64, 64, 16};
  sizes.samples.all = 66592;
  sizes.coils = 4;
  sizes.has_maps = true;
  return sizes;
}
ScanSizes large_head() {
  ScanSizes sizes = head();
  sizes.matrix_size = {128, 128, 128};
  sizes.samples.all = 147456;
  sizes.coils = 12;
  return sizes;
}

/// A machine that does everything at one nanosecond.
MachineRates even_rates() {
  MachineRates rates;
  for (const auto& [name, value] : rates.fields()) *value = 1e-9;
  return rates;
}

std::vector<Settings> every_way() {
  std::vector<Settings> ways{{ConventionalGridding{}}, {CartesianFft{}}};
  for (const auto transform : {TransformKind::direct, TransformKind::gridded}) {
    ways.emplace_back().method = PlainAdjoint{{transform}};
    for (const auto normal : {NormalKind::toeplitz, NormalKind::explicit_product})
      ways.emplace_back().method = LeastSquares{.transform = {transform}, .normal = normal};
  }
  return ways;
}

std::size_t on_device(const ScanSizes& sizes, const Settings& settings, std::size_t available = all) {
  EstimateSettings how{settings, Device::cuda()};
  return fit_device_memory(sizes, how, available);
}

TEST(DeviceMemory, takes_all_coils_at_once_where_they_fit) {
  EstimateSettings how{{LeastSquares{.transform = {TransformKind::direct}}}, Device::cuda()};
  const auto plan = fit_device_memory(large_head(), how, all);
  EXPECT_EQ(how.coils_at_once, 0) << "all";
  // At least: maps twice, coil images, Q.
  const std::size_t voxels = 128 * 128 * 128;
  EXPECT_GE(plan, 8 * (3 * 12 * voxels + 8 * voxels));
  EXPECT_LE(plan, std::size_t{8} << 30);
}

TEST(DeviceMemory, takes_fewer_coils_at_once_where_memory_is_short_and_refuses_what_cannot_fit) {
  EstimateSettings how{{LeastSquares{.transform = {TransformKind::direct}}}, Device::cuda()};
  std::size_t available = fit_device_memory(large_head(), how, all);
  std::vector<std::int64_t> seen;
  try {
    for (;;) {
      const auto plan = fit_device_memory(large_head(), how, available);
      EXPECT_LE(plan, available);
      seen.push_back(how.coils_at_once == 0 ? 12 : how.coils_at_once);
      EXPECT_EQ(12 % seen.back(), 0);
      available = plan - 1;
    }
  } catch (const DeviceError& error) {
    EXPECT_NE(std::strstr(error.what(), "MiB for this scan"), nullptr) << error.what();
    EXPECT_NE(std::strstr(error.what(), "MiB available"), nullptr) << error.what();
  }
  EXPECT_EQ(seen.front(), 12);
  EXPECT_EQ(seen.back(), 1);
}

TEST(DeviceMemory, serves_every_method) {
  for (Settings settings : every_way()) {
    if (is_method<CartesianFft>(settings)) continue;  // never on a GPU
    for (const bool maps : {true, false}) {
      ScanSizes sizes = head();
      sizes.has_maps = maps;
      settings.coils = CoilSettings::as_they_are();
      if (!maps) settings.coils.maps = CoilMaps::none;
      settings.precision = Precision::single_precision;
      const auto single = on_device(sizes, settings);
      settings.precision = Precision::double_precision;
      EXPECT_GT(single, 0u);
      // Not always more: grids, parts of sums and the prediction of the residual are chosen for each precision.
      const double image = 64 * 64 * 16 * 16, samples = 66592 * 4 * 16;
      EXPECT_GT(static_cast<double>(on_device(sizes, settings)), image + samples);
      EXPECT_THROW(on_device(sizes, settings, 1000), DeviceError);
    }
  }
}

TEST(Estimate, more_of_anything_takes_no_less_time_and_memory) {
  const MachineRates rates = even_rates();
  for (const Settings& settings : every_way())
    for (const bool maps : {true, false}) {
      ScanSizes base = head();
      base.has_maps = maps;
      std::vector<ScanSizes> more(5, base);
      more[0].samples.all *= 2;
      more[1].coils *= 2;
      more[2].matrix_size[0] *= 2;
      more[3].matrix_size[2] *= 2;
      more[4].samples.all *= 1000;
      const auto seconds = [&](const ScanSizes& sizes, const Settings& with) {
        return predict(sizes, {with}, rates, rates).seconds();
      };
      for (const ScanSizes& larger : more) {
        EXPECT_GE(seconds(larger, settings), seconds(base, settings)) << settings.method.index();
        EXPECT_GE(estimate(larger, {settings}).host.peak_bytes(),
                  estimate(base, {settings}).host.peak_bytes())
            << settings.method.index();
      }
      Settings longer = settings;
      if (auto* method = std::get_if<LeastSquares>(&longer.method))
        method->tolerance = 1e-6, method->iterations = 60;
      EXPECT_GE(seconds(base, longer), seconds(base, settings));
      const Prediction prediction = predict(base, {settings}, rates, rates);
      EXPECT_GE(prediction.seconds_at_limit(), prediction.seconds());
    }
}

TEST(Estimate, sizes_beyond_any_machine_do_not_overflow) {
  ScanSizes monster;
  monster.matrix_size = {4096, 4096, 4096};
  monster.samples.all = 1'000'000'000'000;
  monster.coils = 128;
  std::vector<Settings> ways = every_way();
  ways.emplace_back();
  for (const Settings& settings : ways) {
    const Prediction prediction = predict(monster, {settings}, even_rates(), even_rates());
    EXPECT_TRUE(std::isfinite(prediction.seconds()));
    for (const Stage& stage : prediction.stages) EXPECT_GE(stage.seconds, 0) << stage.name;
    // At least the samples of 128 coils, in single precision.
    EXPECT_GE(estimate(monster, {settings}).host.peak_bytes(), std::size_t{1'000'000'000'000} * 128 * 8);
  }
}

TEST(Estimate, of_a_field_map_is_part_of_the_plan) {
  const Settings plain{LeastSquares{.transform = {TransformKind::direct}}};
  ScanSizes sizes = head();
  sizes.has_field_map = sizes.has_sample_time = true;
  const auto seconds = [](const ScanSizes& of) {
    return predict(of, {LeastSquares{}}, even_rates(), even_rates()).seconds();
  };
  EXPECT_GT(seconds(sizes), seconds(head()));
  EXPECT_GT(estimate(sizes, {plain}).host.peak_bytes(), estimate(head(), {plain}).host.peak_bytes());
  EXPECT_GT(on_device(sizes, plain), on_device(head(), plain));
  ScanSizes more = sizes;
  more.time_segments = 20, more.difference_segments = 32;
  EXPECT_GT(on_device(more, plain), on_device(sizes, plain));
}

TEST(Estimate, of_a_series_holds_the_calibrations_of_volumes_that_are_read) {
  ScanSizes sizes = head();
  const auto bytes = [&](std::int64_t images, std::int64_t calibration, bool wait) {
    sizes.calibration_samples = calibration;
    EstimateSettings how;
    how.images = images;
    how.images_wait_in_memory = wait;
    return static_cast<double>(estimate(sizes, how).host.peak_bytes());
  };
  constexpr std::int64_t samples = 1 << 20;
  const double one = samples * (8.0 * sizes.coils + 24);
  for (const bool wait : {false, true})
    EXPECT_GE(bytes(3, samples, wait) - bytes(3, 0, wait), 2.99 * one) << "each volume has one of its own";
}

TEST(Estimate, of_a_busy_machine_takes_as_much_longer) {
  MachineRates busy = even_rates();
  busy.slowdown = 3;
  const auto seconds = [](const MachineRates& rates) {
    return predict(head(), {LeastSquares{}}, rates, rates).seconds();
  };
  EXPECT_NEAR(seconds(busy), 3 * seconds(even_rates()), 1e-9 * seconds(busy));
}

TEST(MachineRates, of_this_machine_are_positive_and_finite) {
  MachineRates rates = measure_rates(Device::cpu());
  EXPECT_GE(rates.slowdown, 1);
  for (const auto& [name, value] : rates.fields()) {
    EXPECT_TRUE(std::isfinite(*value)) << name;
    EXPECT_GE(*value, 0) << name;
  }
  for (const auto unit :
       {WorkUnit::pair, WorkUnit::fft, WorkUnit::kernel_point, WorkUnit::byte, WorkUnit::algebra})
    EXPECT_GT(rates.of(unit), 0);
}

}  // namespace
