#include "io/result/png.hpp"

#include <png.h>

#include "io/result/atomic_file.hpp"
#include "recon/error.hpp"

namespace fhd::io {

GrayImage read_png(const std::string& path) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&header, path.c_str()))
    throw Error(path, "a PNG picture", header.message);
  constexpr png_uint_32 largest = 32768;
  if (header.width > largest || header.height > largest) {
    png_image_free(&header);
    throw Error(path, "at most 32768 pixels per side", "more");
  }
  header.format = PNG_FORMAT_GRAY;
  auto image = make_gray_image(static_cast<int>(header.width), static_cast<int>(header.height));
  if (!png_image_finish_read(&header, nullptr, image.pixels.data(), 0, nullptr))
    throw Error(path, "a PNG picture", header.message);
  return image;
}

std::vector<std::uint8_t> encode_png(const GrayImage& image, const std::string& reported_path) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::uint8_t> bytes(size);
  if (!png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr))
    throw Error(reported_path, "a picture that can be encoded", header.message);
  bytes.resize(size);
  return bytes;
}

void write_png(const std::string& path, const GrayImage& image, const std::string& reported_path) {
  const auto bytes = encode_png(image, reported_path);
  write_bytes(path, bytes.data(), bytes.size(), reported_path);
}

}  // namespace fhd::io
