// Pulseq sequences, with the positions of their first samples. The input is the text.
#include "io/scan/pulseq/sequence.hpp"

#include <algorithm>

#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::succeeds([&] {
    const io::pulseq::Sequence sequence(io::pulseq::parse_sequence(fuzz::text_of({data, size}), "x.seq"));
    fuzz::require(!sequence.facts().empty());
    const auto& played = sequence.played();
    for (std::int64_t adc = 0; adc < std::min<std::int64_t>(sequence.adc_count(), 8); ++adc) {
      constexpr std::int64_t most = 64;
      double k[3][most], time_s[most];
      played.sample(adc, 0, std::min(most, played.sample_count(adc)), {k[0], k[1], k[2]}, time_s);
      for (std::int64_t i = 0; i < std::min(most, played.sample_count(adc)); ++i)
        fuzz::require(time_s[i] - time_s[i] == 0);
    }
  });
  return 0;
}
