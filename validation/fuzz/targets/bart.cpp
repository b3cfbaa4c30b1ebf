// BART pairs: k-space, trajectory and maps, each a header in text and values. The input is parts (harness.hpp).
#include <array>

#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  constexpr std::array names{"x.hdr", "x.cfl", "x_traj.hdr", "x_traj.cfl", "x_sens.hdr", "x_sens.cfl"};
  folder.clear();
  for (const auto& [number, bytes] : fuzz::parts_of({data, size}, names.size()))
    folder.write(names[number], bytes);
  fuzz::read_scan(folder.file("x.cfl"));
  return 0;
}
