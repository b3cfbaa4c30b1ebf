#pragma once
// Runs a program in which one call fails (failing_calls.cpp).
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "validation/tests/processes.hpp"
#include "validation/tests/robust/call_state.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd::tests {

/// Says which call is to fail in a run.
struct Failure {
  Call call = Call::open;
  std::uint64_t at = 0;  ///< from 1 on; 0: nothing
  bool goes_on = false;  ///< also all calls of this kind after it
  bool kills = false;    ///< instead of failing
  bool stops = false;    ///< instead of failing: the call is made when the process goes on
};

/// The state that is shared with a run, in a file of its own.
class SharedState {
 public:
  explicit SharedState(std::string path) : path_(std::move(path)) {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(CallState)) != 0) throw std::runtime_error(path_);
    void* mapped = mmap(nullptr, sizeof(CallState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) throw std::runtime_error(path_);
    state_ = static_cast<CallState*>(mapped);
  }
  ~SharedState() { munmap(state_, sizeof(CallState)); }
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;

  const std::string& path() const { return path_; }
  CallState& operator*() const { return *state_; }
  void set(const Failure& failure) {
    for (auto& count : state_->counts) count = 0;
    state_->failing = failure.call;
    state_->at = failure.at;
    state_->goes_on = failure.goes_on;
    state_->signal = failure.kills ? SIGKILL : failure.stops ? SIGSTOP : 0;
    state_->has_failed = 0;
  }
  std::uint64_t count(Call call) const { return state_->counts[static_cast<std::size_t>(call)]; }
  bool has_failed() const { return state_->has_failed != 0; }

 private:
  std::string path_;
  CallState* state_ = nullptr;
};

/// Says how a run ended.
struct RunEnd {
  int status = 0;  ///< as wait says
  bool timed_out = false, left_processes = false;
  std::string out, err;

  bool has_ended_by_itself() const { return !timed_out && WIFEXITED(status); }
  int exit_status() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

/// Returns whether processes of a group still run seconds after its first one has ended.
inline bool goes_on_without_first(pid_t group) {
  constexpr int most_looks = 50;
  for (int look = 0; look < most_looks; ++look) {
    if (kill(-group, 0) != 0 || !has_living(group)) return false;
    usleep(100'000);
  }
  return true;
}

/// Runs `words` in `folder`, with FHD_FAILING_CALLS_LIBRARY loaded before it; what it prints goes to files beside the
/// state's. `variables` are added to the environment.
inline RunEnd run_with_failure(const std::vector<std::string>& words, const std::string& folder,
                               SharedState& state, const Failure& failure,
                               const std::vector<std::pair<std::string, std::string>>& variables,
                               double limit_s) {
  const std::string out = state.path() + ".out", err = state.path() + ".err";
  state.set(failure);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nor does it outlive a test that is ended
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    setenv(state_variable, state.path().c_str(), 1);
    setenv("LD_PRELOAD", FHD_FAILING_CALLS_LIBRARY, 1);
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    if (chdir(folder.c_str()) == 0 && freopen(out.c_str(), "w", stdout) && freopen(err.c_str(), "w", stderr))
      execv(arguments[0], arguments.data());
    _exit(127);
  }
  RunEnd end;
  const auto begin = std::chrono::steady_clock::now();
  while (waitpid(child, &end.status, WNOHANG) == 0) {
    usleep(1000);
    if (std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(limit_s)) continue;
    end.timed_out = true;
    kill(-child, SIGKILL);
    waitpid(child, &end.status, 0);
    break;
  }
  end.left_processes = goes_on_without_first(child);
  kill(-child, SIGKILL);
  end.out = bytes_of(out);
  end.err = bytes_of(err);
  return end;
}

}  // namespace fhd::tests
