#include "io/reader/copies.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace fhd::io::reader {
namespace {

using Numbers = std::array<int, channel_count>;

/// A message of one byte with descriptors.
struct Letter {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(Numbers))> attached{};
  msghdr message{nullptr, 0, &content, 1, attached.data(), attached.size(), 0};
};

void close_from(int first) { syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0); }

/// Puts the channels in their places and closes everything else but the standard streams.
void take_channels(const Numbers& received) {
  constexpr int end = first_channel + static_cast<int>(channel_count);
  for (std::size_t i = 0; i < channel_count; ++i) {
    const int above = fcntl(received[i], F_DUPFD, end);  // no target of another one
    if (above < 0 || dup2(above, first_channel + static_cast<int>(i)) < 0) _exit(1);
    close(above);
  }
  close_from(end);
}

}  // namespace

void send_request(const Descriptor& requests, const std::array<Descriptor, channel_count>& channels) {
  Numbers numbers;
  std::ranges::transform(channels, numbers.begin(), [](const Descriptor& each) { return each.get(); });
  Letter letter;
  cmsghdr* const head = CMSG_FIRSTHDR(&letter.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof numbers);
  std::memcpy(CMSG_DATA(head), numbers.data(), sizeof numbers);
  while (sendmsg(requests.get(), &letter.message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void become_copy() {
  close_from(first_channel + 1);  // whatever the program had open
  for (;;) {
    Letter letter;
    Numbers received;
    const auto got = recvmsg(first_channel, &letter.message, 0);
    if (got < 0 && errno == EINTR) continue;
    const cmsghdr* const head = CMSG_FIRSTHDR(&letter.message);
    if (got <= 0 || head == nullptr || head->cmsg_len != CMSG_LEN(sizeof received)) _exit(0);
    std::memcpy(received.data(), CMSG_DATA(head), sizeof received);
    // As fork() does, but the parent is that of the original.
    auto number = static_cast<pid_t>(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0));
    if (number == 0) return take_channels(received);
    if (number < 0) number = -errno;
    for (const int each : received) close(each);
    if (send(first_channel, &number, sizeof number, MSG_NOSIGNAL) != sizeof number) _exit(0);
  }
}

}  // namespace fhd::io::reader
