#include "app/options/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "app/options/nearest_word.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {

// --- Numbers and words

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(separator, at), text.size());
    pieces.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return pieces;
}

bool parse_number(const std::string& text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<std::int64_t> parse_whole(const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || next != end || number < least || number > most) return {};
  return number;
}

std::int64_t whole_of(const std::string& option, const std::string& text, std::int64_t least,
                      std::int64_t most) {
  if (const auto number = parse_whole(text, least, most)) return *number;
  throw Error(option,
              fmt::format("a whole number from {}{}", least,
                          most >= std::numeric_limits<int>::max() ? "" : fmt::format(" to {}", most)),
              "'" + text + "'");
}

double number_of(const std::string& option, const std::string& text, double least, double most) {
  double number = 0;
  if (parse_number(text, number) && number >= least && number <= most) return number;
  throw Error(option, fmt::format("a number from {:g} to {:g}", least, most), "'" + text + "'");
}

std::size_t place_of(const std::string& option, const std::string& word,
                     const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    throw Error(option, fmt::format("{}", fmt::join(words, ", ")), "'" + word + "'",
                did_you_mean(word, words));
  return static_cast<std::size_t>(found - words.begin());
}

namespace {

/// Reads numbers between commas; returns none where one of them is no number.
std::vector<double> parse_list(const std::string& text) {
  std::vector<double> numbers;
  for (const auto& piece : split_at(text, ',')) {
    double number = 0;
    if (!parse_number(piece, number) || !std::isfinite(number)) return {};
    numbers.push_back(number);
  }
  return numbers;
}

/// Reads X, "X,Y" or "X,Y,Z", also with 'x' for ','; without Y it is X, without Z it is `z`. Throws Error unless all
/// are `accepted`.
template <class Accepted>
std::array<double, 3> parse_axes(std::string text, const char* option, const char* expected, double z,
                                 Accepted accepted) {
  const auto found = "'" + text + "'";
  std::replace(text.begin(), text.end(), 'x', ',');
  const auto n = parse_list(text);
  if (n.empty() || n.size() > 3 || !std::all_of(n.begin(), n.end(), accepted))
    throw Error(option, expected, found);
  return {n[0], n.size() > 1 ? n[1] : n[0], n.size() > 2 ? n[2] : z};
}

}  // namespace

// --- Lengths, delays and times

std::array<int, 3> parse_matrix_size(const std::string& text) {
  const auto n =
      parse_axes(text, "--matrix", "one to three whole numbers from 1 to 4096, e.g. 64 or 64,64,16", 1,
                 [](double number) { return number == std::floor(number) && number >= 1 && number <= 4096; });
  return {static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2])};
}

std::array<double, 3> parse_fov_mm(const std::string& text) {
  return parse_axes(
      text, "--fov-mm",
      "one to three lengths in mm from 0.001 to 100000, or 0 for those of the file, e.g. 220 or 220,220,64",
      0, [](double number) {
        return number == 0 || (number >= io::least_fov_mm && number <= io::largest_fov_mm);
      });
}

std::array<double, 3> parse_delays(const std::string& text, const std::string& option) {
  constexpr double longest = 100;
  const auto numbers = parse_list(text);
  const bool are_short =
      std::all_of(numbers.begin(), numbers.end(), [](double d) { return std::abs(d) <= longest; });
  if ((numbers.size() != 2 && numbers.size() != 3) || !are_short)
    throw Error(option, "delays along x, y (and z) in samples, from -100 to 100, such as 0.5,0.2",
                "'" + text + "'");
  return {numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 0};
}

std::array<double, 3> parse_scale(const std::string& text) {
  auto scale =
      parse_axes(text, "--trajectory-scale", "one to three factors from 0.01 to 100, e.g. 0.5 or 0.97,1", 1,
                 [](double factor) { return factor >= 0.01 && factor <= 100; });
  if (text.find_first_of(",x") == std::string::npos) scale[2] = scale[0];
  return scale;
}

std::vector<double> parse_echo_times(const std::string& text) {
  auto times = parse_list(text);
  for (double& time : times) time *= 1e-3;
  constexpr double longest_s = 10, least_step_s = 1e-6;
  const bool ascend = std::adjacent_find(times.begin(), times.end(), [](double a, double b) {
                        return !(b - a > least_step_s);
                      }) == times.end();
  if (times.empty() || !(times.front() > 0) || !(times.back() <= longest_s) || !ascend)
    throw Error(
        "--echo-times",
        "times in ms above 0 and up to 10000, each more than 0.001 after the one before, such as 2.3,6.9",
        "'" + text + "'");
  return times;
}

// --- Volumes

std::vector<std::int64_t> parse_selection(const std::string& text, std::int64_t count,
                                          const std::string& option) {
  std::vector<std::int64_t> selected;
  if (text == "all") {
    selected.resize(static_cast<std::size_t>(count));
    std::iota(selected.begin(), selected.end(), std::int64_t{0});
    return selected;
  }
  const auto refuse = [&] {
    throw Error(
        option,
        count == 1
            ? "0, the only one"
            : fmt::format("\"all\" or different numbers and ranges from 0 to {}, such as 0-3,7", count - 1),
        "'" + text + "'");
  };
  for (const auto& piece : split_at(text, ',')) {
    const auto dash = piece.find('-');
    const auto first = parse_whole(piece.substr(0, dash), 0, count - 1),
               last = dash == std::string::npos ? first : parse_whole(piece.substr(dash + 1), 0, count - 1);
    for (auto i = first.value_or(0); first && last && i <= *last; ++i)
      if (std::find(selected.begin(), selected.end(), i) == selected.end())
        selected.push_back(i);
      else
        refuse();
    if (!first || !last || *last < *first) refuse();
  }
  return selected;
}

std::int64_t selected_count(const std::string& text, std::int64_t count, const std::string& option) {
  return text == "all" ? count : static_cast<std::int64_t>(parse_selection(text, count, option).size());
}

}  // namespace fhd::app
