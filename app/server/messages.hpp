#pragma once
// The messages of an MRD (ISMRMRD) session, as they stand in the stream, little-endian:
//
//   uint16 id, then
//      1  configuration by name   1024 bytes, padded with zeros
//      2  configuration as text   uint32 length, text
//      3  header                  uint32 length, XML
//      4  close
//      5  text                    uint32 length, text
//   1008  acquisition             head of 340 bytes, float trajectory [sample][axis], complex64 values [coil][sample]
//   1022  image                   head of 198 bytes, uint64 length, attributes as XML, values [channel][z][y][x]
//   1026  waveform                head of 40 bytes, uint32 values [channel][sample]
//
// Described in github.com/ismrmrd/ismrmrd, doc/mrd_messages.md. Every length is checked before memory is taken for
// it, and memory grows with what has come.
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/server/connection.hpp"
#include "io/scan/mrd/readout_scan.hpp"

namespace fhd::app {

struct ConfigurationName {
  std::string name;
};
struct ConfigurationText {
  std::string text;
};
struct HeaderText {
  std::string xml;
};
struct Close {};
using SessionMessage =
    std::variant<ConfigurationName, ConfigurationText, HeaderText, io::mrd::OwnedReadout, Close>;

/// The longest that are taken.
struct MessageLimits {
  std::size_t configuration = 1 << 16, header = 1 << 22, text = 1 << 20, waveform = 1 << 26;
  std::size_t acquisition = 1 << 28;  ///< trajectory and values
  int channels = 1024;                ///< those that the channel mask of a head has room for
  int trajectory_dimensions = 4;      ///< three axes and a weight
};

/// The next message; empty where the other side has ended. Waveforms and texts are read and left alone. Throws Error,
/// naming message and part, and ConnectionLost.
std::optional<SessionMessage> read_message(Connection& connection, const MessageLimits& limits = {});

/// Bytes of messages.
using Bytes = std::vector<std::byte>;
Bytes text_message(const std::string& text);
Bytes close_message();

}  // namespace fhd::app
