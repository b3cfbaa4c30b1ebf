// Configurations of sessions, as a client sends them: options as words, TOML or JSON. The first byte of the input says whether
// the others are such a text, the content of a file in the server's folder, or a name there.
#include "app/server/configuration.hpp"

#include "recon/transform/direct/direct.hpp"
#include "validation/fuzz/harness.hpp"

// Replaces the loops over numbers, of which the options ask no more than this.
std::string fhd::instruction_set() { return "none"; }

using namespace fhd;

namespace {

/// Checks what the reconstruction relies on.
void look_at(const app::SessionOptions& options) {
  validate(options.settings);
  fuzz::require(options.spokes_per_frame >= 0);
  fuzz::require(options.spokes_per_frame == 0 || !options.waits_for_close());
  fuzz::require(options.run.read_options.precision == options.settings.precision);
}

void read_file(const fuzz::Folder& folder, const char* ending, fuzz::Bytes content) {
  const auto name = std::string("chosen") + ending;
  folder.write(name, content);
  fuzz::succeeds([&] { look_at(app::options_of_name("chosen", folder.path())); });
  folder.clear();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const fuzz::Folder folder;
  const fuzz::Bytes rest(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      fuzz::succeeds([&] { look_at(app::options_of_text(fuzz::text_of(rest))); });
      break;
    case 1:
      read_file(folder, ".toml", rest);
      break;
    case 2:
      read_file(folder, ".json", rest);
      break;
    default:
      fuzz::succeeds([&] { look_at(app::options_of_name(fuzz::text_of(rest), folder.path())); });
  }
  return 0;
}
