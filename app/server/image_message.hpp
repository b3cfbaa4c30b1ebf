#pragma once
// An image as a message of an MRD session.
#include <string>

#include "app/server/messages.hpp"
#include "app/server/stream_reconstruction.hpp"

namespace fhd::app {

/// Magnitude as float, or complex64, [z][y][x]. Geometry and counters are in the head, what is told of the image (how it
/// was made, certificate, verdict, warnings) in the attributes.
Bytes image_message(const StreamedImage& streamed, bool sends_complex);

/// Text in an XML document: what is no text there is left out or escaped.
std::string escaped_for_xml(const std::string& text);

}  // namespace fhd::app
