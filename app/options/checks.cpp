#include "app/options/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/options/nearest_word.hpp"

namespace fhd::app {

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto refusal = [words](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    const auto hint = did_you_mean(word, words);
    return fmt::format("expected {}, found '{}'{}{}", fmt::join(words, ", "), word, hint.empty() ? "" : "; ",
                       hint);
  };
  return {refusal, fmt::format("{{{}}}", fmt::join(words, ","))};
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto refusal = [least, most](const std::string& text) {
    if (parse_whole(text, least, most)) return std::string();
    return fmt::format("expected {}, found '{}'", whole_numbers(least, most), text);
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
