// fhd bench: speed and error of the transforms on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/commands/commands.hpp"
#include "app/options/own_options.hpp"
#include "app/options/table.hpp"
#include "app/run/scan_cost.hpp"
#include "app/terminal/console.hpp"
#include "io/files/atomic_file.hpp"
#include "recon/error.hpp"
#include "validation/bench/chain_bench.hpp"
#include "validation/bench/cpu_bench.hpp"
#include "validation/bench/exact_bench.hpp"
#include "validation/bench/gpu_bench.hpp"
#include "validation/bench/gridding_bench.hpp"
#include "validation/bench/kernel_ladder.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

struct BenchCommand {
  std::string what = "cpu", only, folder;
  bool quick = false;
  RunOptions options;
  CLI::App* app = nullptr;

  int run() const {
    if (what == "cpu") return bench_cpu();
    if (what == "chain") return bench_chain();
    if (what == "gridding") return bench_gridding();
    return what == "ladder" ? bench_ladder() : bench_kernels();
  }
  int bench_cpu() const;
  int bench_kernels() const;
  int bench_ladder() const;
  int bench_gridding() const;
  ChosenDevice gpu() const;
  int bench_chain() const;
};

void print_environment(const std::vector<std::pair<std::string, std::string>>& environment) {
  print_out("fhd {}\n", program_version);
  for (const auto& [name, value] : environment) print_out("{}: {}\n", name, value);
}

/// Returns the rows of a benchmark, while a line shows how far it is.
template <class Benchmark>
auto measured(const Benchmark& benchmark, bool quick) {
  ProgressLine progress(false);
  return benchmark(quick, progress.callback());
}

int BenchCommand::bench_cpu() const {
  print_environment(host_environment());
  print_out("measured ceiling: {:.2e} fused multiply-adds/s per thread, single precision\n\n",
            measured_fma_rate());
  const auto rows = measured(run_cpu_bench, quick);
  print_out(
      "| operation | instructions | threads | ms | pairs/s | share of floor | error "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const auto& row : rows)
    print_out("| {} | {} | {} | {:.2f} | {} | {} | {} |\n", row.what, row.instruction_set, row.threads,
              row.seconds * 1e3, row.rate > 0 ? fmt::format("{:.2e}", row.rate) : "",
              row.share_of_floor > 0 ? fmt::format("{:.0f} %", row.share_of_floor * 100) : "",
              row.error >= 0 ? fmt::format("{:.1e}", row.error) : "");
  return 0;
}

