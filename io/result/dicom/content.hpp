#pragma once
// The attributes of the files of a DICOM series (io/result/dicom.hpp), without the library that encodes it.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/result/dicom/module.hpp"
#include "io/result/formats.hpp"

namespace fhd::io::dicom {

// --- Values as text (DICOM PS3.5, section 6.2), made of what a file says, whatever it says

/// UTF-8 of at most `longest` characters: without backslashes (they part values), control characters, and bytes that are no
/// UTF-8; blanks at the ends are left out.
std::string text(std::string_view value, std::size_t longest);
/// A person's name (PN): a text of at most 64 characters with at most 5 parts, "Last^First^Middle^Prefix^Suffix".
std::string person_name(std::string_view value);
/// PatientID (LO): a text of at most 64 characters.
std::string patient_id(std::string_view value);
/// A code (CS): upper case letters, digits, blanks and underscores, at most 16; empty where it is not of these.
std::string code(std::string_view value);
/// A number (DS) in at most 16 characters, rounded to the digits that fit. It is finite.
std::string decimal(double value);
/// "2026-01-31" -> "20260131"; empty where it is no date.
std::string date(std::string_view iso);
/// "12:30:05.25", with or without a time zone behind -> "123005.25"; empty where it is no time.
std::string time_of_day(std::string_view iso);

/// An instant, without a time zone.
struct DateTime {
  std::string date, time;  ///< "20260131", "123005.250000"
};
/// `seconds` after the date and time, as `date` and `time_of_day` make them.
DateTime later(const std::string& date, const std::string& time_of_day, double seconds);
/// Returns the date and time of this machine.
DateTime now();

/// Returns whether it is a UID: 1 to 64 digits and points, no part of it empty or with a leading zero.
bool is_uid(std::string_view value);
/// "2.25." and 128 bits of the SHA-256 of `name` as a number, marked as a UUID of version 8 (RFC 9562): the same name
/// gives the same UID.
std::string uid_of_name(std::string_view name);

// --- Attributes

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
};
/// Returns the planes in the order of InstanceNumber: [repetition][stack of slices][place].
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
  std::string slice_comment(const Plane& plane) const;

  const ResultContent& results_;
  std::string series_uid_;
  std::vector<std::int64_t> temporal_positions_;  ///< of each repetition, from 1 on
  std::vector<Affine> voxel_maps_;                ///< of each image, LPS
  Elements common_;
};

/// The name and ID of a patient that the scan does not name.
struct Pseudonym {
  std::string name, id;
};
Pseudonym pseudonym_of(const std::string& checksum);

}  // namespace fhd::io::dicom
