// The heaps of HDF5 files, where the arrays of ISMRMRD readouts lie. The input is the file, after the index that is asked for
// (1 byte).
#include <numeric>

#include "io/files/input_file.hpp"
#include "io/hdf5/global_heap.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const fuzz::InputFile file({data + 1, size - 1});
  fuzz::succeeds([&] {
    const io::InputFile opened(file.path());
    io::hdf5::GlobalHeap heap({.descriptor = opened.descriptor()});
    for (std::uint64_t address = 0; address <= 64; address += 8)
      for (const std::uint32_t length : {1U, 2U, 3U, 16U}) {
        const auto value =
            heap.value({address, length, data[0]}, sizeof(float)).value_or(std::span<const char>());
        fuzz::require(value.empty() || value.size() == length * sizeof(float));
        static volatile int sum = 0;  // touches all bytes
        sum = std::accumulate(value.begin(), value.end(), 0);
      }
  });
  return 0;
}
