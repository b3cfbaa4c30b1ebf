#include "app/options/number_option.hpp"

#include <fmt/format.h>

#include <charconv>

#include "app/options/options.hpp"

namespace fhd::app {

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto refusal = [least, most](const std::string& text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && next == end && number >= least && number <= most) return std::string();
    const bool is_open = most == std::numeric_limits<std::int64_t>::max();
    return fmt::format("expected a whole number from {}{}, found '{}'", least,
                       is_open ? "" : fmt::format(" to {}", most), text);
  };
  return {refusal, ""};
}

CLI::Validator number_between(double least, double most) {
  const auto refusal = [least, most](const std::string& text) {
    double number = 0;
    if (parse_number(text, number) && number >= least && number <= most) return std::string();
    return fmt::format("expected a number from {:g} to {:g}, found '{}'", least, most, text);
  };
  return {refusal, ""};
}

}  // namespace fhd::app