/// Prints the ladder of kernels and the ceilings of the device.
void print_ladder(bool quick) {
  const Ceilings ceilings = measure_ceilings();
  print_out(
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
  print_out(
      "| rung ({} x {} x {}, {} samples) | coils | block | tile | ms | ms per coil | pairs/s | share of "
      "ceiling | "
      "registers | error |\n|---|---|---|---|---|---|---|---|---|---|\n",
      settings.matrix_size[0], settings.matrix_size[1], settings.matrix_size[2], settings.sample_count);
  for (const auto& rung : run_kernel_ladder(settings, ceilings))
    print_out("| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.2e} | {:.2f} | {} | {:.1e} |\n", rung.name,
              rung.coils, rung.block_size, rung.tile_points, rung.ms, rung.ms / rung.coils, rung.pairs_per_s,
              rung.share_of_ceiling, rung.registers, rung.error);
  print_out(
      "\npairs/s counts voxels x samples x coils; a share above 1 means that sin and cos are shared: by "
      "coils, or by "
      "the voxels of a run\n");
}

void print_exact_sums(bool quick) {
  const auto rows = measured(run_exact_bench, quick);
  print_out("\n| direct sums | way | ms | pairs/s | error |\n|---|---|---|---|---|\n");
  for (const auto& row : rows)
    print_out("| {} | {} | {:.3f} | {:.2e} | {} |\n", row.what, row.way, row.ms, row.pairs_per_s,
              row.error >= 0 ? fmt::format("{:.1e}", row.error) : "");
}

ChosenDevice BenchCommand::gpu() const {
  ChosenDevice device = options.device.choose();
  if (device.device.is_cpu())
    throw Error("bench " + what, "a GPU", device.text,
                "run it where there is one; 'fhd bench' measures the CPU");
  print_environment(environment_of({device}));
  return device;
}

int BenchCommand::bench_gridding() const {
  const ChosenDevice device = gpu();
  const auto rows = measured(run_gridding_bench, quick);
  print_out(
      "\n| trajectory | coils | accuracy | kernel | F^H ms (per coil) | F ms (per coil) | error F^H, F | "
      "plan s "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const auto& row : rows) {
    const auto coils = static_cast<double>(row.coils);
    print_out("| {} | {} | {:.0e} | {} | {:.3f} ({:.4f}) | {:.3f} ({:.4f}) | {:.1e}, {:.1e} | {:.3f} |\n",
              row.what, row.coils, row.accuracy, row.gridding, row.adjoint_ms, row.adjoint_ms / coils,
              row.forward_ms, row.forward_ms / coils, row.adjoint_error, row.forward_error, row.plan_s);
  }
  return 0;
}

int BenchCommand::bench_kernels() const {
  const ChosenDevice device = gpu();

  const auto rows = measured(run_gpu_bench, quick);
  print_out("\n| operation | ms | pairs/s |\n|---|---|---|\n");
  for (const auto& row : rows)
    print_out("| {} | {:.3f} | {} |\n", row.what, row.ms,
              row.pairs_per_s > 0 ? fmt::format("{:.2e}", row.pairs_per_s) : "");
  print_exact_sums(quick);
  return 0;
}

int BenchCommand::bench_ladder() const {
  gpu();
  if constexpr (built_with_cuda) print_ladder(quick);
  return 0;
}

void print_chain_row(const ChainCase& what, const ChainRow& row, double floor_s) {
  std::string largest;
  for (const auto& [name, seconds] : row.largest)
    largest += fmt::format("{}{} {:.3g}", largest.empty() ? "" : ", ", name, seconds);
  const auto of_device = row.devices == 0 ? std::string(" | ")
                                          : fmt::format("{:.3g} | {:.0f} %", row.device_s,
                                                        100 * std::max(0.0, 1 - row.device_s / row.wall_s));
  print_out("| {} | {:.3g} | {:.3g} | {:.3g} | {} | {} | {:.3g} {}/s | {} + {} | {:.2g} |\n", what.name,
            row.wall_s, row.stages_s, row.outside_s, of_device, largest, row.images_per_s,
            what.scans > 1 ? "scans" : "frames", memory_text(row.bytes_read), memory_text(row.bytes_written),
            floor_s);
}

int BenchCommand::bench_chain() const {
  std::vector<ChainCase> cases;
  for (auto& one : chain_cases(quick))
    if (one.name.find(only) != std::string::npos) cases.push_back(std::move(one));
  if (cases.empty()) throw UsageError(Error("--case", "a part of the name of a case", "'" + only + "'"));
  std::error_code status;
  const auto place =
      folder.empty() ? std::filesystem::temp_directory_path(status) : std::filesystem::path(folder);
  const auto scratch = io::AtomicFile::directory((place / "fhd-bench").string());  // removed at the end
  const auto begin = std::chrono::steady_clock::now();
  const ChosenDevice device = options.device.choose();
  const std::chrono::duration<double> starting = std::chrono::steady_clock::now() - begin;
  const double start_s = device.device.is_cuda() ? starting.count() : 0;
  const FileRates rates = measure_file_rates(scratch.temporary());
  print_environment(environment_of({device}));
  print_out(
      "date: {}\ncommand: {}\nfiles: {:.2g} GB/s read, {:.2g} GB/s written, in the cache of the system\n",
      utc_now(), command_line(), rates.read * 1e-9, rates.write * 1e-9);
  if (start_s > 0) print_out("start of CUDA: {:.2f} s\n", start_s);
  print_out(
      "\nSecond runs, in s. Stages: of all threads together, and the time in which none was in one. Device: "
      "with work "
      "given to it. Floor: files at the rates above{}.\n\n"
      "| case | whole process | stages | outside of stages | device | device idle | largest stages | "
      "throughput | "
      "read + written | floor |\n|---|---|---|---|---|---|---|---|---|---|\n",
      start_s > 0 ? ", and the start of CUDA" : "");
  const ChainSettings settings{std::filesystem::read_symlink("/proc/self/exe").string(), scratch.temporary(),
                               app->get_option("--device")->as<std::string>()};
  for (const auto& one : cases) {
    const ChainRow row = run_chain_case(one, settings);
    print_chain_row(one, row, start_s + row.bytes_read / rates.read + row.bytes_written / rates.write);
  }
  return 0;
}

}  // namespace

Run add_bench(CLI::App& app) {
  const auto command = std::make_shared<BenchCommand>();
  command->app = &app;
  add_choice(app, "WHAT", command->what, {"cpu", "kernels", "ladder", "gridding", "chain"},
             "cpu: the transforms on the CPU; kernels: on a GPU; ladder: of direct sums on a GPU, from the "
             "simplest to ours; gridding: the gridded transform on a GPU; chain: whole runs of recon and "
             "batch, and where their time goes");
  app.add_flag("--quick", command->quick, "smaller sizes");
  app.add_option("--case", command->only, "of chain: only the cases whose name contains this")
      ->type_name("TEXT");
  app.add_option(
         "--folder", command->folder,
         "of chain: where scans are made (up to 4 GB) and removed again [the system's temporary folder]")
      ->type_name("DIR");
  add_options(app, command->options, in_serve);
  return [command] { return command->run(); };
}

}  // namespace fhd::app
