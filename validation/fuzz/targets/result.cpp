// Result files (HDF5): what 'fhd report', 'fhd compare' and a run that would replace them read.
// The input is the file.
#include "io/hdf5/hdf5_facts.hpp"
#include "io/page/report_page.hpp"
#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::InputFile file({data, size});
  fuzz::succeeds([&] { io::report_page({file.path()}, 4096); });
  fuzz::succeeds([&] { io::facts_of_hdf5(file.path(), {"/image", "/report@input_path", "/@made_by"}); });
  fuzz::succeeds([&] { io::read_gradient_response(file.path()); });
  fuzz::succeeds([&] { io::read_number_table(file.path(), "/image"); });
  return 0;
}
