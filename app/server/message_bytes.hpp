#pragma once
// How messages (messages.hpp) are put together.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fhd::app {

enum class MessageId : std::uint16_t {
  configuration_name = 1,
  configuration_text = 2,
  header = 3,
  close = 4,
  text = 5,
  acquisition = 1008,
  image = 1022,
  waveform = 1026
};

inline void append_all(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}
template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  append_all(bytes, std::as_bytes(std::span(&value, 1)));
}

}  // namespace fhd::app
