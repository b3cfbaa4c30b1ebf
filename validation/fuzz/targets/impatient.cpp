// IMPATIENT directories: .dat files, binary and text. The input is parts (harness.hpp).
#include <array>

#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  constexpr std::array names{"kx.dat", "ky.dat", "kz.dat",  "kdata_r.dat", "kdata_i.dat",
                             "ix.dat", "iy.dat", "iz.dat",  "sensi_r.dat", "sensi_i.dat",
                             "fm.dat", "t.dat",  "mask.dat"};
  folder.clear();
  for (const auto& [number, bytes] : fuzz::parts_of({data, size}, names.size()))
    folder.write(names[number], bytes);
  fuzz::read_scan(folder.path());
  return 0;
}
