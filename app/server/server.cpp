#include "app/server/server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ismrmrd/ismrmrd.h>
#include <ismrmrd/version.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <pugixml.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "app/run/scan_cost.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/ending.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

/// Returns why work() has failed, in one line; empty where it has not.
template <class Work>
std::string failure_of(const Work& work) try {
  work();
  return {};
} catch (...) {
  return failure_of_exception();
}

/// Returns a text that may come from a client as printable ASCII of bounded length.
std::string printable(const std::string& line) {
  constexpr std::size_t most = 2000;
  std::string text = io::shown(line.substr(0, most), most);
  for (char& c : text)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return text;
}

/// Returns how the image was made, its certificate, verdict and messages, as ISMRMRD meta data.
std::string attributes_of(const StreamedImage& streamed) {
  const Report& report = streamed.report;
  pugi::xml_document document;
  auto root = document.append_child("ismrmrdMeta");
  const auto add = [&](const std::string& name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    auto meta = root.append_child("meta");
    meta.append_child("name").text() = name.c_str();
    for (const auto& value : values) meta.append_child("value").text() = printable(value).c_str();
  };
  add("DataRole", {"Image"});
  add("ImageProcessingHistory", {"fhd"});
  add("ImageComments", {solution_line(report)});
  add("fhd_version", {program_version});
  add("fhd_readouts", {std::to_string(streamed.readouts)});
  add("fhd_seconds", {fmt::format("{:.6f}", report.seconds)});
  if (report.certificate) add("fhd_certificate", {certificate_line(*report.certificate)});
  if (report.verdict) add("fhd_verdict", {report.verdict->sentence});
  for (const auto severity : {Severity::suspicion, Severity::warning, Severity::note}) {
    std::vector<std::string> lines;
    for (const auto& message : report.messages)
      if (message.severity == severity) lines.push_back(line_of(message));
    add("fhd_" + std::string(name_of(severity)), lines);
  }
  std::vector<std::string> settings;
  for (const auto& [name, value] : report.settings) settings.push_back(name + " = " + value);
  add("fhd_setting", settings);
  std::ostringstream xml;
  document.save(xml, "", pugi::format_raw);
  return xml.str();
}

static_assert(sizeof(ISMRMRD::ISMRMRD_ImageHeader) == 198);

ISMRMRD::ISMRMRD_ImageHeader image_head(const StreamedImage& streamed, bool sends_complex,
                                        std::size_t attributes) {
  ISMRMRD::ISMRMRD_ImageHeader head{};
  const auto& geometry = streamed.image.geometry;
  const auto& last = streamed.head;
  head.version = ISMRMRD_VERSION_MAJOR;
  head.data_type = sends_complex ? ISMRMRD::ISMRMRD_CXFLOAT : ISMRMRD::ISMRMRD_FLOAT;
  head.image_type = sends_complex ? ISMRMRD::ISMRMRD_IMTYPE_COMPLEX : ISMRMRD::ISMRMRD_IMTYPE_MAGNITUDE;
  head.measurement_uid = last.measurement_uid;
  head.channels = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const double fov = geometry.fov_mm[axis];
    head.matrix_size[axis] = static_cast<std::uint16_t>(geometry.matrix_size[axis]);
    head.field_of_view[axis] =
        static_cast<float>(fov > 0 ? fov : geometry.matrix_size[axis]);  // voxels of 1 mm
    head.position[axis] = static_cast<float>(geometry.position_mm[axis]);
    head.read_dir[axis] = static_cast<float>(geometry.read_direction[axis]);
    head.phase_dir[axis] = static_cast<float>(geometry.phase_direction[axis]);
    head.slice_dir[axis] = static_cast<float>(geometry.slice_direction[axis]);
    head.patient_table_position[axis] = last.patient_table_position[axis];
    head.physiology_time_stamp[axis] = last.physiology_time_stamp[axis];
  }
  head.average = last.idx.average, head.slice = last.idx.slice, head.contrast = last.idx.contrast;
  head.phase = last.idx.phase, head.set = last.idx.set;
  head.repetition = static_cast<std::uint16_t>(streamed.repetition);
  head.acquisition_time_stamp = last.acquisition_time_stamp;
  head.image_index = static_cast<std::uint16_t>(streamed.number + 1);
  head.image_series_index = 1;
  head.attribute_string_len = static_cast<std::uint32_t>(attributes);
  return head;
}

