#include "io/files/input_memory.hpp"

#include <fmt/format.h>

#include <atomic>
#include <limits>

#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t> most_input_bytes{unlimited};

}  // namespace

std::uint64_t input_memory() { return most_input_bytes; }

void set_input_memory(std::uint64_t bytes) { most_input_bytes = bytes > 0 ? bytes : unlimited; }

void require_input_memory(double bytes, const std::string& subject) {
  const auto most = static_cast<double>(input_memory());
  constexpr double gib = 1 << 30;
  if (bytes > most)
    throw Error(subject, fmt::format("values of at most {:.3g} GiB", most / gib),
                fmt::format("{:.3g} GiB", bytes / gib),
                "raise the limit with " + option_words("input-memory", "GIB") + " if you trust the file");
}

}  // namespace fhd::io
