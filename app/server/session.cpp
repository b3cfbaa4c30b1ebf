#include "app/server/session.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cstdio>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#include "app/terminal/console.hpp"
#include "app/run/scan_cost.hpp"
#include "app/server/image_message.hpp"

namespace fhd::app {
namespace {

constexpr auto stop_line = "the server is stopping";

/// What work() has failed by, in one line; empty where it has not.
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

/// What a client may have had a part in, for a terminal and for its own: printable ASCII, not too much of it.
std::string printable(const std::string& line) {
  constexpr std::size_t most = 2000;
  std::string text = io::shown(line.substr(0, most), most);
  for (char& c : text)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return text;
}

/// What it holds beside itself.
std::size_t bytes_of(const SessionMessage& message) {
  if (const auto* readout = std::get_if<io::mrd::OwnedReadout>(&message)) return readout->bytes();
  if (const auto* header = std::get_if<HeaderText>(&message)) return header->xml.size();
  if (const auto* text = std::get_if<ConfigurationText>(&message)) return text->text.size();
  if (const auto* name = std::get_if<ConfigurationName>(&message)) return name->name.size();
  return 0;
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
      const bool is_last = !message || std::holds_alternative<Close>(*message);
      if (!push(message ? taken_in(std::move(*message)) : Item{})) return;
      if (!is_last) continue;
      if (connection_.lost_before([&] { return done_.load(); })) lost_ = true;
      return;
    } catch (const ConnectionLost&) {
      lost_ = true;  // work that nobody waits for is given up
      throw;
    }
}

/// The order of a session: what is out of turn is not kept to wait. Throws Error.
void Session::require_turn(const SessionMessage& message) {
  const bool is_header = std::holds_alternative<HeaderText>(message);
  const bool configures = std::holds_alternative<ConfigurationName>(message) ||
                          std::holds_alternative<ConfigurationText>(message);
  if (has_header_ && is_header) throw Error("the session", "one header", "a second one");
  if (has_header_ && configures) throw Error("a configuration", "none after the header", "one");
  if (!has_header_ && std::holds_alternative<io::mrd::OwnedReadout>(message))
    throw Error("an acquisition", "the header before it", "none");
  has_header_ = has_header_ || is_header;
}

/// Throws Error where the session holds too much.
Session::Item Session::taken_in(SessionMessage message) {
  require_turn(message);
  const auto* readout = std::get_if<io::mrd::OwnedReadout>(&message);
  if (readout != nullptr && (*held_ += readout->bytes()) > limits_.bytes)
    throw Error("acquisitions",
                "at most " + memory_text(static_cast<double>(limits_.bytes)) +
                    " that wait for an image to be whole (--max-memory)",
                "more");
  const std::size_t bytes = sizeof(Item) + bytes_of(message);
  return {std::move(message), {}, bytes};
}

/// Waits until there is room.
bool Session::push(Item item) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || stopped_ || queued_bytes_ <= limits_.read_ahead; });
  if (closed_ || stopped_) return false;
  queued_bytes_ += item.bytes;
  queue_.push_back(std::move(item));
  changed_.notify_all();
  return true;
}

/// Empty where an image is to be delivered first.
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

/// False after the last.
bool Session::answer(Item item) {
  if (!item.failure.empty()) throw Error(item.failure, "", "");
  if (!item.message) {
    if (!reconstruction_ && acquisitions_ == 0) return false;  // came, and went again
    const auto left = reconstruction_ ? reconstruction_->unfinished_readouts() : 0;
    throw Error(
        "the stream", "a close message at its end", "none",
        left == 0 ? "" : fmt::format("{} acquisitions of images that are not whole are left out", left));
  }
  return std::visit(
      [&]<class T>(T&& message) {
        using M = std::decay_t<T>;
        if constexpr (std::is_same_v<M, ConfigurationName> || std::is_same_v<M, ConfigurationText>) {
          if constexpr (std::is_same_v<M, ConfigurationName>)
            options_.emplace(options_of_name(message.name, services_.configurations));
          else
            options_.emplace(options_of_text(message.text));
        } else if constexpr (std::is_same_v<M, HeaderText>) {
          begin(message);
        } else if constexpr (std::is_same_v<M, io::mrd::OwnedReadout>) {
          take(std::forward<T>(message));
        } else {
          if (!reconstruction_) return false;
          if (const auto left = reconstruction_->finish(); !left.empty()) tell("warning: " + left);
          return false;
        }
        return true;
      },
      std::move(*item.message));
}

void Session::begin(const HeaderText& header) {
  if (!options_) options_.emplace(options_of_name({}, {}));
  reconstruction_ = std::make_unique<StreamReconstruction>(
      *options_, header.xml, services_.device, services_.processors,
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
  for (const auto& news : image.news) tell(news);
  connection_.write(image_message(image, options_->sends_complex()));
  ++images_;
}

void Session::tell(const std::string& line) { connection_.write(text_message(printable(line))); }

/// The last that the client hears: why, where it is a failure, and that it is over.
void Session::end(const std::string& failure) noexcept {
  failure_of([&] {
    if (!failure.empty()) tell("error: " + failure);
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
