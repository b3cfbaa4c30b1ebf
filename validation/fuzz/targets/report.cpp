// JSON documents: the report in a result, as its page shows it. The input is the text.
#include "io/page/report_page.hpp"
#include "validation/fuzz/harness.hpp"
#include "validation/fuzz/tree/tree.hpp"
#include "validation/fuzz/tree/types.hpp"

using namespace fhd;

namespace {

/// A result of two repetitions of one slice, without its report.
fuzz::Tree result_without_report() {
  constexpr std::uint8_t complex_floats = 16, doubles = 9;
  fuzz::Tree tree;
  const float one[] = {1, 0};
  const double fov_mm[] = {40, 30, 5};
  tree.nodes = {{fuzz::Kind::dataset, complex_floats, {}, {2, 1, 1, 3, 4}, "/image"},
                {fuzz::Kind::attribute, doubles, {}, {3}, "/image", "fov_mm"},
                {fuzz::Kind::dataset, fuzz::other_types().padded_text, {}, {}, "/report/json"}};
  tree.nodes[0].values.assign(reinterpret_cast<const char*>(one), sizeof one);
  tree.nodes[1].values.assign(reinterpret_cast<const char*>(fov_mm), sizeof fov_mm);
  return tree;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto tree = result_without_report();
  tree.nodes.back().values = fuzz::text_of({data, size});
  const fuzz::Hdf5File file(tree);
  fuzz::succeeds([&] { io::report_page({file.path()}, 4096); });
  return 0;
}
