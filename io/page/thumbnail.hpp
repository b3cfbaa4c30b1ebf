#pragma once
// Small pictures as parts of a page.
#include <cstdint>
#include <string>
#include <vector>

namespace fhd::io {

std::string base64(const std::vector<std::uint8_t>& bytes);
/// A small picture of a PNG file as text of a page; empty when the file is no picture.
std::string thumbnail_of(const std::string& path);
/// Makes the thumbnail in this process. Throws Error.
std::string thumbnail_here(const std::string& path);

}  // namespace fhd::io
