// fhd: parse, call, print. The only place that prints or exits.
#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <malloc.h>
#include <omp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "app/commands/commands.hpp"
#include "app/options/command_parser.hpp"
#include "app/options/command_table.hpp"
#include "app/options/table.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/ending.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/terminal/processors.hpp"
#include "io/reader/reader.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/array/device.hpp"
#include "recon/array/linear_algebra.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

/// The kernels of OpenBLAS for this processor; null: those that it finds. Intel's SkylakeX and Haswell serve every
/// processor with these vectors.
const char* openblas_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx512) return "SkylakeX";
  if (has_avx2) return "Haswell";
#endif
  return nullptr;
}

/// How threads wait for each other, unless the user has said: in a loop for a moment, then asleep. libgomp's own
/// moment, milliseconds, is the time of a processor that another process could use, and that the thread waited for
/// may need. It reads its settings in a constructor, before main: so this is one with an earlier turn, and libgomp
/// is linked in (CMakeLists.txt). OpenBLAS, opened later, is told the same: 2^14 cycles of the processor.
[[gnu::constructor(101)]] void set_waiting_and_memory() {
  if (!std::getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "1000", 0);
  // A bound on the teams of every thread: those that main() does not start take the number that libgomp has read.
  if (const int most = most_threads(); threads_of_environment().value_or(0) > most)
    setenv("OMP_NUM_THREADS", std::to_string(most).c_str(), 1);
  setenv("OPENBLAS_THREAD_TIMEOUT", "14", 0);
  // On processors newer than itself OpenBLAS takes kernels without AVX: products of matrices are six times slower.
  if (const char* kernels = openblas_kernels()) setenv("OPENBLAS_CORETYPE", kernels, 0);
  // Small pieces of memory are joined when they are freed. glibc would put it off until a large one is freed,
  // and do it for all of them: a twentieth of the time of a small scan.
  mallopt(M_MXFAST, 0);
}

struct Command {
  CLI::App* parser;
  Run run;
};

/// A closed standard stream would give its number to the next file, and messages would go into that file. Who closed
/// standard output learns that what was to be printed is lost: nothing can be written there.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0)
      static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_RDWR : O_RDONLY));
}

/// Returns `status`, or 1 where standard output has not taken all that went there.
int with_output_written(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    tell_end(status, "");
    return status;
  }
  const int error = error_of_output() ? error_of_output() : errno;
  return tell_failure(std::string("standard output: ") + std::strerror(error), 1);
}

}  // namespace

/// Runs the command that was asked for: its exit status.
int run(const std::vector<Command>& commands) {
  omp_set_num_threads(default_threads());
  // OpenBLAS, too, with 128 MiB of addresses for each.
  if (is_limited_by_system() || has_limited_addresses()) setenv("OPENBLAS_NUM_THREADS", "1", 1);
  int status = 0;
  for (const auto& command : commands)
    if (command.parser->parsed()) status = command.run();
  return with_output_written(status);
}

/// Returns the words of the command line: "recon --help" for "help recon".
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words{argv + std::min(argc, 1), argv + argc};
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  return words;
}

/// Prints the commands, and command lines to begin with. Returns the exit status.
int print_overview(const CLI::App& app) {
  print_out("{}\n\n", app.get_description());
  for (const auto* command : shown_commands(app))
    if (command != &app) print_out("  {:<10} {}\n", command->get_name(), command->get_description());
  print_out("\n");
  for (const auto& [line, meaning] : command_texts().front().examples)
    print_out("  {:<22} {}\n", line, meaning);
  return with_output_written(2);
}

/// Returns what a scan may have at most, in words.
std::string limits_in_words() {
  return fmt::format(
      "Limits: 1 to {} voxels and {} to {:.0f} mm along each axis; {} volumes (slices times repetitions) "
      "and {:.1e} samples in a scan; memory and time of reading as the commands' --input-memory and "
      "--input-seconds say. What goes beyond is refused before the work begins.",
      largest_matrix, io::least_fov_mm, io::largest_fov_mm, io::most_volumes,
      static_cast<double>(io::most_samples));
}

