#pragma once
// What a process that came to harm, or was taken over, may answer.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/reader/archive.hpp"
#include "io/reader/host.hpp"
#include "io/reader/process.hpp"

namespace fhd::io::guard {

/// A process that is told to read the text of a dataset, and does something else.
class FakeReader {
 public:
  explicit FakeReader(const ChannelEnds* channels) : channels_(channels) {
    Input in("request", 1 << 20, [this](void* bytes, std::size_t count) { take(bytes, count); });
    std::uint32_t request = 0;
    in(opening, request, path, name);
  }
  template <class... T>
  void answer(const T&... values) {
    answer_with(false, values...);
  }
  template <class... T>
  void answer_with(bool lends, const T&... values) {
    Output out(
        [this](const void* bytes, std::size_t count) {
          for (const auto* next = static_cast<const char*>(bytes); count > 0;) {
            const auto put = ::write(channels_->answers, next, count);
            if (put <= 0) return;
            next += put;
            count -= static_cast<std::size_t>(put);
          }
        },
        lends);
    out(values...);
    out.flush();
  }
  [[noreturn]] void wait() {
    char byte = 0;
    for (;;) take(&byte, 1);
  }
  Opening opening;
  std::string path, name;

 private:
  void take(void* bytes, std::size_t count) {
    for (auto* to = static_cast<char*>(bytes); count > 0;) {
      const auto got = ::read(channels_->requests, to, count);
      if (got <= 0) _exit(0);
      to += got;
      count -= static_cast<std::size_t>(got);
    }
  }
  const ChannelEnds* channels_;
};

}  // namespace fhd::io::guard
