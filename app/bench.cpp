// fhd bench: speed and error of the transforms on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "app/console.hpp"
#include "app/nearest_word.hpp"
#include "app/options.hpp"
#include "recon/error.hpp"
#include "validation/bench/cpu_bench.hpp"
#include "validation/bench/gpu_bench.hpp"
#include "validation/bench/kernel_ladder.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

struct BenchCommand {
  std::string what = "cpu";
  bool quick = false;
  DeviceOption device_option;

  int run() const { return what == "cpu" ? bench_cpu() : bench_kernels(); }
  int bench_cpu() const;
  int bench_kernels() const;
};

void print_environment(const std::vector<std::pair<std::string, std::string>>& environment) {
  fmt::print("fhd {}\n", program_version);
  for (const auto& [name, value] : environment) fmt::print("{}: {}\n", name, value);
}

int BenchCommand::bench_cpu() const {
  print_environment(host_environment());
  fmt::print("measured ceiling: {:.2e} fused multiply-adds/s per thread, single precision\n\n",
             measured_fma_rate());
  std::vector<BenchRow> rows;
  {
    ProgressLine progress(false);
    rows = run_cpu_bench(quick, progress.callback());
  }
  fmt::print(
      "| operation | instructions | threads | ms | pairs/s | share of floor | error "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const auto& row : rows)
    fmt::print("| {} | {} | {} | {:.2f} | {} | {} | {} |\n", row.what, row.instruction_set, row.threads,
               row.seconds * 1e3, row.rate > 0 ? fmt::format("{:.2e}", row.rate) : "",
               row.share_of_floor > 0
                   ? fmt::format("{:.0f} %{}", row.share_of_floor * 100, row.rate > 0 ? "" : " in FFTW")
                   : "",
               row.error >= 0 ? fmt::format("{:.1e}", row.error) : "");
  return 0;
}

/// The ladder of kernels beside the ceilings of the device.
void print_ladder(bool quick) {
  const Ceilings ceilings = measure_ceilings();
  fmt::print(
      "\nmeasured ceilings: {:.2e} special functions/s ({:.2e} pairs/s at one sin and one cos a pair), "
      "{:.2e} "
      "multiply-adds/s, {:.2e} B/s copied (read + written)\n\n",
      ceilings.special_functions_per_s, ceilings.special_function_pairs_per_s(), ceilings.multiply_adds_per_s,
      ceilings.copy_bytes_per_s);
  LadderSettings settings;
  if (quick) {
    settings.matrix_size = {32, 32, 32};
    settings.sample_count = 16384;
    settings.sweep = false;
  }
  fmt::print(
      "| rung ({} x {} x {}, {} samples) | coils | block | tile | ms | ms per coil | pairs/s | share of "
      "ceiling | "
      "registers | error |\n|---|---|---|---|---|---|---|---|---|---|\n",
      settings.matrix_size[0], settings.matrix_size[1], settings.matrix_size[2], settings.sample_count);
  for (const auto& rung : run_kernel_ladder(settings, ceilings))
    fmt::print("| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.2e} | {:.2f} | {} | {:.1e} |\n", rung.name,
               rung.coils, rung.block_size, rung.tile_points, rung.ms, rung.ms / rung.coils, rung.pairs_per_s,
               rung.share_of_ceiling, rung.registers, rung.error);
  fmt::print(
      "\npairs/s counts voxels x samples x coils; a share above 1 means that sin and cos are shared: by "
      "coils, or by "
      "the voxels of a run\n");
}

int BenchCommand::bench_kernels() const {
  const ChosenDevice device = device_option.choose();
  if (device.device.is_cpu())
    throw Error("bench kernels", "a GPU", device.text,
                "run it where there is one; 'fhd bench' measures the CPU");
  print_environment(device.environment());

  std::vector<GpuBenchRow> rows;
  {
    ProgressLine progress(false);
    rows = run_gpu_bench(quick, progress.callback());
  }
  fmt::print("\n| operation | ms | pairs/s | in cuFFT |\n|---|---|---|---|\n");
  for (const auto& row : rows)
    fmt::print("| {} | {:.3f} | {} | {} |\n", row.what, row.ms,
               row.pairs_per_s > 0 ? fmt::format("{:.2e}", row.pairs_per_s) : "",
               row.cufft_share > 0 ? fmt::format("{:.0f} %", row.cufft_share * 100) : "");
  if constexpr (built_with_cuda) print_ladder(quick);
  return 0;
}

}  // namespace

Run add_bench(CLI::App& app) {
  const auto command = std::make_shared<BenchCommand>();
  app.add_option("WHAT", command->what,
                 "cpu: the transforms on the CPU; kernels: on a GPU, with the ladder of kernels")
      ->check(one_of({"cpu", "kernels"}))
      ->capture_default_str();
  app.add_flag("--quick", command->quick, "smaller sizes");
  command->device_option.add_to(app);
  return [command] { return command->run(); };
}

}  // namespace fhd::app
