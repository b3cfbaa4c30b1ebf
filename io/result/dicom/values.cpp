#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "io/files/sha256.hpp"
#include "io/files/shown_text.hpp"
#include "io/result/dicom/content.hpp"

namespace fhd::io::dicom {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns whether a text begins as the pattern, in which 9 stands for a digit.
bool begins_as(std::string_view text, std::string_view pattern) {
  return text.size() >= pattern.size() &&
         std::equal(pattern.begin(), pattern.end(), text.begin(),
                    [](char wanted, char c) { return wanted == '9' ? is_digit(c) : wanted == c; });
}

/// Returns the number that digits are.
int number_at(std::string_view text, std::size_t at, std::size_t digits = 2) {
  return std::stoi(std::string(text.substr(at, digits)));
}

std::string digits_of(const std::chrono::year_month_day& day) {
  return fmt::format("{:04}{:02}{:02}", int(day.year()), unsigned(day.month()), unsigned(day.day()));
}

}  // namespace

std::string text(std::string_view value, std::size_t longest) {
  std::string made;
  std::size_t characters = 0;
  while (!value.empty() && characters < longest) {
    const auto length = length_of_character(value);
    const bool stays = length > 1 || (length == 1 && value[0] >= ' ' && value[0] != '\\' && value[0] != 0x7F);
    const std::string_view character = stays                             ? value.substr(0, length)
                                       : length == 1 && value[0] == '\\' ? "/"
                                       : length == 1                     ? " "
                                                                         : "?";
    if (!made.empty() || character != " ") made += character, ++characters;
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  while (!made.empty() && made.back() == ' ') made.pop_back();
  return made;
}

std::string person_name(std::string_view value) {
  constexpr std::size_t longest = 64;
  constexpr int most_parts = 5;
  auto name = text(value, longest);
  int parts = 1;
  for (char& c : name)
    if (c == '=' || (c == '^' && ++parts > most_parts)) c = ' ';
  return text(name, longest);
}

std::string patient_id(std::string_view value) {
  constexpr std::size_t longest = 64;
  return text(value, longest);
}

std::string code(std::string_view value) {
  constexpr std::size_t longest = 16;
  auto made = text(value, longest + 1);
  for (char& c : made) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!(c >= 'A' && c <= 'Z') && !is_digit(c) && c != ' ' && c != '_') return {};
  }
  return made.size() <= longest ? made : "";
}

std::string decimal(double value) {
  constexpr std::size_t longest = 16;
  std::string made;
  for (int digits = 16; digits > 0; --digits)
    if (made = fmt::format("{:.{}g}", value, digits); made.size() <= longest) break;
  return made == "-0" ? "0" : made;
}

std::string date(std::string_view iso) {
  if (iso.size() > 10) iso = iso.substr(0, 10);
  if (!begins_as(iso, "9999-99-99")) return {};
  const std::chrono::year_month_day found =
      std::chrono::year(number_at(iso, 0, 4)) / number_at(iso, 5) / number_at(iso, 8);
  return found.ok() ? digits_of(found) : "";
}

std::string time_of_day(std::string_view iso) {
  if (!begins_as(iso, "99:99:99") || iso.substr(0, 2) > "23" || iso.substr(3, 2) > "59" ||
      iso.substr(6, 2) > "59")
    return {};
  auto made = fmt::format("{}{}{}", iso.substr(0, 2), iso.substr(3, 2), iso.substr(6, 2));
  constexpr std::size_t longest = 6;  // digits of a fraction
  const auto rest = iso.substr(8);
  if (!begins_as(rest, ".9")) return made;
  return made.append(rest.substr(0, std::min(rest.find_first_not_of("0123456789", 1), longest + 1)));
}

DateTime later(const std::string& date, const std::string& time_of_day, double seconds) {
  namespace chrono = std::chrono;
  const chrono::sys_days day{chrono::year(number_at(date, 0, 4)) / number_at(date, 4) / number_at(date, 6)};
  const auto instant = day + chrono::hours(number_at(time_of_day, 0)) +
                       chrono::minutes(number_at(time_of_day, 2)) +
                       chrono::microseconds(std::llround((std::stod(time_of_day.substr(4)) + seconds) * 1e6));
  const auto midnight = chrono::floor<chrono::days>(instant);
  const chrono::hh_mm_ss time(instant - midnight);
  return {digits_of(midnight),
          fmt::format("{:02}{:02}{:02}.{:06}", time.hours().count(), time.minutes().count(),
                      time.seconds().count(), time.subseconds().count())};
}

DateTime now() {
  const auto local = fmt::localtime(std::time(nullptr));
  return {fmt::format("{:%Y%m%d}", local), fmt::format("{:%H%M%S}", local)};
}

bool is_uid(std::string_view value) {
  constexpr std::size_t longest = 64;
  if (value.size() > longest) return false;
  while (true) {
    const auto end = std::min(value.find('.'), value.size());
    const auto part = value.substr(0, end);
    if (part.empty() || !std::all_of(part.begin(), part.end(), is_digit) ||
        (part.size() > 1 && part[0] == '0'))
      return false;
    if (end == value.size()) return true;
    value.remove_prefix(end + 1);
  }
}

std::string uid_of_name(std::string_view name) {
  Sha256 sha("a UID");
  sha.add(name.data(), name.size());
  std::string hex = sha.hex().substr(0, 32);
  hex[12] = '8';                                                    // the version
  hex[16] = "89ab"[std::stoi(hex.substr(16, 1), nullptr, 16) & 3];  // the variant
  unsigned __int128 number = 0;
  for (const char digit : hex) number = 16 * number + std::stoul(std::string(1, digit), nullptr, 16);
  return fmt::format("2.25.{}", number);
}

}  // namespace fhd::io::dicom
