#include "io/result/dicom/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <vector>

#include "io/files/sha256.hpp"
#include "io/files/shown_text.hpp"

namespace fhd::io::dicom {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number that two digits are; -1 where they are none, or beyond `most`.
int two_digits(std::string_view value, std::size_t at, int most) {
  if (value.size() < at + 2 || !is_digit(value[at]) || !is_digit(value[at + 1])) return -1;
  const int number = 10 * (value[at] - '0') + (value[at + 1] - '0');
  return number <= most ? number : -1;
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
  const auto digits = std::string(iso.substr(0, 10));
  if (digits.size() != 10 || digits[4] != '-' || digits[7] != '-' || two_digits(digits, 0, 99) < 0 ||
      two_digits(digits, 2, 99) < 0)
    return {};
  const int year = std::stoi(digits.substr(0, 2) + digits.substr(2, 2)), month = two_digits(digits, 5, 12),
            day = two_digits(digits, 8, 31);
  if (month < 0 || day < 0) return {};
  const std::chrono::year_month_day found{std::chrono::year(year), std::chrono::month(unsigned(month)),
                                          std::chrono::day(unsigned(day))};
  return found.ok() ? fmt::format("{:04}{:02}{:02}", year, month, day) : "";
}

std::string time_of_day(std::string_view iso) {
  const int hour = two_digits(iso, 0, 23), minute = two_digits(iso, 3, 59), second = two_digits(iso, 6, 59);
  if (hour < 0 || minute < 0 || second < 0 || iso[2] != ':' || iso[5] != ':') return {};
  auto made = fmt::format("{:02}{:02}{:02}", hour, minute, second);
  std::size_t fraction = 8;
  if (iso.size() > fraction + 1 && iso[fraction] == '.' && is_digit(iso[fraction + 1])) {
    made += '.';
    for (++fraction; fraction < iso.size() && is_digit(iso[fraction]) && made.size() < 13; ++fraction)
      made += iso[fraction];
  }
  return made;
}

DateTime later(const std::string& date, const std::string& time_of_day, double seconds) {
  namespace chrono = std::chrono;
  const auto number = [](const std::string& digits) { return std::stoi(digits); };
  const chrono::sys_days day{chrono::year(number(date.substr(0, 4))) / number(date.substr(4, 2)) /
                             number(date.substr(6, 2))};
  const double of_day = 3600.0 * number(time_of_day.substr(0, 2)) + 60.0 * number(time_of_day.substr(2, 2)) +
                        std::stod(time_of_day.substr(4));
  constexpr std::int64_t per_second = 1000000, per_day = 86400 * per_second;
  const auto microseconds = std::llround((of_day + seconds) * static_cast<double>(per_second));
  const auto days = microseconds / per_day, rest = microseconds % per_day, whole = rest / per_second;
  const chrono::year_month_day found{day + chrono::days(days)};
  return {fmt::format("{:04}{:02}{:02}", int(found.year()), unsigned(found.month()), unsigned(found.day())),
          fmt::format("{:02}{:02}{:02}.{:06}", whole / 3600, whole / 60 % 60, whole % 60, rest % per_second)};
}

DateTime now() {
  const std::time_t instant = std::time(nullptr);
  std::tm local{};
  localtime_r(&instant, &local);
  return {fmt::format("{:04}{:02}{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday),
          fmt::format("{:02}{:02}{:02}", local.tm_hour, local.tm_min, std::min(local.tm_sec, 59))};
}

bool is_uid(std::string_view value) {
  if (value.empty() || value.size() > 64) return false;
  for (std::size_t begin = 0; begin <= value.size();) {
    const auto end = std::min(value.find('.', begin), value.size());
    const auto part = value.substr(begin, end - begin);
    if (part.empty() || !std::all_of(part.begin(), part.end(), is_digit)) return false;
    if (part.size() > 1 && part[0] == '0') return false;
    begin = end + 1;
  }
  return true;
}

std::string uid_of_name(std::string_view name) {
  Sha256 sha("a UID");
  sha.add(name.data(), name.size());
  std::string hex = sha.hex().substr(0, 32);
  hex[12] = '8';                                                    // the version
  hex[16] = "89ab"[std::stoi(hex.substr(16, 1), nullptr, 16) & 3];  // the variant
  std::string decimal_digits = "0";                                 // of 128 bits, the last digit first
  for (const char digit : hex) {
    int carry = std::stoi(std::string(1, digit), nullptr, 16);
    for (char& d : decimal_digits) {
      const int sum = 16 * (d - '0') + carry;
      d = static_cast<char>('0' + sum % 10), carry = sum / 10;
    }
    for (; carry > 0; carry /= 10) decimal_digits += static_cast<char>('0' + carry % 10);
  }
  return "2.25." + std::string(decimal_digits.rbegin(), decimal_digits.rend());
}

}  // namespace fhd::io::dicom
