#include "app/options/input_limits.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "app/options/number_option.hpp"
#include "io/reader/limits.hpp"
#include "io/files/input_memory.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/geometry.hpp"

namespace fhd::app {

void add_input_limits(CLI::App& app) {
  auto& limits = io::reader::limits();
  app.add_flag("--trust-input", limits.trusts_input,
               "read files in this process, without limits of memory and time: for files of your own");
  app.add_option("--input-memory", limits.memory_gib,
                 "GiB of memory that reading a file may take [192 MiB and 8 times its size, or 1 GiB where "
                 "that can be compressed into it]")
      ->check(number_between(0.001, 1e6))
      ->each([](const std::string& gib) {  // also of files that are read here
        io::set_input_memory(static_cast<std::uint64_t>(std::stod(gib) * 0x1p30));
      })
      ->type_name("GIB");
  app.add_option("--input-seconds", limits.seconds,
                 "s that opening a file or reading a volume may take [30, and 1 for 20 MB; of a processor "
                 "1.2, and 1 for 10 MB]")
      ->check(number_between(0.001, 1e9))
      ->type_name("N");
}

std::string text_of_limits() {
  return fmt::format(
      "Limits: 1 to {} voxels and {} to {:.0f} mm along each axis; {} volumes (slices times repetitions) and "
      "{:.1e} samples in a scan; memory and time of reading as the commands' --input-memory and --input-seconds "
      "say. What goes beyond is refused before the work begins. All of them: README, 'Limits'.",
      largest_matrix, io::least_fov_mm, io::largest_fov_mm, io::most_volumes,
      static_cast<double>(io::most_samples));
}

}  // namespace fhd::app
