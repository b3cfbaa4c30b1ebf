#pragma once
// The attributes of the files of a DICOM series (io/result/dicom.hpp), without the library that encodes it.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/result/formats.hpp"

namespace fhd::io::dicom {

inline constexpr std::uint16_t private_group = 0x0011, checksum_element = 0x1001;

/// An attribute of a file. `path`: as DCMTK writes it; `vr`: of private ones.
struct Element {
  std::string path, value, vr{};
};
using Elements = std::vector<Element>;

/// How the magnitudes of a series become numbers of 16 bits, and back.
struct Scaling {
  static constexpr std::uint16_t largest_stored = 32767;  ///< also of readers that read signed numbers
  std::string slope_text;                                 ///< RescaleSlope
  double slope = 0;                                       ///< the number that readers find in it
  float white = 0;                                        ///< upper end of the window
  std::string digest;                                     ///< SHA-256 of all magnitudes

  /// Returns the nearest number; slope * stored is the magnitude to half a slope.
  std::uint16_t stored(float magnitude) const;
};
/// Reads every image once; of zeros alone the slope and the end of the window are 1. Throws Error naming `subject`: a
/// magnitude that is not finite.
Scaling scaling_of(const ImageSeries& series, const std::string& subject);

/// A slice of an image.
struct Plane {
  std::size_t image = 0;  ///< of the series
  std::int64_t repetition = 0, z = 0;
  std::int64_t place = 0;  ///< in the stack of slices, from 0 on
};
/// Returns the planes in the order of InstanceNumber.
std::vector<Plane> planes_of(const ImageSeries& series);

/// The attributes of a series of results, which outlive it.
class SeriesContent {
 public:
  SeriesContent(const ResultContent& results, const Scaling& scaling);
  /// Returns those that all files have in common.
  const Elements& common() const { return common_; }
  /// Returns those of the file with InstanceNumber `number`, from 1 on.
  Elements of_plane(const Plane& plane, std::size_t number) const;

 private:
  void add_course();
  void add_time(std::size_t repetition, Elements& elements) const;

  const ResultContent& results_;
  std::string series_uid_;
  std::vector<std::int64_t> temporal_positions_;  ///< of each repetition, from 1 on
  Elements common_;
};

/// The name and ID of a patient that the scan does not name.
struct Pseudonym {
  std::string name, id;
};
Pseudonym pseudonym_of(const std::string& checksum);

}  // namespace fhd::io::dicom
