#pragma once
// The identity of a series: everything that decides its images. A run continues an interrupted one of equal identity.
#include <string>

#include "io/result/results.hpp"
#include "io/result/series_folder.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Returns the checksums of the scan and its pieces (`provenance`), the version of the program, the volumes chosen, and
/// the options given to `app` that change an image; files by name and content. Throws Error.
io::SeriesIdentity identity_of(const CLI::App& app, const io::Provenance& provenance);

}  // namespace fhd::app
