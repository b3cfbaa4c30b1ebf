#pragma once
// Everything that decides the images of a series, in the words of the command line: a run that goes on must agree in all of it.
#include "app/options/run_options.hpp"
#include "io/result/results.hpp"
#include "io/result/series_folder.hpp"

namespace fhd::app {

/// Returns the scan and its pieces by their checksums (`provenance`), the program, the volumes chosen, and the options
/// given that change an image, files among them by name and content. Throws Error.
io::SeriesIdentity identity_of(const RunOptions& options, const io::Provenance& provenance);

}  // namespace fhd::app
