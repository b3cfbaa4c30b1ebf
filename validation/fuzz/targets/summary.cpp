// JSON documents: the summary of a batch, as its index shows it, and a result that would be replaced. The input is the text.
#include <string_view>

#include "io/page/report_page.hpp"
#include "io/result/results.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  folder.write("summary.json", {data, size});
  fuzz::succeeds([&] { io::write_batch_index(folder.path(), 10000); });
  fuzz::succeeds([&] { io::require_replaceable(folder.file("summary"), "scan.h5", "sha256-4m:00", false); });
  return 0;
}
