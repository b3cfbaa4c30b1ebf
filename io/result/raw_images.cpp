#include "io/result/raw_images.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/stored_bytes.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

std::uint32_t crc_of(const void* bytes, std::uint64_t count) {
  return static_cast<std::uint32_t>(crc32_z(0, static_cast<const Bytef*>(bytes), count));
}

}  // namespace

RawImages::RawImages(Descriptor file, std::string path, const Shape& shape, bool in_double)
    : path_(std::move(path)), shape_(shape), in_double_(in_double), file_(std::move(file)) {}

std::uint32_t RawImages::write(std::size_t index, const Image& image) {
  require_shape(image.values, shape_, path_);
  Array<Complex<double>> made;
  if (in_double_ && image.in_double.empty()) made = converted<Complex<double>>(image.values);
  const Array<Complex<double>>& in_double = made.empty() ? image.in_double : made;
  const void* values = in_double_ ? static_cast<const void*>(in_double.data()) : image.values.data();
  write_at(file_.get(), values, image_bytes(), index * image_bytes(), path_);
  return crc_of(values, image_bytes());
}

void RawImages::read_bytes(void* to, std::uint64_t bytes, std::uint64_t offset) const {
  if (!read_at(file_.get(), to, bytes, offset))
    throw Error(path_, "the values of all images", errno == 0 ? "a shorter file" : std::strerror(errno));
}

bool RawImages::holds(std::size_t index, std::uint32_t crc) const {
  // A hole of a sparse file holds nothing, and is not read.
  if ((index + 1) * image_bytes() > stored_bytes(file_.get())) return false;
  std::vector<char> bytes(image_bytes());
  return read_at(file_.get(), bytes.data(), bytes.size(), index * image_bytes()) &&
         crc_of(bytes.data(), bytes.size()) == crc;
}

void RawImages::read(std::size_t index, Image& image) const {
  if (in_double_) {
    image.in_double = Array<Complex<double>>(shape_);
    read_bytes(image.in_double.data(), image_bytes(), index * image_bytes());
    image.values = converted<Complex<float>>(image.in_double);
  } else {
    image.values = Array<Complex<float>>(shape_);
    read_bytes(image.values.data(), image_bytes(), index * image_bytes());
  }
}

void RawImages::read(std::size_t index, std::int64_t first, std::span<Complex<float>> values) const {
  const auto offset = index * image_bytes() + static_cast<std::uint64_t>(first) * value_bytes();
  if (!in_double_) return read_bytes(values.data(), values.size_bytes(), offset);
  std::vector<Complex<double>> in_double(values.size());
  read_bytes(in_double.data(), in_double.size() * sizeof(Complex<double>), offset);
  std::transform(in_double.begin(), in_double.end(), values.begin(),
                 [](Complex<double> value) { return Complex<float>(value); });
}

void RawImages::flush() { flush_descriptor(file_.get(), path_); }

}  // namespace fhd::io
