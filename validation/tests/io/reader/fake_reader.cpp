// A reader process that came to harm or was taken over: it is asked for the text of a dataset and does what the environment
// variable FHD_FAKE says.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "io/files/input_memory.hpp"
#include "io/reader/confinement.hpp"
#include "io/reader/process.hpp"

namespace fhd::io::reader {
namespace {

void take(void* bytes, std::size_t count) {
  for (auto* to = static_cast<char*>(bytes); count > 0;) {
    const auto got = ::read(first_channel, to, count);
    if (got <= 0) _exit(0);
    to += got;
    count -= static_cast<std::size_t>(got);
  }
}

Opening opening;
std::string path;

template <class... T>
void send(const T&... values) {
  Output out([](const void* bytes, std::size_t count) {
    const auto put = [](const char* from, std::size_t left) { return ::write(first_channel, from, left); };
    move_all(static_cast<const char*>(bytes), count, put);
  });
  out(values...);
  out.flush();
}
template <class... T>
void answer(const T&... values) {
  send(Outcome::result, values...);
}

std::string errno_text(bool succeeded) { return succeeded ? "done" : std::strerror(errno); }

/// Answers with what `work` returns when the process is confined.
std::function<void()> confined(std::string (*work)()) {
  return [work] {
    confine({opening.memory_bytes, 1, opening.inputs, opening.outputs});
    answer(work());
  };
}

/// Answers with a summary that no scan has.
std::function<void()> absurd(void (*change)(ScanSummary&)) {
  return [change] {
    ScanSummary summary;
    summary.coil_count = 1;
    change(summary);
    answer(std::pair(summary, false));
  };
}

using Lives = std::map<std::string, std::function<void()>>;

const Lives harms{
    {"segfault", [] { raise(SIGSEGV); }},
    {"abort in an answer",
     [] {
       answer(std::uint64_t{100}, std::uint32_t{0});
       raise(SIGABRT);
     }},
    {"kill", [] { raise(SIGKILL); }},
    {"exit", [] { _exit(3); }},
    {"loop",
     [] {
       for (volatile unsigned turns = 0;;) turns = turns + 1;
     }},
    {"wait", [] {}},
    {"trickle",
     [] {
       answer(std::uint64_t{1} << 20);
       for (;; usleep(30000)) send(char{'x'});
     }},
    {"absurd length", [] { answer(std::uint64_t{1} << 62); }},
    {"large array",
     [] {
       static Array<double> values({3 << 20, 1});
       for (std::int64_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
       answer(values);
     }},
    {"long error", [] { send(Outcome::error, ErrorParts{.subject = std::string(1 << 20, 'x')}); }},
    {"no memory", [] { send(Outcome::error, ErrorParts{.kind = ErrorKind::out_of_memory}); }},
    {"other shape",
     [] {
       ImageSeries series;
       series.images.resize(1);
       series.images[0].geometry.matrix_size = {64, 64, 1};
       series.images[0].values = Array<Complex<float>>({1, 1, 2});
       answer(series);
     }},
    {"segfault of file.h5",
     [] {
       if (path.ends_with("file.h5")) raise(SIGSEGV);
       answer(std::string("well"));
     }},
};

const Lives absurdities{
    {"absurd slices", absurd([](ScanSummary& summary) { summary.slice_count = -1; })},
    {"absurd coils", absurd([](ScanSummary& summary) { summary.coil_count = 1 << 16; })},
    {"absurd volumes",
     absurd([](ScanSummary& summary) { summary.slice_count = summary.repetition_count = 1 << 20; })},
    {"absurd samples",
     absurd([](ScanSummary& summary) { summary.samples_per_scan = std::int64_t{1} << 62; })},
    {"absurd readouts", absurd([](ScanSummary& summary) { summary.readout_length = -2; })},
    {"absurd echo", absurd([](ScanSummary& summary) { summary.echo_times_s = {NAN}; })},
    {"absurd matrix", absurd([](ScanSummary& summary) { summary.geometry.matrix_size[1] = 4097; })},
    {"absurd FOV", absurd([](ScanSummary& summary) { summary.geometry.fov_mm[2] = 1e-300; })},
    {"absurd unit", absurd([](ScanSummary& summary) { summary.unit_geometry.fov_mm[0] = INFINITY; })},
};

const Lives confinements{
    {"open other", confined([] {
       const int own = open(path.c_str(), O_RDONLY);
       const int other = open((path.substr(0, path.rfind('/')) + "/other.h5").c_str(), O_RDONLY);
       return std::string(own >= 0 ? "own" : "none") + (other >= 0 ? " and other" : "");
     })},
    {"write", confined([] {
       return errno_text(open(path.c_str(), O_WRONLY) >= 0) + ", " +
              errno_text(open((path + ".new").c_str(), O_WRONLY | O_CREAT, 0600) >= 0);
     })},
    {"calls", confined([] {
       const pid_t copy = fork();
       if (copy == 0) _exit(0);
       const void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return errno_text(copy > 0) + ", " + errno_text(socket(AF_INET, SOCK_STREAM, 0) >= 0) + ", " +
              errno_text(code != MAP_FAILED) + ", " + errno_text(kill(getppid(), 0) == 0) + ", " +
              errno_text(fcntl(STDERR_FILENO, F_SETOWN, getppid()) == 0) + ", " +
              errno_text(fcntl(STDERR_FILENO, F_SETSIG, SIGKILL) == 0);
     })},
    {"memory", confined([] {
       const auto room = [](std::size_t bytes) {
         return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                MAP_FAILED;
       };
       const auto first = errno_text(room(std::size_t{100} << 20));
       return first + ", " + errno_text(room(std::size_t{200} << 20));
     })},
    {"thread", confined([] {
       std::string text;
       std::thread([&] { text = "from a thread"; }).join();
       return text;
     })},
    {"long copy",
     [] {
       const auto output = path + ".copy";
       constexpr std::uint64_t most = std::uint64_t{64} << 20;
       confine({most, 1, opening.inputs, {output}});
       const int file = open(output.c_str(), O_WRONLY | O_NOFOLLOW);
       const auto within = errno_text(ftruncate(file, most) == 0);
       answer(within + ", " + errno_text(ftruncate(file, most + 1) == 0));
     }},
};

}  // namespace
}  // namespace fhd::io::reader

int main() {
  using namespace fhd::io::reader;
  signal(SIGXFSZ, SIG_IGN);
  Input in("request", 1 << 20, take);
  std::uint32_t request = 0;
  in(opening, request, path);
  for (const auto* lives : {&harms, &absurdities, &confinements})
    if (const auto found = lives->find(std::getenv("FHD_FAKE")); found != lives->end()) found->second();
  for (char byte = 0;;) take(&byte, 1);
}
