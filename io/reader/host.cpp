#include "io/reader/host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "io/reader/confinement.hpp"
#include "io/reader/end_of_memory.hpp"
#include "io/reader/sanitizer.hpp"
#include "io/hdf5/hdf5.hpp"

namespace fhd::io::guard {
namespace {

constexpr std::size_t ends_of_channel = 2, most_descriptors = 1 + ends_of_channel * most_channels;

struct Process {
  pid_t number;
  int news;  ///< socket
};

/// One message with descriptors. Returns how many came; negative: the other end is closed.
int receive(int socket, std::array<int, most_descriptors>& descriptors) {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * most_descriptors)];
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t bytes = 0;
  while ((bytes = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (bytes <= 0) return -1;
  int count = 0;
  for (auto* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part))
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
      count = static_cast<int>((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(descriptors.data(), CMSG_DATA(part), static_cast<std::size_t>(count) * sizeof(int));
    }
  return count;
}

void send_news(int socket, const ProcessNews& news) { send(socket, &news, sizeof news, MSG_NOSIGNAL); }

/// Nothing of the caller's stays open but what is said: a pipe that is held here would never end.
void keep_only(std::vector<int> descriptors) {
  const auto close_all = [](int first, unsigned last) {
    if (syscall(SYS_close_range, static_cast<unsigned>(first), last, 0) == 0) return;
    const auto most = static_cast<unsigned>(sysconf(_SC_OPEN_MAX));  // Linux before 5.9
    for (auto each = static_cast<unsigned>(first); each <= std::min(last, most); ++each)
      close(static_cast<int>(each));
  };
  std::sort(descriptors.begin(), descriptors.end());
  int first = STDERR_FILENO + 1;
  for (const int descriptor : descriptors) {
    if (descriptor > first) close_all(first, static_cast<unsigned>(descriptor - 1));
    first = descriptor + 1;
  }
  close_all(first, ~0u);
}

void mask(int how, int signal_number) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, signal_number);
  sigprocmask(how, &signals, nullptr);
}

void silence() {
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  if constexpr (FHD_HAS_SANITIZER == 0) dup2(nowhere, STDERR_FILENO);  // what it finds is for us
  close(nowhere);
}

class Host {
 public:
  Host(int socket, pid_t asker, void (*serve)(const ChannelEnds*, std::size_t))
      : socket_(socket), asker_(asker), serve_(serve) {}

