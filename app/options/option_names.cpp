#include "app/options/option_names.hpp"

#include <algorithm>
#include <cctype>

#include "recon/domain/report.hpp"

namespace fhd::app {

const std::vector<std::pair<std::string_view, std::string_view>>& options_of_fields() {
  static const std::vector<std::pair<std::string_view, std::string_view>> table{
      {"settings.method", "--method"},
      {"settings.transform", "--transform"},
      {"settings.normal", "--normal"},
      {"settings.prior_strength", "--prior-strength"},
      {"settings.preconditioner", "--preconditioner"},
      {"settings.regularizer", "--regularizer"},
      {"settings.lambda", "--lambda"},
      {"settings.iterations", "--iterations"},
      {"settings.tolerance", "--tolerance"},
      {"settings.accuracy", "--accuracy"},
      {"settings.precision", "--precision"},
      {"settings.coils.maps", "--coils"},
      {"settings.coils.estimation.sets", "--map-sets"},
      {"settings.coils.whitening", "--whiten"},
      {"settings.coils.compression", "--compress"},
      {"settings.coils.count", "--compress"},
      {"settings.coils.allow_folding", "--allow-folding"},
      {"settings.partial_fourier", "--partial-fourier"},
      {"settings.basis", "--basis"},
      {"settings.surroundings", "--surroundings"},
      {"frames.count", "--frames"},
      {"frames.readouts", "--spokes-per-frame"},
      {"frames.step", "--sliding"},
      {"frames.gate", "--gate"},
      {"noise_map.replicas", "--noise-map"},
      {"execution.device", "--device"},
      {"scan.geometry.matrix_size", "--matrix"},
      {"scan.geometry.fov_mm", "--fov-mm"},
      {"scan.trajectory.unit", "--trajectory-unit"}};
  return table;
}

std::string in_words_of_options(std::string_view line) {
  const auto in_word = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("_./-").find(static_cast<char>(c)) != std::string_view::npos;
  };
  std::string text;
  while (!line.empty()) {
    const auto end = std::find_if_not(line.begin(), line.end(), in_word);
    std::string_view word = line.substr(0, static_cast<std::size_t>(end - line.begin()));
    const std::string_view field = word.substr(0, word.find_last_not_of('.') + 1);  // without a full stop
    const auto& table = options_of_fields();
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == field; });
    if (found == table.end()) {
      word = line.substr(0, std::max<std::size_t>(1, word.size()));
      text += word;
      line.remove_prefix(word.size());
      continue;
    }
    text += found->second;
    line.remove_prefix(field.size());
    if (line.starts_with(" = ")) line.remove_prefix(2);
  }
  return text;
}

void say_in_words_of_options(Report& report) {
  for (auto& [name, value] : report.settings) value = in_words_of_options(value);
  for (auto* sentences : {&report.notes, &report.suspicions, &report.warnings})
    for (auto& sentence : *sentences) sentence = in_words_of_options(sentence);
}

}  // namespace fhd::app
