#include "app/server/messages.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace fhd::app {

// --- The connection

namespace {

std::string address_of_peer(int socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      address.sin_family != AF_INET)
    return "unknown";
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), ntohs(address.sin_port));
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

std::string in_seconds(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

}  // namespace

Connection::Connection(int socket, const ConnectionLimits& limits)
    : socket_(socket), limits_(limits), peer_(address_of_peer(socket)) {
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() { close(socket_); }

/// Waits for an event of the socket; returns false when the time is over.
bool Connection::wait(short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd one{socket_, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= until) return false;
    if (ready < 0 && errno != EINTR) throw ConnectionLost("the connection", "", std::strerror(errno));
  }
}

std::size_t Connection::receive(std::span<std::byte> bytes, const char* what) {
  for (;;) {
    if (stopped_) return 0;
    const auto count = recv(socket_, bytes.data(), bytes.size(), 0);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (!would_block(errno)) throw ConnectionLost("the connection", "", std::strerror(errno));
    if (!wait(POLLIN, read_until_))
      throw Error(what, "its bytes within " + in_seconds(limits_.idle), "silence",
                  "send it in time, or start the server with a longer --idle-timeout");
  }
}

bool Connection::begin_message(std::span<std::byte> bytes) {
  read_until_ = Clock::now() + limits_.idle;
  const auto count = receive(bytes, "the next message");
  if (count == 0) return false;
  read_until_ = Clock::now() + limits_.idle;
  read(bytes.subspan(count), "a message");
  return true;
}

void Connection::read(std::span<std::byte> bytes, const char* what) {
  const auto all = bytes.size();
  while (!bytes.empty()) {
    const auto count = receive(bytes, what);
    if (count == 0)
      throw Error(what, fmt::format("{} more bytes of this part", bytes.size()),
                  fmt::format("the end of the stream after {}", all - bytes.size()));
    bytes = bytes.subspan(count);
  }
}

void Connection::write(std::string_view bytes) {
  auto until = Clock::now() + limits_.write;
  while (!bytes.empty()) {
    const auto count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      until = Clock::now() + limits_.write;
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (!would_block(errno)) throw ConnectionLost("the connection", "", std::strerror(errno));
    if (!wait(POLLOUT, until))
      throw ConnectionLost("the client", "to read what it is sent within " + in_seconds(limits_.write),
                           fmt::format("{} bytes that it left", bytes.size()));
  }
}

void Connection::stop_reading() {
  stopped_ = true;
  shutdown(socket_, SHUT_RD);
}

bool Connection::is_lost() {
  pollfd one{socket_, 0, 0};
  if (poll(&one, 1, 0) <= 0) return false;
  int error = 0;
  socklen_t length = sizeof error;
  const bool failed = getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0;
  if (failed || (one.revents & POLLERR) != 0) return true;
  // POLLHUP alone: both directions are shut, by us too, where reading was stopped.
  return !stopped_ && (one.revents & POLLHUP) != 0;
}

/// Reads what still comes, for a moment: a socket that is closed with bytes unread resets the connection, and the other side
/// would lose what it has not read.
void Connection::finish() {
  shutdown(socket_, SHUT_WR);
  const auto until = Clock::now() + std::chrono::seconds(1);
  std::array<std::byte, 65536> rest;
  for (;;) {
    const auto count = recv(socket_, rest.data(), rest.size(), 0);
    if (count == 0 || (count < 0 && !would_block(errno)) || Clock::now() >= until) return;
    if (count < 0 && !wait(POLLIN, until)) return;
  }
}

// --- Messages

std::string text_message(const std::string& text) {
  std::string bytes;
  append(bytes, MessageId::text);
  append(bytes, static_cast<std::uint32_t>(text.size()));
  return bytes + text;
}

std::string close_message() {
  std::string bytes;
  append(bytes, MessageId::close);
  return bytes;
}

}  // namespace fhd::app
