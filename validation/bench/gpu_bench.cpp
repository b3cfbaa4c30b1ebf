#include "validation/bench/gpu_bench.hpp"

#include <chrono>

#include "data/simulate.hpp"
#include "recon/array/device.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "validation/bench/gpu_timing.hpp"

namespace fhd {
namespace {

std::string size_text(int n, int nz) {
  return std::to_string(n) + " x " + std::to_string(n) + (nz > 1 ? " x " + std::to_string(nz) : "");
}
std::string coils_text(std::int64_t coils) {
  return std::to_string(coils) + (coils == 1 ? " coil" : " coils");
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

using Rows = std::vector<GpuBenchRow>;

/// Twice: the first run of all comes with the loading of kernels and of cuFFT.
void add_reconstructions(const Scan& scan, const std::string& sizes, Rows& rows) {
  LeastSquares method;
  method.transform.kind = TransformKind::direct;
  method.tolerance = 0;
  for (const char* run : {"first", "second"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto reconstruction = reconstruct(scan, {method}, {Device::cuda()});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rows.push_back(
        {"recon, " + sizes + "1 coil, 30 iterations, " + run + " run in this process", seconds * 1e3});
    for (const auto& stage : reconstruction.report.stages)
      rows.push_back({"- " + stage.name, stage.seconds * 1e3});
  }
}

void add_direct_sums(const Scan& scan, const std::string& sizes, std::int64_t coils, Rows& rows) {
  const Trajectory& trajectory = scan.trajectory;
  const auto transform = make_direct_transform<float>(trajectory, scan.geometry.matrix_size, Device::cuda());
  auto images = random_on_device(transform->images_shape(coils));
  auto samples = random_on_device(transform->samples_shape(coils));
  const double pairs = static_cast<double>(images.size()) * static_cast<double>(trajectory.sample_count());
  const auto add = [&](const char* name, double ms) {
    rows.push_back({name + (", " + sizes) + coils_text(coils), ms, pairs / ms * 1e3});
  };
  add("direct F^H", median_ms([&] { transform->adjoint(samples, images); }));
  add("direct F", median_ms([&] { transform->forward(images, samples); }));
}

void add_toeplitz(int n, int nz, std::int64_t coils, Rows& rows) {
  const auto grid = difference_grid({n, n, nz});
  const auto q = random_on_device({grid[2], grid[1], grid[0]});  // any numbers take the same time
  const auto toeplitz = make_toeplitz_normal(q, random_on_device({coils, nz, n, n}));
  const auto in = random_on_device({nz, n, n});  // zeros would be faster than data
  Array<Complex<float>> out(toeplitz->domain(), Device::cuda());
  rows.push_back({"Toeplitz F^H F, " + size_text(n, nz) + ", " + coils_text(coils),
                  median_ms([&] { toeplitz->forward(in, out); })});
}

}  // namespace

std::vector<GpuBenchRow> run_gpu_bench(bool quick, const ProgressCallback& progress) {
  Rows rows;
  const auto tell = [&](const char* what) {
    if (progress) progress({what, 0, 1, -1});
  };
  // The paper's size: diameters of 2 N samples in all directions.
  const int n = quick ? 32 : 128;
  tell("simulating");
  const Scan scan = simulated(n, quick ? 72 : 576).scan;
  const std::string sizes =
      size_text(n, n) + ", " + std::to_string(scan.trajectory.sample_count()) + " samples, ";
  tell("reconstruction");
  add_reconstructions(scan, sizes, rows);
  tell("direct F^H and F");
  for (const std::int64_t coils : {1, 8}) add_direct_sums(scan, sizes, coils, rows);

  struct Case {
    int n, nz;
    std::int64_t coils;
  };
  tell("Toeplitz F^H F");
  for (const auto& [nx, nz, coils] : {Case{128, 128, 8}, Case{128, 128, 1}, Case{64, 64, 8}, Case{64, 16, 4},
                                      Case{256, 1, 8}, Case{512, 1, 32}, Case{256, 256, 12}})
    if (!quick || nx * nz <= 2048) add_toeplitz(nx, nz, coils, rows);
  return rows;
}

}  // namespace fhd
