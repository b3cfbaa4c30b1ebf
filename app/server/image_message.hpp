#pragma once
// Writes an image as a message of an MRD session.
#include <string>

#include "app/server/messages.hpp"
#include "app/server/stream_reconstruction.hpp"

namespace fhd::app {

/// Returns the message: magnitudes as float, or complex64, [z][y][x]. The head has geometry and counters, the attributes
/// have how the image was made, its certificate, verdict and warnings.
Bytes image_message(const StreamedImage& streamed, bool sends_complex);

/// Escapes a text for an XML document; characters that it cannot hold are replaced.
std::string escaped_for_xml(const std::string& text);

}  // namespace fhd::app
