#include "app/options/input_limits.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "io/files/input_memory.hpp"
#include "io/reader/limits.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/geometry.hpp"
#include "recon/error.hpp"

namespace fhd::app {

namespace {

/// Reads a number in [least, most]. Throws Error.
double number_of(const std::string& text, const char* flag, double least, double most) {
  double number = 0;
  if (!parse_number(text, number) || !(number >= least && number <= most))
    throw Error(flag, fmt::format("a number from {:g} to {:g}", least, most), "'" + text + "'");
  return number;
}

}  // namespace

const std::vector<OptionRow>& input_limits() {
  static const std::vector<OptionRow> rows{
      {"--trust-input", "",
       "read files in this process, without limits of memory and time: for files of your own",
       [](RunOptions&, const std::string& text) { io::reader::limits().trusts_input = text == "true"; }},
      {"--input-memory", "GIB",
       "GiB of memory that reading a file may take [192 MiB and 8 times its size, or 1 GiB where that can "
       "be compressed into it]",
       [](RunOptions&, const std::string& text) {
         const double gib = number_of(text, "--input-memory", 0.001, 1e6);
         io::reader::limits().memory_gib = gib;
         io::set_input_memory(static_cast<std::uint64_t>(gib * 0x1p30));  // also of files that are read here
       }},
      {"--input-seconds", "N",
       "s that opening a file or reading a volume may take [30, and 1 for 20 MB; of a processor 1.2, and 1 "
       "for 10 MB]",
       [](RunOptions&, const std::string& text) {
         io::reader::limits().seconds = number_of(text, "--input-seconds", 0.001, 1e9);
       }}};
  return rows;
}

void add_input_limits(CLI::App& app) {
  static RunOptions none;
  for (const auto& row : input_limits()) add_option(app, none, row);
}

std::string text_of_limits() {
  return fmt::format(
      "Limits: 1 to {} voxels and {} to {:.0f} mm along each axis; {} volumes (slices times repetitions) "
      "and {:.1e} samples in a scan; memory and time of reading as the commands' --input-memory and "
      "--input-seconds say. What goes beyond is refused before the work begins. All of them: README, "
      "'Limits'.",
      largest_matrix, io::least_fov_mm, io::largest_fov_mm, io::most_volumes,
      static_cast<double>(io::most_samples));
}

}  // namespace fhd::app
