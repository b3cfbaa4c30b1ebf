#pragma once
// One function per command, each in its own file: adds its options to `app` and returns what to run after
// parsing.
#include <functional>
#include <string>
#include <utility>

#include "recon/error.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// The exit statuses of the program, for its manual pages.
inline constexpr std::pair<const char*, const char*> exit_statuses[] = {
    {"0", "success"},
    {"1",
     "failure: one line on standard error says what, where and what to do; of batch: a scan failed or was "
     "not run; "
     "of check: a scan is not usable"},
    {"2", "wrong usage: nothing was done"},
    {"128 + N",
     "as a shell tells it: ended by signal N, such as 130 after Ctrl-C; temporary files are removed, "
     "finished "
     "images of a series stay"}};

using Run = std::function<int()>;  ///< exit status: 0 success, 1 failure

/// Returns the command line of this process, quoted so that a shell reads it back.
const std::string& command_line();
/// Is called once, before any command runs.
void set_command_line(int argc, const char* const* argv);

/// A file that an option names is not what it should be: a failure, exit status 1.
struct InputError : Error {
  explicit InputError(const Error& error) : Error(error) {}
};
/// Returns the result of `read`, which reads a file that an option names.
template <class Read>
auto of_input(Read read) {
  try {
    return read();
  } catch (const Error& error) {
    throw InputError(error);
  }
}

/// A mistake in what the user typed: exit status 2.
struct UsageError : Error {
  explicit UsageError(const Error& error) : Error(error) {}
};
/// Returns the result of `work`, whose errors are usage errors unless they are of files that options name.
template <class Work>
auto of_options(Work work) {
  try {
    return work();
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(error);
  }
}

Run add_recon(CLI::App& app);
Run add_batch(CLI::App& app);
Run add_simulate(CLI::App& app);
Run add_convert(CLI::App& app);
Run add_info(CLI::App& app);
Run add_compare(CLI::App& app);
Run add_bench(CLI::App& app);
Run add_plan(CLI::App& app);
Run add_report(CLI::App& app);
Run add_check(CLI::App& app);
Run add_forward(CLI::App& app);
Run add_fieldmap(CLI::App& app);
Run add_serve(CLI::App& app);
Run add_documentation(CLI::App& app);

/// Returns what --version prints with --verbose: libraries, instruction set, devices.
std::string verbose_version();

}  // namespace fhd::app
