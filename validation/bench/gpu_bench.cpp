#include "validation/bench/gpu_bench.hpp"

#include <algorithm>
#include <chrono>
#include <random>

#include "data/simulate.hpp"
#include "recon/array/device.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/toeplitz/toeplitz_cuda.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd {
namespace {

constexpr int repetitions = 5;

std::string size_text(int n, int nz) {
  return std::to_string(n) + " x " + std::to_string(n) + (nz > 1 ? " x " + std::to_string(nz) : "");
}
std::string coils_text(std::int64_t coils) {
  return std::to_string(coils) + (coils == 1 ? " coil" : " coils");
}

/// Random numbers on the device, the same on every run: zeros would be faster than data.
Array<Complex<float>> random_on_device(Shape shape) {
  std::mt19937 generator(7);
  Array<Complex<float>> values(shape);
  for (auto& v : values)
    v = {static_cast<float>(generator() * 0x1p-32 - 0.5), static_cast<float>(generator() * 0x1p-32 - 0.5)};
  return values.to(Device::cuda());
}

template <class Work>
double median_ms(Work work) {
  work();
  std::vector<double> ms;
  for (int i = 0; i < repetitions; ++i) {
    device::Event start(device::Event::Timing::on), stop(device::Event::Timing::on);
    start.record();
    work();
    stop.record();
    ms.push_back(stop.ms_since(start));
  }
  std::nth_element(ms.begin(), ms.begin() + repetitions / 2, ms.end());
  return ms[repetitions / 2];
}

data::Simulation simulated(int n, std::int64_t diameters) {
  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::golden_means_radial_3d;
  settings.trajectory.matrix_size = {n, n, n};
  settings.trajectory.fov_mm = {240, 240, 240};
  settings.trajectory.readout_count = diameters;
  settings.trajectory.readout_length = 2 * n;
  settings.coil_count = 1;
  return data::simulate(settings);
}

}  // namespace

std::vector<GpuBenchRow> run_gpu_bench(bool quick, const ProgressCallback& progress) {
  std::vector<GpuBenchRow> rows;
  const auto tell = [&](const std::string& what) {
    if (progress) progress({what, 0, 1, -1});
  };

  // The paper's size: diameters of 2 N samples in all directions.
  const int n = quick ? 32 : 128;
  const std::int64_t diameters = quick ? 72 : 576;
  tell("simulating");
  const auto simulation = simulated(n, diameters);
  const Trajectory& trajectory = simulation.scan.trajectory;
  const std::string sizes = size_text(n, n) + ", " + std::to_string(trajectory.sample_count()) + " samples, ";

  // The first run of all: with the loading of kernels and of cuFFT.
  Settings settings;
  settings.device = Device::cuda();
  settings.transform = TransformKind::direct;
  settings.iterations = 30;
  settings.tolerance = 0;
  for (const char* run : {"first", "second"}) {
    tell("reconstruction");
    const auto begin = std::chrono::steady_clock::now();
    const auto reconstruction = reconstruct(simulation.scan, settings);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rows.push_back(
        {"recon, " + sizes + "1 coil, 30 iterations, " + run + " run in this process", seconds * 1e3});
    for (const auto& stage : reconstruction.report.stages)
      rows.push_back({"- " + stage.name, stage.seconds * 1e3});
  }

  for (const std::int64_t coils : {1, 8}) {
    const auto transform = make_direct_transform<float>(trajectory, {n, n, n}, Device::cuda());
    auto images = random_on_device(transform->images_shape(coils));
    auto samples = random_on_device(transform->samples_shape(coils));
    const double pairs = static_cast<double>(images.size()) * static_cast<double>(trajectory.sample_count());
    tell("direct F^H");
    const double adjoint_ms = median_ms([&] { transform->adjoint(samples, images); });
    rows.push_back({"direct F^H, " + sizes + coils_text(coils), adjoint_ms, pairs / adjoint_ms * 1e3});
    tell("direct F");
    const double forward_ms = median_ms([&] { transform->forward(images, samples); });
    rows.push_back({"direct F, " + sizes + coils_text(coils), forward_ms, pairs / forward_ms * 1e3});
  }

  struct Case {
    int n, nz;
    std::int64_t coils;
  };
  for (const auto& [nx, nz, coils] : {Case{128, 128, 8}, Case{128, 128, 1}, Case{64, 64, 8}, Case{64, 16, 4},
                                      Case{256, 1, 8}, Case{512, 1, 32}}) {
    if (quick && nx * nz > 2048) continue;
    tell("Toeplitz F^H F");
    const auto grid = difference_grid({nx, nx, nz});
    const auto q = random_on_device({grid[2], grid[1], grid[0]});  // any numbers take the same time
    const auto toeplitz = make_toeplitz_normal(q, random_on_device({coils, nz, nx, nx}));
    ToeplitzTiming timing;
    if constexpr (built_with_cuda) timing = time_toeplitz_cuda(*toeplitz, 11);
    rows.push_back({"Toeplitz F^H F, " + size_text(nx, nz) + ", " + coils_text(coils), timing.ms, 0,
                    timing.cufft_ms / timing.ms});
  }
  return rows;
}

}  // namespace fhd
