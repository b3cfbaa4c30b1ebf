#include <cmath>

#include "app/options/run_options.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::app {

std::vector<std::string> regularizer_names() {
  std::vector<std::string> names{"identity", "roughness"};
  for (const auto* name : names_of(SparseKind{})) names.push_back(name);
  return names;
}

RegularizerOption parse_regularizer(const std::string& text) {
  const std::string flag = "--regularizer";
  constexpr std::size_t quadratic_count = 2;
  const auto known = regularizer_names();
  RegularizerOption taken{"", {}, {}};
  std::vector<bool> is_taken(known.size());
  for (const auto& part : split_at(text, ',')) {
    const auto colon = part.find(':');
    const auto name = part.substr(0, colon);
    const auto place = place_of(flag, name, known);
    const bool is_sparse = place >= quadratic_count;
    if (is_taken[place]) throw Error(flag, name + " once", name + " twice");
    is_taken[place] = true;
    std::optional<double> strength;
    const auto number = colon == std::string::npos ? "" : part.substr(colon + 1);
    if (colon != std::string::npos && !(is_sparse && number == "auto")) {
      double value = 0;
      const bool is_none = name == "identity" && number == "0" && text.find(',') != std::string::npos;
      if (!parse_number(number, value) || !((value > 0 || is_none) && std::isfinite(value)))
        throw Error(flag,
                    "a strength above 0 behind " + name + ", such as " + name + ":0.01" +
                        (is_sparse ? ", or auto" : ""),
                    "'" + number + "'");
      strength = value;
    }
    if (is_sparse)
      taken.sparse.push_back({static_cast<SparseKind>(place - quadratic_count), strength});
    else
      taken.quadratic = name, taken.quadratic_strength = strength;
  }
  if (is_taken[0] && is_taken[1]) throw Error(flag, "one of identity and roughness", "both");
  if (!taken.sparse.empty() && !taken.quadratic.empty() && !taken.quadratic_strength)
    throw Error(flag, "a strength behind " + taken.quadratic + " too, such as " + taken.quadratic + ":0.01",
                "none", "in a sum every term has its own, and " + option_words("lambda") + " is not taken");
  return taken;
}

}  // namespace fhd::app
