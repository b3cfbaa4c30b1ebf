// The XML header of ISMRMRD measurements. The input is the text.
#include "io/scan/mrd/header.hpp"

#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::succeeds([&] {
    const auto header = io::mrd::parse_header(fuzz::text_of({data, size}), "header");
    std::vector<std::string> inferred;
    for (const bool told : {false, true}) {
      io::ReadOptions options;
      if (told) options.matrix_size = {16, 16, 1};
      fuzz::succeeds([&] { io::mrd::encoded_space(header, options, "header", inferred); });
      for (const auto& other : header.others)
        fuzz::succeeds([&] { io::mrd::encoded_space(other, options, "header", inferred); });
    }
  });
  return 0;
}
