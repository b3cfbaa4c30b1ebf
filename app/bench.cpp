// fhd bench: speed and error of the transforms on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "app/console.hpp"
#include "app/recon_options.hpp"
#include "validation/cpu_bench.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

int bench_cpu(bool quick) {
  fmt::print("fhd {}\n", program_version);
  for (const auto& [name, value] : ReconOptions::environment()) fmt::print("{}: {}\n", name, value);
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

}  // namespace

Run add_bench(CLI::App& app) {
  const auto quick = std::make_shared<bool>(false);
  app.add_flag("--quick", *quick, "smaller sizes");
  return [quick] { return bench_cpu(*quick); };
}

}  // namespace fhd::app
