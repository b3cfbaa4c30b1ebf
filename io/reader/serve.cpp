// The reader process: answers requests by reading files.
#include <malloc.h>
#include <omp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>

#include "io/files/input_memory.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/reader/confinement.hpp"
#include "io/reader/process.hpp"
#include "io/reader/reader.hpp"
#include "io/reader/readers.hpp"
#include "recon/array/equality.hpp"
#include "recon/error.hpp"

namespace fhd::io::reader {
namespace {

/// Thrown when the program that asks has closed its end.
struct EndOfRequests {};

/// Sends the result of `work`, or why there is none.
template <class Work>
void answer(Output& out, Work work) {
  auto outcome = Outcome::failure;
  ErrorParts why;
  try {
    const auto result = work();
    out(Outcome::result, result);
    return out.flush();
  } catch (const Error& error) {
    why = error.parts();
    outcome = Outcome::error;
  } catch (const std::bad_alloc&) {
    why.kind = ErrorKind::out_of_memory;
  } catch (const std::system_error& error) {
    why.found = error.what();
    if (error.code() ==
        std::errc::resource_unavailable_try_again) {  // no thread, through no fault of the file
      why.subject = "reading: another thread";
      why.remedy = "raise the limits of the system (ulimit -u, -v)";
      outcome = Outcome::error;
    }
  } catch (const std::exception& error) {
    why.found = error.what();
  }
  out(outcome, why);
  out.flush();
}

int socket_of(std::size_t channel) { return first_channel + static_cast<int>(channel); }

class FileServer {
 public:
  void run() {
    Input in = requests_of(0);
    Opening opening;
    in(opening);
    threads_ = opening.threads;
    set_input_memory(opening.memory_bytes);
    static_cast<void>(!chdir(opening.folder.c_str()));
    omp_set_num_threads(threads_);  // LLVM's OpenMP opens files when it begins
    try {
      confine({opening.memory_bytes, static_cast<int>(channel_count) * (1 + threads_), opening.inputs,
               opening.outputs});
    } catch (const Error& error) {
      refusal_ = error;
    }
    serve(0);
  }

 private:
  static Input requests_of(std::size_t channel) {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // they come from the program
    return {"request", most_bytes, [socket = socket_of(channel)](void* bytes, std::size_t count) {
              const auto get = [socket](char* to, std::size_t left) { return ::read(socket, to, left); };
              if (!move_all(static_cast<char*>(bytes), count, get)) throw EndOfRequests();
            }};
  }

  void serve(std::size_t channel) {
    omp_set_num_threads(threads_);
    Input in = requests_of(channel);
    Output out([socket = socket_of(channel)](const void* bytes, std::size_t count) {
      const auto put = [socket](const char* from, std::size_t left) { return ::write(socket, from, left); };
      if (!move_all(static_cast<const char*>(bytes), count, put)) throw EndOfRequests();
    });
    for (;;) {
      std::uint32_t request = 0;
      in(request);
      if (refusal_)
        answer(out, [&]() -> bool { throw *refusal_; });
      else if (request == request_open_scan)
        open(in, out);
      else if (request == request_volume)
        volume(in, out);
      else
        Readers::call(request, [&](auto reader) { call(reader, in, out); });
    }
  }

  template <class Result, class... Arguments>
  static void call(Result (*reader)(Arguments...), Input& in, Output& out) {
    std::tuple<std::remove_cvref_t<Arguments>...> arguments;
    std::apply([&](auto&... each) { in(each...); }, arguments);
    answer(out, [&] { return std::apply(reader, arguments); });
  }

  void open(Input& in, Output& out) {
    std::string path;
    ReadOptions options;
    in(path, options);
    answer(out, [&] {
      file_ = open_scan_here(path, options);
      const bool side_by_side = file_->reads_concurrently();
      for (std::size_t channel = 1; side_by_side && channel < channel_count; ++channel)
        std::thread([this, channel] {
          try {
            serve(channel);
          } catch (const EndOfRequests&) {
          }
        }).detach();
      return std::pair(file_->summary(), side_by_side);
    });
  }

  void volume(Input& in, Output& out) {
    std::int64_t slice = 0, repetition = 0;
    std::uint64_t known = 0;
    in(slice, repetition, known);
    // The program validates what it gets, as it does not trust this process.
    answer(out, [&] {
      return without_known_sampling(file_->read(slice, repetition, ValidatedBy::caller), known);
    });
  }

  /// Numbers the positions and times of a volume, and leaves out those that the program knows. Those of a single volume have
  /// no number: nobody keeps them.
  VolumeAnswer without_known_sampling(Scan scan, std::uint64_t known) {
    if (file_->summary().slice_count * file_->summary().repetition_count == 1) return {std::move(scan), 0};
    const auto last = std::atomic_load(&sampling_);
    const auto are_last_times = [&] {
      return scan.sample_time_s ? last->times_s && are_equal(*scan.sample_time_s, *last->times_s)
                                : !last->times_s;
    };
    if (!last || !are_equal(scan.trajectory.k, last->k) || !are_last_times()) {
      const auto own = std::make_shared<const Sampling>(
          Sampling{++sampling_count_, scan.trajectory.k, scan.sample_time_s});
      std::atomic_store(&sampling_, own);
      return {std::move(scan), own->number};
    }
    if (last->number == known) {
      scan.trajectory.k = {};
      scan.sample_time_s.reset();
    }
    return {std::move(scan), last->number};
  }

  int threads_ = 1;
  std::optional<Error> refusal_;  ///< why the process could not be confined
  std::unique_ptr<ScanFile> file_;
  std::shared_ptr<const Sampling> sampling_;  ///< of the last volume that had others than the one before
  std::atomic<std::uint64_t> sampling_count_ = 0;
};

/// Ends this process with the program, also in the middle of a file that keeps it busy for ever.
void end_with_program() {
  pollfd program{first_channel, POLLRDHUP, 0};
  while (::poll(&program, 1, -1) <= 0) {
  }
  _exit(0);
}

}  // namespace

int serve() {
  prctl(PR_SET_NAME, "fhd: reader");
  // The terminal sends Ctrl-C to both processes; the program decides what happens.
  for (const int number : {SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
  constexpr auto first_other = first_channel + static_cast<unsigned>(channel_count);
  syscall(SYS_close_range, first_other, ~0U, 0);  // whatever the program had open
  // Memory of one volume is used again for the next one: the system need not clear it anew.
  constexpr int kept_bytes = 1 << 26;
  mallopt(M_MMAP_THRESHOLD, kept_bytes / 2);
  mallopt(M_TRIM_THRESHOLD, kept_bytes);
  try {
    std::thread(end_with_program).detach();
    hdf5::be_silent();  // begins the library ahead of the first file
    FileServer().run();
  } catch (const EndOfRequests&) {
  } catch (const std::exception&) {  // a request that is none, or no memory
    return 1;
  }
  _exit(0);  // while other channels may still be served
}

}  // namespace fhd::io::reader
