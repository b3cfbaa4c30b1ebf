#pragma once
// How the values of options are read from text.
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace fhd::app {

/// Returns the pieces between the separators: one more than there are separators.
std::vector<std::string> split_at(const std::string& text, char separator);
/// Reads the whole text as a number. Returns false where it is none.
bool parse_number(const std::string& text, double& number);
inline constexpr auto no_largest = std::numeric_limits<std::int64_t>::max();
/// Reads the whole text as a whole number; empty where it is none in [least, most].
std::optional<std::int64_t> parse_whole(const std::string& text, std::int64_t least,
                                        std::int64_t most = no_largest);
/// Return the value of an option: a number in [least, most], or the place of a word. Throw Error naming `option`.
std::int64_t whole_of(const std::string& option, const std::string& text, std::int64_t least,
                      std::int64_t most = no_largest);
double number_of(const std::string& option, const std::string& text, double least, double most);
std::size_t place_of(const std::string& option, const std::string& word,
                     const std::vector<std::string>& words);

/// "64" -> {64, 64, 1}; "64,48" -> {64, 48, 1}; "64,64,16" or "64x64x16". Throws Error naming --matrix.
std::array<int, 3> parse_matrix_size(const std::string& text);
/// "220" -> {220, 220, 0}; "220,180,5" or "220x180x5", in mm; 0 where not given. Throws Error naming --fov-mm.
std::array<double, 3> parse_fov_mm(const std::string& text);
/// "0.5,0.2" -> {0.5, 0.2, 0}, delays of the gradients in samples. Throws Error naming `option`.
std::array<double, 3> parse_delays(const std::string& text, const std::string& option);
/// "0.5" -> {0.5, 0.5, 0.5}, "0.97,1" -> {0.97, 1, 1}. Throws Error naming --trajectory-scale.
std::array<double, 3> parse_scale(const std::string& text);
/// "2.3,6.9" in ms -> s. Throws Error naming --echo-times.
std::vector<double> parse_echo_times(const std::string& text);

/// --slices and --repetitions: which volumes of a scan.
struct VolumeSelection {
  std::string slices = "all", repetitions = "all";
};
/// "0-3,7" -> {0, 1, 2, 3, 7}; "all" -> 0 ... count-1. Throws Error naming `option` when an index is not
/// below `count` or comes twice.
std::vector<std::int64_t> parse_selection(const std::string& text, std::int64_t count,
                                          const std::string& option);
/// Returns how many volumes a selection has; "all" makes no list of them.
std::int64_t selected_count(const std::string& text, std::int64_t count, const std::string& option);

}  // namespace fhd::app
