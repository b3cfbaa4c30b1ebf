// ISMRMRD files: records, the heap of their arrays, header, flags, trajectory. The input is the file, or a description of one.
#include "validation/fuzz/harness.hpp"
#include "validation/fuzz/tree/tree.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fhd::fuzz::Hdf5File file({data, size});
  fhd::fuzz::read_scan(file.path());
  return 0;
}
