#pragma once
// A process that reads one file, as it is seen from here.
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/reader/archive.hpp"
#include "io/reader/host.hpp"
#include "io/reader/limits.hpp"

namespace fhd::io::guard {

/// What a process is for.
struct Task {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs{};  ///< files that it may write
  std::string subject{};               ///< what errors name; empty: the first input
};

/// How an answer begins.
enum class Outcome : std::uint32_t { result, error, out_of_memory, failure };

/// Numbers of requests beyond those of readers.hpp.
inline constexpr std::uint32_t most_readers = 1000, request_open_scan = 1001, request_volume = 1002;

/// What the process is told first.
struct Opening {
  std::string folder;  ///< the working directory
  std::uint64_t memory_bytes = 0;
  std::int32_t threads = 1;
  bool lends = false;  ///< large arrays are copied from its memory (Output)
  std::vector<std::string> inputs, outputs;
};
auto members(Of<Opening> auto& value) {
  auto& [folder, memory_bytes, threads, lends, inputs, outputs] = value;
  return std::tie(folder, memory_bytes, threads, lends, inputs, outputs);
}

/// Errors, and answers that are none, are Error. Threads may ask at once, as many as there are channels.
class ReaderProcess {
 public:
  ReaderProcess(Task task, std::size_t channel_count);
  /// Ends the process.
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  template <class Result, class... Arguments>
  Result ask(std::uint32_t request, const Arguments&... arguments) {
    Turn turn(*this);
    Output out([&](const void* bytes, std::size_t count) { send(turn, bytes, count); });
    out(request, arguments...);
    out.flush();
    Input in(
        subject_, allowance_.memory_bytes,
        [&](void* bytes, std::size_t count) { receive(turn, bytes, count); },
        [&](std::uint64_t address, void* to, std::size_t count) {
          return copy_memory(turn, address, to, count);
        });
    Outcome outcome{};
    in(outcome);
    if (outcome != Outcome::result) {
      std::string text;
      in(text);
      confirm(turn);
      turn.is_whole = true;
      fail(outcome, text);
    }
    Result result;
    in(result);
    confirm(turn);
    turn.is_whole = true;
    return result;
  }

 private:
  struct Channel {
    int requests = -1, answers = -1;
    bool is_free = true;
  };
  /// One channel for one question. What ends before its answer is whole leaves a process that is of no more use.
  struct Turn {
    explicit Turn(ReaderProcess& process);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ReaderProcess& process;
    Channel& channel;
    double processor_s = 0;             ///< of the process, when it began
    double looked_s = 0, waited_s = 0;  ///< by the clock: at the last look, and in all
    std::ptrdiff_t most_busy = 1;       ///< channels, meanwhile
    bool is_whole = false;
  };

  void open(std::size_t channel_count);
  void tell_opening();
  void send(Turn& turn, const void* bytes, std::size_t count);
  void receive(Turn& turn, void* bytes, std::size_t count);
  void confirm(Turn& turn);
  bool can_copy_memory();
  bool copy_memory(Turn& turn, std::uint64_t address, void* to, std::size_t count);
  void require_time(Turn& turn);
  double processor_seconds();
  enum class News { start, end };
  void hear_news(int wait_ms, News awaited = News::end);
  void end();
  void close_channels();
  [[noreturn]] void fail(Outcome outcome, const std::string& text) const;
  [[noreturn]] void fail_by_end();

  Task task_;
  std::string subject_;
  Allowance allowance_;
  std::mutex mutex_;  ///< of all that follows
  std::condition_variable freed_;
  std::vector<Channel> channels_;
  int news_ = -1;
  pid_t process_ = 0;  ///< does not change after the constructor
  std::optional<int> end_status_;
  std::string end_cause_;  ///< why it was ended from here
};

}  // namespace fhd::io::guard
