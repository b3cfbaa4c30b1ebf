#pragma once
// Result files as one HTML page that needs nothing else: no network, no other file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fhd::io {

/// Reads OUT.h5 of `fhd recon` or `fhd batch`, each a result of the page, which is titled by their names; several are
/// also shown side by side, with one window. What a file lacks (the gridded image, maps, a certificate) the page
/// leaves out. Volumes of more than `most_voxels` voxels, and films of more
/// than three times as many, are shown in part, and the page says so. Throws Error when a file is no result.
std::string report_page(const std::vector<std::string>& results, std::size_t most_voxels = 600000);

/// Writes the page, whole or not at all. Throws Error; unless `force` also where it would replace another file than a
/// page of fhd.
void write_report_page(const std::vector<std::string>& results, const std::string& path, bool force = false);

/// Returns what the page shows of a result, as JSON; reads it in this process. Throws Error.
std::string result_text_here(const std::string& path, const std::string& title, std::uint64_t most_voxels);

struct BatchPages {
  std::string index;                  ///< its path
  std::vector<std::string> failures;  ///< of results of which no page can be made, one line each
};
/// For a folder of `fhd batch`: FOLDER/index.html, a table of what became of every scan by FOLDER/summary.json, with
/// FOLDER/NAME.png (of several stacks of slices NAME_1.png) and a link to FOLDER/NAME.html where there are such files. With `of_results`, first writes a page for
/// each scan that has a result; the table says why one has none. Throws Error where there is no index.
BatchPages write_batch_pages(const std::string& folder, bool of_results, bool force = false);

}  // namespace fhd::io
