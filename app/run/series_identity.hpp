#pragma once
// What decides the images of a series, in the words of the command line: a run that goes on must agree in all of it.
#include <string>

#include "io/result/results.hpp"
#include "io/result/series_folder.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Of the scan and its pieces by their checksums (`provenance`), the program, the volumes chosen, and the options given
/// to `app` that change an image, files among them by name and content. Throws Error.
io::SeriesIdentity identity_of(const CLI::App& app, const io::Provenance& provenance);

}  // namespace fhd::app