/// Returns the message: magnitudes as float, or complex64, [z][y][x].
std::string image_message(const StreamedImage& streamed, bool sends_complex) {
  const auto attributes = attributes_of(streamed);
  const auto& values = streamed.image.values;
  std::string bytes;
  bytes.reserve(256 + attributes.size() + static_cast<std::size_t>(values.size()) * sizeof(Complex<float>));
  append(bytes, MessageId::image);
  append(bytes, image_head(streamed, sends_complex, attributes.size()));
  append(bytes, static_cast<std::uint64_t>(attributes.size()));
  bytes += attributes;
  if (sends_complex)
    bytes.append(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::size_t>(values.size()) * sizeof(Complex<float>));
  else
    for (const auto& value : values) append(bytes, std::hypot(value.re, value.im));
  return bytes;
}

}  // namespace

Session::Session(int socket, std::int64_t number, const SessionLimits& limits,
                 const SessionServices& services)
    : number_(number), limits_(limits), services_(services), connection_(socket, limits.connection) {}

void Session::stop() {
  stopped_ = true;
  connection_.stop_reading();
  const std::lock_guard lock(mutex_);
  if (reconstruction_) reconstruction_->abandon();
}

void Session::run() noexcept {
  try {
    std::thread reader([this] { read_all(); });
    const auto failure = fail(failure_of([&] { answer(); }));
    if (reconstruction_) reconstruction_->abandon();
    end(failure);
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      changed_.notify_all();
    }
    connection_.stop_reading();
    reader.join();
    log_end(failure);
    std::unique_ptr<StreamReconstruction> ended;  // waits for its threads without the lock
    const std::lock_guard lock(mutex_);
    ended.swap(reconstruction_);
  } catch (const std::exception& error) {  // no thread, or no memory to say so
    print_failure(fmt::format("session {}: {}", number_, error.what()));
  }
}

/// Records why the session has failed, unless `why` is empty. Returns the first reason.
std::string Session::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = why;
  return stopped_ ? "the server is stopping" : failure_;
}

// --- Reading

/// Reads to the end of the session; then gives up the work where nobody waits for it any more.
void Session::read_all() noexcept {
  fail(failure_of([&] { read_messages(); }));
  {
    const std::lock_guard lock(mutex_);
    reading_ended_ = true;
    changed_.notify_all();
  }
  if (!reconstruction_) return;
  reconstruction_->end();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return done_; }))
    if (connection_.is_lost()) return reconstruction_->abandon();
}

void Session::read_messages() {
  while (auto message = io::mrd::read_message(connection_, {.most_bytes = limits_.images.bytes})) {
    auto& [id, text, readout] = *message;
    require_order(id);
    if (id == MessageId::configuration_name) options_ = options_of_name(text, services_.configurations);
    if (id == MessageId::configuration_text) options_ = options_of_text(text);
    if (id == MessageId::header) begin(text);
    if (id == MessageId::acquisition) take(std::move(readout));
    if (id != MessageId::close) continue;
    if (reconstruction_) reconstruction_->finish();
    return;
  }
  if (!reconstruction_) return;  // came, and went again
  const auto left = reconstruction_->unfinished_readouts();
  throw Error(
      "the stream", "a close message at its end", "none",
      left == 0 ? "" : fmt::format("{} acquisitions of images that are not whole are left out", left));
}

/// Throws Error for a message that does not belong here in the order of a session.
void Session::require_order(MessageId id) {
  const bool has_header = reconstruction_ != nullptr;
  if (has_header && id == MessageId::header) throw Error("the session", "one header", "a second one");
  if (has_header && (id == MessageId::configuration_name || id == MessageId::configuration_text))
    throw Error("a configuration", "none after the header", "one");
  if (!has_header && id == MessageId::acquisition)
    throw Error("an acquisition", "the header before it", "none");
}