/// Reads the command line and runs the command: its exit status.
int parse_and_run(int argc, char** argv) {
  CLI::App app{"fhd: exact reconstruction of non-Cartesian MRI scans", "fhd"};
  bool verbose = false;  // before the other: CLI11 asks them in their order
  auto* const also =
      app.add_flag("--verbose", verbose, "with --version: also libraries, instruction set, devices");
  also->needs(app.set_version_flag(
      "--version", [&verbose] { return verbose ? verbose_version() : fhd::program_version; }));
  app.require_subcommand(1);

  std::vector<Command> commands;
  const auto add = [&](const char* name, const char* what, Run (*add_options)(CLI::App&),
                       bool reads_files = true) {
    CLI::App* parser = app.add_subcommand(name, what);
    commands.push_back({parser, add_options(*parser)});
    static RunOptions none;
    if (reads_files) fhd::app::add_options(*parser, none, in_process);
  };
  add("recon", "reconstruct an image from a scan file", add_recon);
  add("batch", "reconstruct many scans; a second run does only what is missing or changed", add_batch);
  add("serve", "reconstruct sessions of inline reconstruction, as their data arrive", add_serve);
  add("compare", "reconstruct in several ways and compare their errors", add_compare);
  add("simulate", "make a scan of a phantom, with its true image", add_simulate);
  add("convert", "convert a scan between file formats", add_convert);
  add("forward", "compute the samples of an image by exact sums", add_forward);
  add("fieldmap", "find off-resonance from the echoes of a scan", add_fieldmap);
  add("plan", "predict time and memory of a reconstruction", add_plan);
  add("report", "show results on one page for a browser", add_report);
  add("info", "print what a scan file contains", add_info);
  add("check", "report what is suspicious or missing in scan files, and what to do", add_check);
  add("bench", "measure the speed and error of the transforms on this machine", add_bench, false);

  add("options", "what the options are, for manual pages and shells", add_documentation, false);
  app.footer(limits_in_words());  // behind the commands, which would take it over

  const auto words = words_of(argc, argv);
  if (words.empty()) return print_overview(app);
  const auto refuse = [&](const std::string& reason, bool has_remedy) {
    print_failure(usage_error(app, words, reason, has_remedy));
    return 2;
  };
  const auto is_first = [&](const Command& command) { return command.parser->get_name() == words.front(); };
  if (!words.front().starts_with('-') && std::ranges::none_of(commands, is_first)) return refuse("", false);
  try {
    parse_words(app, words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return with_output_written(app.exit(error));  // --help, --version
    return refuse(error.what(), false);
  } catch (const Error& error) {
    return refuse(error.what(), !error.parts().remedy.empty());
  }
  return run(commands);
}

}  // namespace fhd::app

int main(int argc, char** argv) {
  int status = 1;
  std::signal(SIGCHLD, SIG_DFL);  // a caller that ignores it would have the ends of our processes forgotten
  try {
    fhd::app::open_standard_streams();
    fhd::io::reader::use();
    if (argc > 2) fhd::io::reader::start_ahead();  // it is ready when the options are parsed
    fhd::app::end_cleanly();
    H5dont_atexit();  // HDF5 crashes there, where the system failed to close a file; ours are closed by then
    fhd::app::set_command_line(argc, argv);
    status = fhd::app::parse_and_run(argc, argv);
  } catch (const fhd::app::UsageError& error) {
    status = fhd::app::tell_failure(error.what(), 2);
  } catch (...) {
    status = fhd::app::tell_failure(fhd::app::failure_of_exception(), 1);
  }
  fhd::io::reader::end_waiting();
  if (fhd::device::
          any_started()) {  // CUDA takes 0.1 s to give back what the end of a process gives back anyway
    std::fflush(nullptr);
    _exit(status);
  }
  return status;
}
