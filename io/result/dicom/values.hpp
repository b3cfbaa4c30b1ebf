#pragma once
// Values of DICOM attributes as text (DICOM PS3.5, section 6.2), made of what a file says, whatever it says.
#include <string>
#include <string_view>

namespace fhd::io::dicom {

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

}  // namespace fhd::io::dicom