void Session::begin(const std::string& xml) {
  if (!options_) options_ = options_of_text({});
  auto made = std::make_unique<StreamReconstruction>(*options_, xml, services_.device, services_.processors,
                                                     limits_.images);
  const std::lock_guard lock(mutex_);
  reconstruction_ = std::move(made);
  changed_.notify_all();
}

/// Adds a readout and counts its bytes. Throws Error where the session holds too much.
void Session::take(io::mrd::OwnedReadout readout) {
  ++acquisitions_;
  const auto bytes = readout.bytes();
  if ((held_ += bytes) > limits_.images.bytes)
    throw Error("acquisitions",
                "at most " + memory_text(static_cast<double>(limits_.images.bytes)) +
                    " that wait for an image to be whole (--max-memory)",
                "more");
  reconstruction_->add(io::mrd::SharedReadout(new io::mrd::OwnedReadout(std::move(readout)),
                                              [this, bytes](const io::mrd::OwnedReadout* one) {
                                                delete one;
                                                held_ -= bytes;
                                              }));
}

// --- Answers

void Session::answer() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reconstruction_ || reading_ended_; });
  lock.unlock();
  if (!reconstruction_) return;
  while (const auto images = reconstruction_->next())
    for (const auto& image : *images) {
      for (const auto& message : image.messages) send_text(message);
      connection_.write(image_message(image, options_->sends_complex()));
      ++images_;
    }
  if (const auto left = reconstruction_->unfinished_readouts(); left > 0 && fail({}).empty())
    send_text(
        fmt::format("warning: the last {} readouts are fewer than a frame: they are in no image", left));
}

void Session::send_text(const std::string& line) { connection_.write(text_message(printable(line))); }

/// Sends the client why the session failed, if it did, and that it is over.
void Session::end(const std::string& failure) noexcept {
  failure_of([&] {
    if (!failure.empty()) send_text("error: " + failure);
    connection_.write(close_message());
    connection_.finish();
  });
}

void Session::log_end(const std::string& failure) const {
  const auto what = fmt::format("session {} ({}): {} images of {} acquisitions", number_, connection_.peer(),
                                images_, acquisitions_);
  if (!failure.empty())
    print_error(printable(what + "; " + failure));
  else if (!services_.quiet)
    print_out("{}\n", what);
}

// --- The server

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
  sessions_.clear();  // waits for their ends
  close(socket_);
}

bool Server::run(std::chrono::milliseconds grace) {
  constexpr int look_again_ms = 100;  // another thread may have got the signal
  while (!StopRequests::has_come()) {
    pollfd connections{socket_, POLLIN, 0};
    if (poll(&connections, 1, look_again_ms) < 0 && errno != EINTR)
      throw Error("waiting for connections", "", std::strerror(errno));
    join_ended();
    if ((connections.revents & POLLIN) != 0) accept_one();
  }
  std::signal(StopRequests::caught(), SIG_DFL);
  for (auto& one : sessions_) one.session->stop();
  const auto until = std::chrono::steady_clock::now() + grace;
  while (!sessions_.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    join_ended();
  }
  return sessions_.empty();
}

void Server::join_ended() {
  const auto count = sessions_.remove_if([](const Running& one) {
    return one.ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  // Each thread has heaps of its own, which keep what was freed; with many sessions that would add up.
  if (count > 0) malloc_trim(0);
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
    auto session = std::make_unique<Session>(socket, ++accepted_, limits_, services_);
    auto ended = std::async(std::launch::async, &Session::run, session.get());
    sessions_.push_back({std::move(session), std::move(ended)});
  } catch (const std::exception& error) {  // no thread
    print_error(std::string("a connection is not taken: ") + error.what());
  }
}

/// Sends as much as the connection takes at once: nobody waits for a client here.
void Server::refuse(int socket) const {
  const auto line =
      fmt::format("error: the server has {} sessions, as many as it takes (--max-sessions); come again later",
                  most_sessions_);
  const auto bytes = text_message(line) + close_message();
  static_cast<void>(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(socket, SHUT_WR);
  close(socket);
  print_error("a connection is refused: " + line.substr(7));
}

}  // namespace fhd::app
