#include "app/server/session.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cstdio>
#include <new>
#include <thread>
#include <utility>

#include "app/run/scan_cost.hpp"
#include "app/server/image_message.hpp"
#include "app/terminal/console.hpp"

namespace fhd::app {
namespace {

constexpr auto stop_line = "the server is stopping";

/// Returns why work() has failed, in one line; empty where it has not.
template <class Work>
std::string failure_of(const Work& work) noexcept try {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return std::string("unexpected failure: ") + error.what();
  }
} catch (...) {
  return "failed";
}

/// Returns a text that may come from a client as printable ASCII of bounded length.
std::string printable(const std::string& line) {
  constexpr std::size_t most = 2000;
  std::string text = io::shown(line.substr(0, most), most);
  for (char& c : text)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return text;
}

}  // namespace

Session::Session(int socket, std::int64_t number, const SessionLimits& limits,
                 const SessionServices& services)
    : number_(number),
      limits_(limits),
      services_(services),
      connection_(socket, limits.connection),
      held_(std::make_shared<std::atomic<std::size_t>>(0)) {}

void Session::stop() {
  stopped_ = true;
  connection_.stop_reading();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Session::run() noexcept {
  std::string failure;
  try {
    omp_set_num_threads(services_.processors.threads);
    std::thread reader([this] { read_all(); });
    failure = failure_of([&] { work(); });
    if (stopped_) failure = stop_line;
    if (reconstruction_) reconstruction_->abandon();
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      changed_.notify_all();
    }
    end(failure);
    reconstruction_.reset();
    done_ = true;
    connection_.stop_reading();
    reader.join();
    log_end(failure);
  } catch (const std::exception& error) {  // no thread, or no memory to say so
    print_failure(fmt::format("session {}: {}", number_, error.what()));
  }
}

// --- Reading ahead

void Session::read_all() noexcept {
  const auto failure = failure_of([&] { read_messages(); });
  if (!failure.empty()) failure_of([&] { push({std::nullopt, failure, 0}); });
}

void Session::read_messages() {
  for (;;) try {
      auto message = read_message(connection_, limits_.messages);
      const bool is_last = !message || message->id == MessageId::close;
      if (!push(message ? taken_in(std::move(*message)) : Item{})) return;
      if (!is_last) continue;
      if (connection_.lost_before([&] { return done_.load(); })) lost_ = true;
      return;
    } catch (const ConnectionLost&) {
      lost_ = true;  // work that nobody waits for is given up
      throw;
    }
}

/// Throws Error for a message that does not belong here in the order of a session.
void Session::require_order(MessageId id) {
  const bool is_header = id == MessageId::header;
  if (has_header_ && is_header) throw Error("the session", "one header", "a second one");
  if (has_header_ && (id == MessageId::configuration_name || id == MessageId::configuration_text))
    throw Error("a configuration", "none after the header", "one");
  if (!has_header_ && id == MessageId::acquisition)
    throw Error("an acquisition", "the header before it", "none");
  has_header_ = has_header_ || is_header;
}

/// Counts the bytes of a message. Throws Error where the session holds too much.
Session::Item Session::taken_in(SessionMessage message) {
  require_order(message.id);
  if (message.id == MessageId::acquisition && (*held_ += message.readout.bytes()) > limits_.bytes)
    throw Error("acquisitions",
                "at most " + memory_text(static_cast<double>(limits_.bytes)) +
                    " that wait for an image to be whole (--max-memory)",
                "more");
  const std::size_t bytes = sizeof(Item) + message.bytes();
  return {std::move(message), {}, bytes};
}

/// Adds to the queue once there is room; returns false where nobody reads it any more.
bool Session::push(Item item) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || stopped_ || queued_bytes_ <= limits_.read_ahead; });
  if (closed_ || stopped_) return false;
  queued_bytes_ += item.bytes;
  queue_.push_back(std::move(item));
  changed_.notify_all();
  return true;
}

/// Returns the next item; empty where an image is to be sent first.
std::optional<Session::Item> Session::pop() {
  std::unique_lock lock(mutex_);
  const auto has_image = [&] { return reconstruction_ && reconstruction_->has_image(); };
  changed_.wait(lock, [&] { return stopped_ || !queue_.empty() || has_image(); });
  if (stopped_) throw GivenUp("the session", "", stop_line);
  if (has_image()) return std::nullopt;
  Item item = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= item.bytes;
  changed_.notify_all();
  return item;
}

// --- The work

void Session::work() {
  for (;;)
    if (auto item = pop(); !item)
      reconstruction_->deliver();
    else if (!answer(std::move(*item)))
      return;
}

/// Returns false after the last message.
bool Session::answer(Item item) {
  if (!item.failure.empty()) throw Error(item.failure, "", "");
  if (!item.message) {
    if (!reconstruction_ && acquisitions_ == 0) return false;  // came, and went again
    const auto left = reconstruction_ ? reconstruction_->unfinished_readouts() : 0;
    throw Error(
        "the stream", "a close message at its end", "none",
        left == 0 ? "" : fmt::format("{} acquisitions of images that are not whole are left out", left));
  }
  auto& [id, text, readout] = *item.message;
  switch (id) {
    case MessageId::configuration_name:
      options_.emplace(options_of_name(text, services_.configurations));
      return true;
    case MessageId::configuration_text:
      options_.emplace(options_of_text(text));
      return true;
    case MessageId::header:
      begin(text);
      return true;
    case MessageId::acquisition:
      take(std::move(readout));
      return true;
    default:  // close
      if (!reconstruction_) return false;
      if (const auto left = reconstruction_->finish(); !left.empty()) send_text("warning: " + left);
      return false;
  }
}

void Session::begin(const std::string& xml) {
  if (!options_) options_.emplace(options_of_name({}, {}));
  reconstruction_ = std::make_unique<StreamReconstruction>(
      *options_, xml, services_.device, services_.processors,
      ImageLimits{limits_.bytes, limits_.image, limits_.images_at_once},
      StreamEvents{[this](const StreamedImage& image) { send(image); },
                   [this] {
                     const std::lock_guard lock(mutex_);
                     changed_.notify_all();
                   },
                   [this] { return is_given_up(); }});
}

void Session::take(io::mrd::OwnedReadout readout) {
  ++acquisitions_;
  const auto bytes = readout.bytes();
  const auto held = held_;
  reconstruction_->add(io::mrd::SharedReadout(new io::mrd::OwnedReadout(std::move(readout)),
                                              [held, bytes](const io::mrd::OwnedReadout* one) {
                                                delete one;
                                                *held -= bytes;
                                              }));
}

// --- Answers

void Session::send(const StreamedImage& image) {
  for (const auto& message : image.messages) send_text(message);
  connection_.write(image_message(image, options_->sends_complex()));
  ++images_;
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
    print_out("{}\n", what), std::fflush(stdout);
}

}  // namespace fhd::app
