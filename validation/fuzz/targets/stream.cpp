// MRD streams as files, and MRD version 2, which their first bytes tell. The input is the file.
#include "io/scan/mrd/stream_file.hpp"
#include "validation/fuzz/harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fhd::fuzz::InputFile file({data, size});
  bool is_stream = false;  // a damaged gzip file is refused
  if (size > 0) fhd::fuzz::succeeds([&] { is_stream = fhd::io::mrd::is_stream(file.path()); });
  if (is_stream) fhd::fuzz::read_scan(file.path());
  return 0;
}
