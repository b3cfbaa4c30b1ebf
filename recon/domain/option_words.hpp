#pragma once
// How messages speak of settings: in the words of the program's options, or of the keywords of its Python module.
#include <cstdint>
#include <string>
#include <string_view>

namespace fhd {

enum class OptionStyle : std::uint8_t { options, keywords };

/// Returns the style of this process: set before work begins, by one thread.
inline OptionStyle& option_style() {
  static OptionStyle of_process = OptionStyle::options;
  return of_process;
}

/// Returns how a user gives the setting `name` a value: "--trajectory-unit cycles/voxel", or as a keyword
/// `trajectory_unit="cycles/voxel"`, `matrix=(X, Y, Z)`; the name alone without a value. A value of several words, such as
/// "none or adaptive", follows the name as it is.
std::string option_words(std::string_view name, std::string_view value = {});

/// Returns how a user sets the flag `name`: "--trust-input", or `trust_input=True`.
std::string flag_words(std::string_view name);

/// Returns the subject of an error in these words: option_words() of "--lambda" or "--lambda auto", else the subject.
std::string subject_in_words(std::string_view subject);

}  // namespace fhd
