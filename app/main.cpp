// fhd: parse, call, print. The only place that prints or exits.
#include <fcntl.h>
#include <malloc.h>
#include <omp.h>
#include <semaphore.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "app/commands.hpp"
#include "app/console.hpp"
#include "app/event_lines.hpp"
#include "app/nearest_word.hpp"
#include "app/option_names.hpp"
#include "app/processors.hpp"
#include "io/result/atomic_file.hpp"
#include "io/result/series_folder.hpp"
#include "recon/array/device.hpp"
#include "recon/error.hpp"
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

/// A closed standard stream would give its number to the next file, and messages would go into that file.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR));
}

/// Where finished volumes outlive the process.
void print_unfinished() {
  if (const auto note = io::note_of_unfinished_series(); !note.empty()) print_error(note);
}

sem_t stop_requested;
volatile std::sig_atomic_t stop_signal = 0;

void request_stop(int number) {
  stop_signal = number;
  sem_post(&stop_requested);
}

/// Signals that end the process first remove the temporary files. The handler wakes a thread that does it,
/// because a handler may not. Signals that the caller ignores (nohup) stay ignored; a write beyond a size
/// limit is an error like a full disk.
void end_cleanly_on_signals() {
  std::signal(SIGXFSZ, SIG_IGN);
  sem_init(&stop_requested, 0, 0);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = request_stop;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
  std::thread([] {
    while (sem_wait(&stop_requested) != 0) {
    }
    io::remove_unfinished_files();
    io::remove_empty_series_folder();
    const int number = stop_signal;
    print_failure(std::string("stopped: ") + strsignal(number));
    print_unfinished();
    tell_end_by_signal(number);
    std::signal(number, SIG_DFL);
    std::raise(number);
  }).detach();
}

}  // namespace

/// Runs the command that was asked for: its exit status.
int run(const std::vector<Command>& commands) {
  std::string failure;
  try {
    int status = 0;
    omp_set_num_threads(default_threads());
    if (const auto note = note_of_bound(threads_of_environment().value_or(1), "OMP_NUM_THREADS");
        !note.empty())
      print_error(note);
    for (const auto& command : commands)
      if (command.parser->parsed()) status = command.run();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
      tell_end(status, "");
      return status;
    }
    failure = std::string("standard output: ") + std::strerror(error_of_events() ? error_of_events() : errno);
  } catch (const UsageError& error) {
    print_failure(error.what());
    tell_end(2, in_words_of_options(error.what()));
    return 2;
  } catch (const Error& error) {
    failure = error.what();
  } catch (const std::bad_alloc&) {
    failure = "out of memory; use a smaller matrix, fewer coils or --precision single";
  } catch (const std::exception& error) {
    failure = std::string("unexpected failure: ") + error.what();
  }
  print_failure(failure);
  print_unfinished();
  tell_end(1, in_words_of_options(failure));
  return 1;
}

}  // namespace fhd::app

int main(int argc, char** argv) {
  fhd::app::open_standard_streams();
  fhd::app::end_cleanly_on_signals();
  fhd::app::set_command_line(argc, argv);

  CLI::App app{"fhd: exact reconstruction of non-Cartesian MRI scans"};
  bool verbose = false;  // before the other: CLI11 asks them in their order
  auto* const also =
      app.add_flag("--verbose", verbose, "with --version: also libraries, instruction set, devices");
  also->needs(app.set_version_flag(
      "--version", [&verbose] { return verbose ? fhd::app::verbose_version() : fhd::program_version; }));
  app.require_subcommand(1);

  std::vector<fhd::app::Command> commands;
  const auto add = [&](const char* name, const char* what, fhd::app::Run (*add_options)(CLI::App&)) {
    CLI::App* parser = app.add_subcommand(name, what);
    commands.push_back({parser, add_options(*parser)});
  };
  add("recon", "reconstruct an image from a scan file", fhd::app::add_recon);
  add("batch", "reconstruct many scans; run again, it does what is left", fhd::app::add_batch);
  add("serve", "reconstruct sessions of inline reconstruction, as their data arrive", fhd::app::add_serve);
  add("compare", "reconstruct in several ways and tell their errors", fhd::app::add_compare);
  add("simulate", "make a scan of a phantom, with its true image", fhd::app::add_simulate);
  add("convert", "convert a scan between file formats", fhd::app::add_convert);
  add("forward", "compute the samples of an image by exact sums", fhd::app::add_forward);
  add("fieldmap", "find off-resonance from the echoes of a scan", fhd::app::add_fieldmap);
  add("plan", "tell how long a reconstruction will take and how much memory", fhd::app::add_plan);
  add("report", "show results on one page for a browser", fhd::app::add_report);
  add("info", "tell what a scan file holds", fhd::app::add_info);
  add("check", "tell what is suspicious or missing in scan files, and what to do", fhd::app::add_check);
  add("bench", "measure the speed and error of the transforms on this machine", fhd::app::add_bench);

  add("options", "what the options are, for manual pages and shells", fhd::app::add_documentation);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fhd::app::print_error(fhd::app::usage_error(app, {argv + 1, argv + argc}, error.what()));
    return 2;
  }
  const int status = fhd::app::run(commands);
  if (fhd::device::
          any_started()) {  // CUDA takes 0.1 s to give back what the end of a process gives back anyway
    std::fflush(nullptr);
    _exit(status);
  }
  return status;
}
