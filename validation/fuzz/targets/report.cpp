// JSON documents: the report in a result, as its page shows it. The input is the text.
#include <filesystem>

#include "io/hdf5.hpp"
#include "io/page/report_page.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const auto path = folder.file("x.h5");
  auto file = io::hdf5::File::create(path, path);
  const std::vector<Complex<float>> image(2 * 3 * 4, {1, 0});
  file.write("/image", image.data(), {2, 1, 1, 3, 4});
  file.write_attribute("/image", "fov_mm", std::vector<double>{40, 30, 5});
  file.create_group("/report");
  file.write("/report/json", fuzz::text_of({data, size}));
  file.close();
  fuzz::succeeds([&] { io::report_page({path}, 4096); });
  return 0;
}
