#pragma once
// PNG files, 8-bit gray.
#include <cstdint>
#include <string>
#include <vector>

#include "io/result/gray_image.hpp"

namespace fhd::io {

/// A picture as the bytes of a file; messages call it `reported_path`. Throws Error.
std::vector<std::uint8_t> encode_png(const GrayImage& image, const std::string& reported_path);
/// Reads any PNG as 8-bit gray. Throws Error.
GrayImage read_png(const std::string& path);
/// Writes to `path`; messages call it `reported_path`. Throws Error. (Not atomic by itself.)
void write_png(const std::string& path, const GrayImage& image, const std::string& reported_path);

}  // namespace fhd::io
