#pragma once
// One session: a thread reads its messages ahead, as far as a bounded queue allows, another reconstructs and answers.
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

/// What sessions may take, each.
struct SessionLimits {
  ConnectionLimits connection{};
  MessageLimits messages{};
  std::size_t bytes =
      std::size_t{4} << 30;  ///< of acquisitions that are held, of slices, and of the work on images
  std::size_t read_ahead = std::size_t{64} << 20;  ///< of messages that wait for the work
  std::chrono::seconds image{600};                 ///< of work on one image
  int images_at_once = 0;                          ///< of a session; 0: as many as gain something
};

/// What all sessions share.
struct SessionServices {
  const ChosenDevice& device;
  SharedProcessors& processors;
  std::string configurations;  ///< folder; empty: none
  bool quiet = false;
};

class Session {
 public:
  Session(int socket, std::int64_t number, const SessionLimits& limits, const SessionServices& services);
  /// Until it has ended, for whatever reason, of which it prints one line. Throws nothing.
  void run() noexcept;
  /// From another thread: it ends soon, what has come is not worked on any more.
  void stop();

 private:
  /// What reading has come to: a message, the end of the stream (empty), or why it cannot go on.
  struct Item {
    std::optional<SessionMessage> message;
    std::string failure;
    std::size_t bytes = 0;
  };
  void read_all() noexcept;
  void read_messages();
  void require_turn(const SessionMessage& message);
  Item taken_in(SessionMessage message);
  bool push(Item item);
  std::optional<Item> pop();
  void work();
  bool answer(Item item);
  void begin(const HeaderText& header);
  void take(io::mrd::OwnedReadout readout);
  void send(const StreamedImage& image);
  void tell(const std::string& line);
  void end(const std::string& failure) noexcept;
  void log_end(const std::string& failure) const;
  bool is_given_up() const { return stopped_ || lost_; }

  const std::int64_t number_;
  const SessionLimits limits_;
  const SessionServices services_;
  Connection connection_;
  std::shared_ptr<std::atomic<std::size_t>> held_;  ///< bytes of acquisitions
  bool has_header_ = false;                         ///< of the thread that reads

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::size_t queued_bytes_ = 0;
  bool closed_ = false;  ///< nobody takes from the queue any more

  std::atomic<bool> stopped_ = false, lost_ = false, done_ = false;
  std::optional<SessionOptions> options_;
  std::unique_ptr<StreamReconstruction> reconstruction_;
  std::int64_t acquisitions_ = 0, images_ = 0;
};

}  // namespace fhd::app
