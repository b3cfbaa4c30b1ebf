#include "io/scan/mrd/readout.hpp"

#include <fmt/format.h>

#include "recon/error.hpp"

namespace fhd::io::mrd {

void require_length(std::size_t found, std::size_t expected, const std::string& subject) {
  if (found != expected)
    throw Error(subject, fmt::format("{} numbers, as its head says", expected), std::to_string(found),
                "the file is damaged");
}

Readout as_before(Readout readout, const ReadoutHead& then, const std::string& subject) {
  const auto& now = readout.head;
  if (now.number_of_samples != then.number_of_samples || now.first_sample() != then.first_sample() ||
      now.sample_count() != then.sample_count() || now.trajectory_dimensions != then.trajectory_dimensions)
    throw Error(subject, "the readout that was there when the file was opened", "one of another length",
                "the file changed while it was read: run again when it is whole");
  return readout;
}

void copy_values(const Readout& readout, const std::string& subject, Array<Complex<float>>& values,
                 std::int64_t m) {
  const auto& head = readout.head;
  const std::int64_t total = head.number_of_samples, coils = values.extent(0), samples = values.extent(1);
  require_length(readout.values.size(), static_cast<std::size_t>(2 * total * coils), subject + ".data");
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    const float* from = readout.values.data() + 2 * (coil * total + head.first_sample());
    auto* to = values.data() + coil * samples + m;
    for (std::int64_t s = 0; s < head.sample_count(); ++s) to[s] = {from[2 * s], from[2 * s + 1]};
  }
}

}  // namespace fhd::io::mrd
