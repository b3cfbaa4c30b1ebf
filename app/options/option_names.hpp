#pragma once
// The library names what it was told by the fields of its arguments; a user knows them as options.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fhd {
struct Report;
}

namespace fhd::app {

/// "settings.lambda" -> "--lambda", ...: every field that recon/ names in errors and notes.
const std::vector<std::pair<std::string_view, std::string_view>>& options_of_fields();

/// "use settings.coils.maps = espirit or none" -> "use --coils espirit or none": whole words that are fields;
/// " = " behind them becomes a space. Other words, such as the name of a file, stay as they are.
std::string in_words_of_options(std::string_view line);
/// The same with everything that a person reads of a report.
void say_in_words_of_options(Report& report);

}  // namespace fhd::app
