#pragma once
// The values of many images of one shape in one file, so that a series of any length needs no memory.
#include <cstdint>
#include <span>
#include <string>

#include "io/files/folder.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// Threads may read and write different images at once.
class RawImages {
 public:
  /// `file`: open to read and write, with images or empty; messages call it `path`. `shape` of every image, [z][y][x];
  /// `in_double`: whether its values are in double precision.
  RawImages(Descriptor file, std::string path, const Shape& shape, bool in_double);
  RawImages(const RawImages&) = delete;
  RawImages& operator=(const RawImages&) = delete;

  const Shape& shape() const { return shape_; }
  bool in_double() const { return in_double_; }
  /// Writes the values of an image at its place, from 0 on, and returns their CRC-32. Throws Error, on a full disk too.
  std::uint32_t write(std::size_t index, const Image& image);
  /// Returns whether the values at a place are there and have this CRC-32.
  bool holds(std::size_t index, std::uint32_t crc) const;
  /// Reads `values` and, if they are in double precision, `in_double` of `image`. Throws Error.
  void read(std::size_t index, Image& image) const;
  /// Reads the values from voxel `first` on, in single precision. Throws Error.
  void read(std::size_t index, std::int64_t first, std::span<Complex<float>> values) const;
  /// Reads as many images from `first` on as `values` [...][z][y][x] holds, of the precision of the file. Throws Error.
  template <class T>
  void read(std::size_t first, Array<Complex<T>>& values) const {
    read_bytes(values.data(), static_cast<std::uint64_t>(values.size()) * sizeof(Complex<T>),
               first * image_bytes());
  }
  /// Flushes the values to the disk. Throws Error.
  void flush();

 private:
  std::uint64_t value_bytes() const { return in_double_ ? sizeof(Complex<double>) : sizeof(Complex<float>); }
  std::uint64_t image_bytes() const { return static_cast<std::uint64_t>(shape_.size()) * value_bytes(); }
  void read_bytes(void* to, std::uint64_t bytes, std::uint64_t offset) const;

  std::string path_;
  Shape shape_;
  bool in_double_;
  Descriptor file_;
};

}  // namespace fhd::io
