// The life of a process that reads one file.
#include <omp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>

#include "io/reader/confinement.hpp"
#include "io/reader/process.hpp"
#include "io/reader/readers.hpp"
#include "io/files/input_memory.hpp"
#include "recon/error.hpp"

namespace fhd::io::guard {
namespace {

/// Nobody asks any more.
struct EndOfRequests {};

void read_request(int socket, void* bytes, std::size_t count) {
  for (auto* next = static_cast<char*>(bytes); count > 0;) {
    const auto got = ::read(socket, next, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw EndOfRequests();
    next += got;
    count -= static_cast<std::size_t>(got);
  }
}

void write_answer(int pipe, const void* bytes, std::size_t count) {
  for (const auto* next = static_cast<const char*>(bytes); count > 0;) {
    const auto put = ::write(pipe, next, count);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw EndOfRequests();
    next += put;
    count -= static_cast<std::size_t>(put);
  }
}

/// As this program says it (recon/array/memory.cpp), HDF5, or the system.
bool tells_of_memory(std::string_view text) {
  for (const std::string_view words :
       {"could not be allocated", "allocation failed", "Cannot allocate memory"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

void wait_until_taken(Input& in) {
  char taken = 0;
  in(taken);
}

/// What `work` gives, or why not. What it gives stays where it is until who asked has its copy.
template <class Work>
void answer(Input& in, Output& out, Work work) {
  auto outcome = Outcome::failure;
  std::string text;
  try {
    const auto result = work();
    out(Outcome::result, result);
    out.flush();
    return wait_until_taken(in);
  } catch (const Error& error) {
    text = error.what();
    outcome = tells_of_memory(text) ? Outcome::out_of_memory : Outcome::error;
  } catch (const std::bad_alloc&) {
    outcome = Outcome::out_of_memory;
  } catch (const std::system_error& error) {
    text = error.what();
    if (error.code() ==
        std::errc::resource_unavailable_try_again) {  // no thread, through no fault of the file
      text = "reading: another thread: " + text + "; raise the limits of the system (ulimit -u, -v)";
      outcome = Outcome::error;
    }
  } catch (const std::exception& error) {
    text = error.what();
  }
  out(outcome, text);
  out.flush();
  wait_until_taken(in);
}

class FileServer {
 public:
  FileServer(const ChannelEnds* channels, std::size_t count) : channels_(channels), count_(count) {}

  void run() {
    Input in = requests_of(0);
    Opening opening;
    in(opening);
    threads_ = opening.threads;
    lends_ = opening.lends;
    set_input_memory(opening.memory_bytes);
    static_cast<void>(!chdir(opening.folder.c_str()));
    omp_set_num_threads(threads_);  // LLVM's OpenMP opens files of its own where it begins
    try {
      confine(
          {opening.memory_bytes, static_cast<int>(count_) * (1 + threads_), opening.inputs, opening.outputs});
    } catch (const Error& error) {
      refusal_ = error.what();
    }
    serve(0);
  }

 private:
  Input requests_of(std::size_t channel) const {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // they come from the program
    return {"request", most_bytes, [socket = channels_[channel].requests](void* bytes, std::size_t count) {
              read_request(socket, bytes, count);
            }};
  }

  void serve(std::size_t channel) {
    omp_set_num_threads(threads_);
    Input in = requests_of(channel);
    Output out([pipe = channels_[channel].answers](const void* bytes,
                                                   std::size_t count) { write_answer(pipe, bytes, count); },
               lends_);
    for (;;) {
      std::uint32_t request = 0;
      in(request);
      if (!refusal_.empty())
        answer(in, out, [&]() -> bool { throw Error(refusal_, "", ""); });
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
    answer(in, out, [&] { return std::apply(reader, arguments); });
  }

  void open(Input& in, Output& out) {
    std::string path;
    ReadOptions options;
    in(path, options);
    answer(in, out, [&] {
      file_ = open_scan_here(path, options);
      const bool side_by_side = file_->reads_concurrently();
      for (std::size_t channel = 1; side_by_side && channel < count_; ++channel)
        std::thread([this, channel] { serve_until_the_end(channel); }).detach();
      return std::pair(file_->summary(), side_by_side);
    });
  }

  void volume(Input& in, Output& out) {
    std::int64_t slice = 0, repetition = 0;
    in(slice, repetition);
    answer(in, out, [&] { return file_->read(slice, repetition); });
  }

  void serve_until_the_end(std::size_t channel) {
    try {
      serve(channel);
    } catch (const EndOfRequests&) {  // of all of them
    }
  }

  const ChannelEnds* channels_;
  std::size_t count_;
  int threads_ = 1;
  bool lends_ = false;
  std::string refusal_;
  std::unique_ptr<ScanFile> file_;
};

}  // namespace

void serve_requests(const ChannelEnds* channels, std::size_t count) {
  FileServer server(channels, count);
  try {
    server.run();
  } catch (const EndOfRequests&) {
  } catch (const std::exception&) {  // a request that is none
  }
}

}  // namespace fhd::io::guard