  /// Returns when the program has gone. SIGCHLD, which is blocked, comes while this waits and at no other time.
  void run() {
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
      std::vector<pollfd> waiting{{socket_, POLLIN, 0}};
      for (const auto& process : processes_) waiting.push_back({process.news, POLLIN, 0});
      const int found = ppoll(waiting.data(), waiting.size(), nullptr, &none);
      if (found < 0 && errno != EINTR) return;
      reap();
      if (found <= 0) continue;
      for (std::size_t i = 1; i < waiting.size(); ++i)
        if (waiting[i].revents != 0) end(waiting[i].fd);
      if (waiting[0].revents != 0 && !start()) return;
    }
  }
  void end_all() {
    for (const auto& process : processes_) kill(process.number, SIGKILL);
    for (const auto& process : processes_)
      while (waitpid(process.number, nullptr, 0) < 0 && errno == EINTR) {
      }
  }

 private:
  bool start() {
    std::array<int, most_descriptors> descriptors{};
    const int count = receive(socket_, descriptors);
    if (count < 0) return false;
    if (count > static_cast<int>(ends_of_channel))
      start(descriptors[0], &descriptors[1], static_cast<std::size_t>(count - 1) / ends_of_channel);
    const bool keeps_news = count > static_cast<int>(ends_of_channel);
    for (int i = keeps_news ? 1 : 0; i < count; ++i) close(descriptors[static_cast<std::size_t>(i)]);
    return true;
  }
  void start(int news, const int* ends, std::size_t channel_count) {
    const pid_t host = getpid(), process = fork();
    if (process == 0) try {
        live(host, ends, channel_count);
        _exit(0);
      } catch (...) {  // memory that runs out: nobody here could do with the copy
        _exit(1);
      }
    if (process > 0) {
      send_news(news, {ProcessNews::What::started, process, 0});
      processes_.push_back({process, news});
    } else {
      send_news(news, {ProcessNews::What::ended, 0, -errno});
      close(news);
    }
  }
  /// Of the copy.
  void live(pid_t host, const int* ends, std::size_t channel_count) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != host) return;
    prctl(PR_SET_PTRACER, asker_);  // of kernels that otherwise keep memory from all but ancestors
    std::array<ChannelEnds, most_channels> channels{};
    std::vector<int> kept;
    for (std::size_t i = 0; i < channel_count; ++i) {
      const int* const own = ends + ends_of_channel * i;
      channels[i] = {own[0], own[1]};
      kept.insert(kept.end(), own, own + ends_of_channel);
    }
    keep_only(std::move(kept));
    std::signal(SIGCHLD, SIG_DFL);
    mask(SIG_UNBLOCK, SIGCHLD);
    serve_(channels.data(), channel_count);
  }
  /// Nobody waits for its answers any more.
  void end(int news) {
    for (auto& process : processes_)
      if (process.news == news) {
        kill(process.number, SIGKILL);
        int status = 0;
        while (waitpid(process.number, &status, 0) < 0 && errno == EINTR) {
        }
        close(news);
        process.news = -1;
      }
    std::erase_if(processes_, [](const auto& process) { return process.news < 0; });
  }
  void reap() {
    for (auto& process : processes_) {
      int status = 0;
      if (waitpid(process.number, &status, WNOHANG) != process.number) continue;
      send_news(process.news, {ProcessNews::What::ended, process.number, status});
      close(process.news);
      process.news = -1;
    }
    std::erase_if(processes_, [](const auto& process) { return process.news < 0; });
  }

  int socket_;
  pid_t asker_;
  void (*serve_)(const ChannelEnds*, std::size_t);
  std::vector<Process> processes_;
};

void host_until_the_end(int socket, pid_t asker, void (*serve)(const ChannelEnds*, std::size_t)) {
  prctl(PR_SET_NAME, "fhd: reader");
  // The program decides what happens on Ctrl-C, which the terminal sends to both; its end is the end of this.
  for (const int number : {SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  keep_only({socket});
  silence();
  mask(SIG_BLOCK, SIGCHLD);
  struct sigaction on_end {};
  on_end.sa_handler = [](int) {};  // it only ends the waiting
  on_end.sa_flags = SA_NOCLDSTOP;
  sigaction(SIGCHLD, &on_end, nullptr);
  end_of_memory = [] { _exit(status_without_memory); };  // of those that it starts, too
  hdf5::be_silent();                                     // begins the library, once for all processes
  Host host(socket, asker, serve);
  host.run();
  host.end_all();
}

}  // namespace

void be_host(int socket, pid_t asker, void (*serve)(const ChannelEnds*, std::size_t)) {
  try {
    host_until_the_end(socket, asker, serve);
  } catch (...) {  // memory that runs out: files are refused then
    _exit(1);
  }
  _exit(0);
}

int ask_for_process(int socket, const ChannelEnds* channels, std::size_t count) {
  int news[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, news) != 0) return -1;
  std::array<int, most_descriptors> descriptors{news[1]};
  for (std::size_t i = 0; i < count; ++i) {
    auto* const own = &descriptors[1 + ends_of_channel * i];
    own[0] = channels[i].requests;
    own[1] = channels[i].answers;
  }
  const std::size_t number = 1 + ends_of_channel * count, bytes = number * sizeof(int);
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * most_descriptors)]{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = CMSG_SPACE(bytes);
  auto* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(part), descriptors.data(), bytes);
  ssize_t sent = 0;
  while ((sent = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  const int error = errno;
  close(news[1]);
  if (sent > 0) return news[0];
  close(news[0]);
  errno = error;
  return -1;
}

}  // namespace fhd::io::guard
