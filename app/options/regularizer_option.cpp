#include "app/options/regularizer_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/options/nearest_word.hpp"
#include "app/options/values.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

const char* const regularizer_flag = "--regularizer";
/// Returns the sparse term of that name; empty: there is none.
std::optional<SparseKind> sparse_kind_of(const std::string& name) {
  const auto names = names_of(SparseKind{});
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  return static_cast<SparseKind>(found - names.begin());
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::string::size_type begin = 0;
  for (auto end = text.find(','); end != std::string::npos; end = text.find(',', begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

struct Part {
  std::string name;
  std::optional<double> strength;
};

/// Reads "wavelet:0.01" or "identity".
Part parse_part(const std::string& text) {
  const auto colon = text.find(':');
  Part part{text.substr(0, colon), {}};
  std::vector<std::string> known{"identity", "roughness"};
  for (const auto* name : names_of(SparseKind{})) known.push_back(name);
  if (std::find(known.begin(), known.end(), part.name) == known.end())
    throw Error(regularizer_flag, fmt::format("{}", fmt::join(known, ", ")), "'" + part.name + "'",
                did_you_mean(part.name, known));
  if (colon == std::string::npos) return part;
  double strength = 0;
  const std::string number = text.substr(colon + 1);
  const bool is_sparse = sparse_kind_of(part.name).has_value();
  if (is_sparse && number == "auto") return part;
  if (!parse_number(number, strength) || !(strength > 0 && std::isfinite(strength)))
    throw Error(regularizer_flag,
                "a strength above 0 behind " + part.name + ", such as " + part.name + ":0.01" +
                    (is_sparse ? ", or auto" : ""),
                "'" + number + "'");
  part.strength = strength;
  return part;
}

/// Adds a term. Throws Error where it is there already.
void take(const Part& part, RegularizerOption& taken) {
  if (part.name == "identity" || part.name == "roughness") {
    if (!taken.quadratic.empty())
      throw Error(regularizer_flag, "one of identity and roughness",
                  part.name == taken.quadratic ? part.name + " twice" : "both");
    taken.quadratic = part.name;
    taken.quadratic_strength = part.strength;
    return;
  }
  const auto kind = *sparse_kind_of(part.name);
  if (std::any_of(taken.sparse.begin(), taken.sparse.end(),
                  [&](const auto& each) { return each.kind == kind; }))
    throw Error(regularizer_flag, part.name + " once", part.name + " twice");
  taken.sparse.push_back({kind, part.strength});
}

}  // namespace

RegularizerOption parse_regularizer(const std::string& text) {
  RegularizerOption taken;
  for (const auto& part : parts_of(text)) take(parse_part(part), taken);
  if (!taken.sparse.empty() && !taken.quadratic.empty() && !taken.quadratic_strength)
    throw Error(regularizer_flag,
                "a strength behind " + taken.quadratic + " too, such as " + taken.quadratic + ":0.01", "none",
                "in a sum every term has its own, and --lambda is not taken");
  return taken;
}

}  // namespace fhd::app
