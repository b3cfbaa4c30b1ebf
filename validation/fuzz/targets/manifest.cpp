// Manifests of batches. The input is the text.
#include "io/result/manifest.hpp"

#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const fuzz::InputFile file({data, size});
  const auto manifest = io::read_manifest(file.path());
  if (!manifest) return 0;
  io::same_stamps(*manifest, manifest->input);
  // What was read is written, and read again as the same.
  const auto again = folder.file("x.manifest.json");
  io::write_manifest(again, *manifest);
  const auto second = io::read_manifest(again);
  fuzz::require(second.has_value() && second->input == manifest->input &&
                second->settings.size() == manifest->settings.size());
  return 0;
}
