// Siemens raw data. The input is the file.
#include "validation/fuzz/harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fhd::fuzz::InputFile file({data, size});
  fhd::fuzz::read_scan(file.path());
  return 0;
}
