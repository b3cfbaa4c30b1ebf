#pragma once
// The program's side of a reader process.
#include <sys/types.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/files/descriptor.hpp"
#include "io/reader/archive.hpp"
#include "io/reader/limits.hpp"

namespace fhd::io::reader {

/// The files of a reader process.
struct Task {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs{};  ///< files that it may write
  std::string subject{};               ///< what errors name; empty: the first input
};

/// The first word of an answer.
enum class Outcome : std::uint32_t { result, error, failure };

/// Requests that are no functions of Readers (readers.hpp).
inline constexpr std::uint32_t most_readers = 1000, request_open_scan = 1001, request_volume = 1002;

/// A reader process has one socket for each thread that may ask at the same time, from this descriptor on.
inline constexpr std::size_t channel_count = 8;
inline constexpr int first_channel = 3;

/// The first message to a process.
struct Opening {
  std::string folder;  ///< the working directory
  std::uint64_t memory_bytes = 0;
  std::int32_t threads = 1;
  std::vector<std::string> inputs, outputs;
};
FHD_MEMBERS(Opening, folder, memory_bytes, threads, inputs, outputs)

/// A volume as a process answers it. Most volumes of a series have the positions and times of samples of the one before:
/// these pass between the processes once.
struct VolumeAnswer {
  Scan scan;  ///< without positions and times, where they are those of the number that the request states
  std::uint64_t sampling = 0;  ///< the number of its positions and times; 0: none, as nobody keeps them
};
FHD_MEMBERS(VolumeAnswer, scan, sampling)

/// Positions and times of samples with the number that stands for them.
struct Sampling {
  std::uint64_t number = 0;
  Array<double> k;
  std::optional<Array<double>> times_s;
};

/// A process that was started and has no file yet.
struct StartedProcess {
  pid_t number = 0;
  std::array<Descriptor, channel_count> channels;
};
/// Starts the program at `path`. Throws Error.
StartedProcess start_process(const std::string& path);
/// Kills a process and waits for its end. Returns its status as waitpid does; empty: somebody else has waited for it.
std::optional<int> end_process(pid_t number);
/// Returns a process for a file: the one that was started ahead, or a new one. Throws Error.
StartedProcess take_process();

/// Asks a process of its own. Failures of it, and answers that are none, are Error. As many threads as there are channels may
/// ask at the same time.
class ReaderProcess {
 public:
  explicit ReaderProcess(Task task);
  /// Ends the process.
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  template <class Result, class... Arguments>
  Result ask(std::uint32_t number, const Arguments&... arguments) {
    Request request(*this);
    Output out([&](const void* bytes, std::size_t count) { send(request, bytes, count); });
    out(number, arguments...);
    out.flush();
    Input in(subject_, allowance_.memory_bytes,
             [&](void* bytes, std::size_t count) { receive(request, bytes, count); });
    Outcome outcome{};
    Result result;
    ErrorParts why;
    in(outcome);
    outcome == Outcome::result ? in(result) : in(why);
    request.is_whole = true;
    if (outcome != Outcome::result) fail(outcome, std::move(why));
    return result;
  }

 private:
  struct Channel {
    Descriptor socket;
    bool is_free = true;
  };
  /// Occupies one channel. A process whose answer was not taken to its end is of no more use: it is ended.
  struct Request {
    explicit Request(ReaderProcess& process);
    ~Request();
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
    ReaderProcess& process;
    Channel& channel;
    double processor_s = 0;             ///< of the process, at the beginning
    double looked_s = 0, waited_s = 0;  ///< by the clock: at the last look, and in all
    std::ptrdiff_t most_busy = 1;       ///< channels at the same time
    bool is_whole = false;
  };

  void send_opening();
  void send(Request& request, const void* bytes, std::size_t count);
  void receive(Request& request, void* bytes, std::size_t count);
  void require_time(Request& request);
  double processor_seconds() const;
  void end();
  [[noreturn]] void fail(Outcome outcome, ErrorParts why) const;
  [[noreturn]] void fail_by_end();

  Task task_;
  std::string subject_;
  Allowance allowance_;
  pid_t process_ = 0;
  std::mutex mutex_;  ///< of all that follows
  std::condition_variable freed_;
  std::array<Channel, channel_count> channels_;
  bool has_ended_ = false;
  std::optional<int> status_;  ///< as waitpid says, once it has ended
  std::string end_cause_;      ///< why it was ended from here
};

}  // namespace fhd::io::reader
