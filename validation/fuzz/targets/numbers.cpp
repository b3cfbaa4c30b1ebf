// Tables of numbers as text. The input is the text.
#include "io/scan/companion_files.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::InputFile file({data, size});
  fuzz::succeeds([&] {
    const auto table = io::read_number_table(file.path(), "/numbers");
    fuzz::require(table.size() > 0);
    for (const double number : table) fuzz::require(number - number == 0);
  });
  return 0;
}
