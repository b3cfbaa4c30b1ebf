#include "app/server/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "app/terminal/console.hpp"

namespace fhd::app {

Server::Server(const std::string& host, int port, int most_sessions, const SessionLimits& limits,
               const SessionServices& services)
    : most_sessions_(static_cast<std::size_t>(most_sessions)), limits_(limits), services_(services) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    throw Error("--host", "an IPv4 address such as 127.0.0.1", "'" + host + "'");
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  socklen_t length = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(socket_, where, sizeof address) != 0 || listen(socket_, 64) != 0 ||
      getsockname(socket_, where, &length) != 0) {
    const std::string why = std::strerror(errno);
    if (socket_ >= 0) close(socket_);
    throw Error(fmt::format("{}:{}", host, port), "a port to listen at", why, "choose another with --port");
  }
  port_ = ntohs(address.sin_port);
}

Server::~Server() {
  for (auto& one : sessions_) one.session->stop();
  for (auto& one : sessions_) one.thread.join();
  close(socket_);
}

bool Server::run(int stop, std::chrono::milliseconds grace) {
  for (;;) {
    std::array<pollfd, 2> both{{{socket_, POLLIN, 0}, {stop, POLLIN, 0}}};
    if (poll(both.data(), both.size(), 1000) < 0 && errno != EINTR)
      throw Error("waiting for connections", "", std::strerror(errno));
    join_ended();
    if ((both[1].revents & POLLIN) != 0) break;
    if ((both[0].revents & POLLIN) != 0) accept_one();
  }
  for (auto& one : sessions_) one.session->stop();
  const auto until = std::chrono::steady_clock::now() + grace;
  while (!sessions_.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    join_ended();
  }
  return sessions_.empty();
}

void Server::join_ended() {
  const auto before = sessions_.size();
  for (auto one = sessions_.begin(); one != sessions_.end();) {
    const auto next = std::next(one);
    if (one->is_over) {
      one->thread.join();
      sessions_.erase(one);
    }
    one = next;
  }
  // Each thread has heaps of its own, which keep what was freed; with many sessions that would add up.
  if (sessions_.size() < before) malloc_trim(0);
}

void Server::accept_one() {
  const int socket = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      print_error(std::string("a connection is not taken: ") + std::strerror(errno));
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return;
  }
  if (sessions_.size() >= most_sessions_) return refuse(socket);
  try {
    auto& one = sessions_.emplace_back();
    one.session = std::make_unique<Session>(socket, ++accepted_, limits_, services_);
    one.thread = std::thread([&one] {
      one.session->run();
      one.is_over = true;
    });
  } catch (const std::exception& error) {  // no thread
    sessions_.pop_back();
    print_error(std::string("a connection is not taken: ") + error.what());
  }
}

/// Sends as much as the connection takes at once: nobody waits for a client here.
void Server::refuse(int socket) const {
  const auto line =
      fmt::format("error: the server has {} sessions, as many as it takes (--max-sessions); come again later",
                  most_sessions_);
  auto bytes = text_message(line);
  append_all(bytes, close_message());
  static_cast<void>(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(socket, SHUT_WR);
  close(socket);
  print_error("a connection is refused: " + line.substr(7));
}

}  // namespace fhd::app
