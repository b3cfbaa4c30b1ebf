#include "app/server/messages.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ismrmrd/ismrmrd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
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

namespace {

static_assert(std::endian::native == std::endian::little, "numbers of the stream are little-endian");
static_assert(sizeof(ISMRMRD::ISMRMRD_AcquisitionHeader) == 340);

template <class T>
T number_from(Connection& connection, const char* what) {
  std::array<std::byte, sizeof(T)> bytes;
  connection.read(bytes, what);
  return std::bit_cast<T>(bytes);
}

/// Reads `count` numbers. Memory grows as they come: a long message costs its sender as much.
template <class Container>
Container numbers_from(Connection& connection, std::size_t count, const char* what) {
  using T = typename Container::value_type;
  constexpr std::size_t at_once = (std::size_t{1} << 20) / sizeof(T);
  Container numbers;
  while (numbers.size() < count) {
    const auto before = numbers.size(), more = std::min(at_once, count - before);
    if (numbers.capacity() < before + more)
      numbers.reserve(std::min(count, std::max(before + more, 2 * before)));
    numbers.resize(before + more);
    connection.read(std::as_writable_bytes(std::span(numbers).subspan(before)), what);
  }
  return numbers;
}

std::string text_from(Connection& connection, std::size_t most, const char* what) {
  const auto length = number_from<std::uint32_t>(connection, what);
  if (length > most)
    throw Error(what, fmt::format("at most {} bytes", most), fmt::format("a length of {}", length));
  auto text = numbers_from<std::string>(connection, length, what);
  text.resize(std::min(text.size(), text.find('\0')));  // some clients send the end of a C string, too
  return text;
}

/// Copies runs of members between which nothing is left out: the struct is packed to two bytes, so that none may be referred
/// to.
io::mrd::ReadoutHead unpacked(
    const std::array<std::byte, sizeof(ISMRMRD::ISMRMRD_AcquisitionHeader)>& packed) {
  using To = io::mrd::ReadoutHead;
  using From = ISMRMRD::ISMRMRD_AcquisitionHeader;
  To head{};
#define FHD_COPY(first, last)                                                       \
  static_assert(offsetof(To, last) + sizeof(To::last) - offsetof(To, first) ==      \
                offsetof(From, last) + sizeof(From::last) - offsetof(From, first)); \
  std::memcpy(reinterpret_cast<std::byte*>(&head) + offsetof(To, first),            \
              packed.data() + offsetof(From, first),                                \
              offsetof(To, last) + sizeof(To::last) - offsetof(To, first))
  FHD_COPY(version, version);
  FHD_COPY(flags, active_channels);
  FHD_COPY(channel_mask, trajectory_dimensions);
  FHD_COPY(sample_time_us, idx);
  FHD_COPY(user_int, user_float);
#undef FHD_COPY
  return head;
}

io::mrd::OwnedReadout acquisition_from(Connection& connection, std::size_t most_bytes) {
  constexpr auto what = "an acquisition";
  constexpr int most_channels = 1024;  // the channel mask of a head has room for as many
  constexpr int most_dimensions = 4;   // three axes and a weight
  most_bytes = std::min(most_bytes, std::size_t{1} << 28);
  io::mrd::OwnedReadout readout;
  std::array<std::byte, sizeof(ISMRMRD::ISMRMRD_AcquisitionHeader)> packed;
  connection.read(packed, what);
  readout.head = unpacked(packed);
  const auto& head = readout.head;
  if (head.active_channels > most_channels)
    throw Error(what, fmt::format("at most {} channels", most_channels),
                std::to_string(head.active_channels));
  if (head.trajectory_dimensions > most_dimensions)
    throw Error(what, fmt::format("at most {} trajectory dimensions", most_dimensions),
                std::to_string(head.trajectory_dimensions));
  const std::size_t samples = head.number_of_samples, positions = samples * head.trajectory_dimensions,
                    values = 2 * samples * head.active_channels;
  if ((positions + values) * sizeof(float) > most_bytes)
    throw Error(what, fmt::format("at most {} bytes", most_bytes),
                fmt::format("{} samples of {} channels", samples, head.active_channels));
  readout.trajectory =
      numbers_from<std::vector<float>>(connection, positions, "the trajectory of an acquisition");
  readout.values = numbers_from<std::vector<float>>(connection, values, "the values of an acquisition");
  return readout;
}

void skip_waveform(Connection& connection) {
  constexpr std::size_t most_bytes = 1 << 26;
  constexpr auto what = "a waveform";
  std::array<std::byte, 40> head;
  constexpr std::size_t place_of_samples = 28, place_of_channels = 30;
  connection.read(head, what);
  std::uint16_t samples = 0, channels = 0;
  std::memcpy(&samples, head.data() + place_of_samples, sizeof samples);
  std::memcpy(&channels, head.data() + place_of_channels, sizeof channels);
  const std::size_t bytes = std::size_t{4} * samples * channels;
  if (bytes > most_bytes)
    throw Error(what, fmt::format("at most {} bytes", most_bytes),
                fmt::format("{} samples of {} channels", samples, channels));
  std::array<std::byte, 65536> part;
  for (std::size_t left = bytes, count = 0; left > 0; left -= count) {
    count = std::min(left, part.size());
    connection.read(std::span(part).first(count), what);
  }
}

std::string configuration_name_from(Connection& connection) {
  std::array<char, 1024> name;
  connection.read(std::as_writable_bytes(std::span(name)), "a configuration name");
  return std::string(name.data(), std::find(name.begin(), name.end(), '\0'));
}

}  // namespace

std::optional<SessionMessage> read_message(Connection& connection, std::size_t most_bytes) {
  constexpr std::size_t most_configuration = 1 << 16, most_header = 1 << 22, most_text = 1 << 20;
  std::array<std::byte, 2> bytes;
  while (connection.begin_message(bytes)) {
    const auto number = std::bit_cast<std::uint16_t>(bytes);
    const auto id = static_cast<MessageId>(number);
    switch (id) {
      case MessageId::configuration_name:
        return SessionMessage{id, configuration_name_from(connection)};
      case MessageId::configuration_text:
        return SessionMessage{id, text_from(connection, most_configuration, "a configuration")};
      case MessageId::header:
        return SessionMessage{id, text_from(connection, most_header, "the header")};
      case MessageId::close:
        return SessionMessage{id};
      case MessageId::text:
        text_from(connection, most_text, "a text");
        continue;
      case MessageId::acquisition:
        return SessionMessage{id, {}, acquisition_from(connection, most_bytes)};
      case MessageId::image:
        throw Error("a message", "a configuration, a header, acquisitions, waveforms, texts or close",
                    "an image", "images are not reconstructed again: send the acquisitions");
      case MessageId::waveform:
        skip_waveform(connection);
        continue;
    }
    throw Error("a message", "an id of the MRD session protocol (1 to 5, 1008, 1026)", std::to_string(number),
                "the stream is no MRD session, or has lost its place");
  }
  return std::nullopt;
}

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
