#include "io/scan/mrd/readout.hpp"

#include <fmt/format.h>

#include "recon/error.hpp"

namespace fhd::io::mrd {

void require_length(std::size_t found, std::size_t expected, const std::string& subject) {
  if (found != expected)
    throw Error(subject, fmt::format("{} numbers, as its head says", expected), std::to_string(found),
                "the file is damaged");
}

void copy_values(const Readout& readout, const ReadoutHead& head, const std::string& subject,
                 Array<Complex<float>>& values, std::int64_t m) {
  const std::int64_t total = head.number_of_samples, coils = values.extent(0), samples = values.extent(1);
  require_length(readout.values.size(), static_cast<std::size_t>(2 * total * coils), subject + ".data");
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    const float* from = readout.values.data() + 2 * (coil * total + head.first_sample());
    auto* to = values.data() + coil * samples + m;
    for (std::int64_t s = 0; s < head.sample_count(); ++s) to[s] = {from[2 * s], from[2 * s + 1]};
  }
}

}  // namespace fhd::io::mrd
