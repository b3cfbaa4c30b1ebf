// Sessions of a scanner: messages, header, readouts, and the images that they become. The input is the stream.
#include <sys/socket.h>

#include <optional>

#include "app/server/configuration.hpp"
#include "app/server/image_groups.hpp"
#include "app/server/messages.hpp"
#include "io/scan/mrd/volume_assembler.hpp"
#include "recon/transform/direct/direct.hpp"
#include "validation/fuzz/harness.hpp"

// Replaces the loops over numbers, of which the options ask no more than this.
std::string fhd::instruction_set() { return "none"; }

using namespace fhd;

namespace {

/// Handles messages as a session does, without reconstructing.
class Listener {
 public:
  /// Returns false after the last message.
  bool take(io::mrd::StreamMessage& message, bool waits) {
    if (message.id == app::MessageId::configuration_text) {
      fuzz::succeeds([&] { app::options_of_text(message.text); });
    } else if (message.id == app::MessageId::header) {
      header_ = io::mrd::parse_header(message.text, "header");
      groups_.emplace(*header_, message.text.size() % 5 == 0 ? 2 : 0, waits);
    } else if (message.id == app::MessageId::acquisition) {
      if (!groups_) throw Error("an acquisition", "the header before it", "none");
      for (const auto& image :
           groups_->add(std::make_shared<const io::mrd::OwnedReadout>(std::move(message.readout))))
        look_at(image);
    }
    return message.id != app::MessageId::close;
  }
  void end() {
    if (!groups_) return;
    for (const auto& image : groups_->take_rest()) look_at(image);
  }

 private:
  void look_at(const app::ImageReadouts& image) const {
    fuzz::succeeds([&] {
      io::mrd::ReadoutScan scan(*header_, {}, {"session", "header", "readouts"}, image.readouts);
      const auto& n = scan.summary().geometry.matrix_size;
      if (double(n[0]) * n[1] * n[2] > 1 << 20) return;
      scan.read(0, 0);
    });
  }
  std::optional<io::mrd::Header> header_;
  std::optional<app::ImageGroups> groups_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  constexpr std::size_t longest = 1 << 16;  // that a socket takes without a reader
  if (size > longest || size == 0) return 0;
  fuzz::require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  app::Connection sender(ends[0], {}), receiver(ends[1], {});
  sender.write({reinterpret_cast<const char*>(data), size});
  shutdown(ends[0], SHUT_WR);
  Listener listener;
  fuzz::succeeds([&] {
    while (auto message = io::mrd::read_message(receiver))
      if (!listener.take(*message, size % 2 == 0)) break;
    listener.end();
  });
  return 0;
}
