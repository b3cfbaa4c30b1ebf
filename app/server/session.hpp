#pragma once
// One session: a thread reads messages into a bounded queue, another reconstructs and answers.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/server/connection.hpp"
#include "app/server/messages.hpp"
#include "app/server/stream_reconstruction.hpp"

namespace fhd::app {

/// The limits of each session.
struct SessionLimits {
  ConnectionLimits connection{};
  ImageLimits images{};
};

/// The device, processors and configurations that all sessions share.
struct SessionServices {
  const ChosenDevice& device;
  SharedProcessors& processors;
  std::string configurations;  ///< folder; empty: none
  bool quiet = false;
};

class Session {
 public:
  Session(int socket, std::int64_t number, const SessionLimits& limits, const SessionServices& services);
  /// Serves the session to its end, and prints one line about that.
  void run() noexcept;
  /// Ends the session soon, from another thread; messages in the queue are dropped.
  void stop();

 private:
  /// An item of the queue: a message, the end of the stream (empty), or why reading cannot go on.
  struct Item {
    std::optional<SessionMessage> message;
    std::string failure;
    std::size_t bytes = 0;
  };
  void read_all() noexcept;
  void read_messages();
  void require_order(MessageId id);
  Item taken_in(SessionMessage message);
  bool push(Item item);
  std::optional<Item> pop();
  void work();
  bool answer(Item item);
  void begin(const std::string& xml);
  void take(io::mrd::OwnedReadout readout);
  void send(const StreamedImage& image);
  void send_text(const std::string& line);
  void end(const std::string& failure) noexcept;
  void log_end(const std::string& failure) const;
  bool is_given_up() const { return stopped_ || lost_; }

  const std::int64_t number_;
  const SessionLimits limits_;
  const SessionServices services_;
  Connection connection_;
  std::shared_ptr<std::atomic<std::size_t>> held_;  ///< bytes of acquisitions
  bool has_header_ = false;                         ///< used by the reading thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::size_t queued_bytes_ = 0;
  bool closed_ = false;  ///< the queue has no reader any more

  std::atomic<bool> stopped_ = false, lost_ = false, done_ = false;
  std::optional<SessionOptions> options_;
  std::unique_ptr<StreamReconstruction> reconstruction_;
  std::int64_t acquisitions_ = 0, images_ = 0;
};

}  // namespace fhd::app
