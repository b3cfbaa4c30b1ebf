#include "recon/domain/option_words.hpp"

#include <algorithm>
#include <cctype>

namespace fhd {
namespace {

/// Returns the keyword of an option: "fov_mm" of "fov-mm", and "lambda_", because "lambda" is a word of Python.
std::string keyword_of(std::string_view name) {
  std::string keyword(name);
  std::replace(keyword.begin(), keyword.end(), '-', '_');
  return keyword == "lambda" ? "lambda_" : keyword;
}

/// Returns a value as Python writes it: a tuple, a number or a placeholder such as N as they are, a text in quotes.
std::string python_value(std::string_view value) {
  if (value.find(',') != value.npos) {
    std::string tuple = "(";
    for (const char c : value) tuple += c == ',' ? std::string(", ") : std::string(1, c);
    return tuple + ")";
  }
  const bool is_plain = std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return std::isupper(c) || std::isdigit(c) || c == '.' || c == '_';
  });
  return is_plain ? std::string(value) : "\"" + std::string(value) + "\"";
}

}  // namespace

std::string option_words(std::string_view name, std::string_view value) {
  const bool is_option = option_style() == OptionStyle::options;
  std::string words = is_option ? "--" + std::string(name) : keyword_of(name);
  if (value.empty()) return words;
  if (is_option || value.find(' ') != value.npos) return words + " " + std::string(value);
  return words + "=" + python_value(value);
}

std::string flag_words(std::string_view name) {
  return option_words(name) + (option_style() == OptionStyle::keywords ? "=True" : "");
}

std::string subject_in_words(std::string_view subject) {
  if (!subject.starts_with("--")) return std::string(subject);
  const auto end = std::min(subject.find(' '), subject.size());
  const auto name = subject.substr(2, end - 2);
  const bool is_name =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '-'; });
  if (!is_name) return std::string(subject);
  return option_words(name, end < subject.size() ? subject.substr(end + 1) : std::string_view());
}

}  // namespace fhd
