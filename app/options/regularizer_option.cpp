#include "app/options/regularizer_option.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/options/nearest_word.hpp"
#include "app/options/options.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

const char* const option = "--regularizer";
constexpr SparseKind sparse_kinds[] = {SparseKind::wavelet, SparseKind::tv, SparseKind::tgv,
                                       SparseKind::temporal_tv, SparseKind::llr};

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

/// "wavelet:0.01" or "identity".
Part parse_part(const std::string& text) {
  const auto colon = text.find(':');
  Part part{text.substr(0, colon), {}};
  std::vector<std::string> known{"identity", "roughness"};
  for (const auto kind : sparse_kinds) known.push_back(name_of(kind));
  if (std::find(known.begin(), known.end(), part.name) == known.end())
    throw Error(option, "identity, roughness, wavelet, tv, tgv, temporal-tv or llr", "'" + part.name + "'",
                did_you_mean(part.name, known));
  if (colon == std::string::npos) return part;
  double strength = 0;
  const std::string number = text.substr(colon + 1);
  const bool is_sparse = std::any_of(std::begin(sparse_kinds), std::end(sparse_kinds),
                                     [&](SparseKind kind) { return part.name == name_of(kind); });
  if (is_sparse && number == "auto") return part;
  if (!parse_number(number, strength) || !(strength > 0 && std::isfinite(strength)))
    throw Error(option, "a strength above 0 behind " + part.name + ", such as " + part.name + ":0.01" +
                            (is_sparse ? ", or auto" : ""),
                "'" + number + "'");
  part.strength = strength;
  return part;
}

void take(const Part& part, RegularizerOption& taken) {
  if (part.name == "identity" || part.name == "roughness") {
    if (!taken.quadratic.empty())
      throw Error(option, "one of identity and roughness",
                  part.name == taken.quadratic ? part.name + " twice" : "both");
    taken.quadratic = part.name;
    taken.quadratic_strength = part.strength;
    return;
  }
  const auto kind = *std::find_if(std::begin(sparse_kinds), std::end(sparse_kinds),
                                  [&](SparseKind each) { return part.name == name_of(each); });
  if (std::any_of(taken.sparse.begin(), taken.sparse.end(),
                  [&](const auto& each) { return each.kind == kind; }))
    throw Error(option, part.name + " once", part.name + " twice");
  taken.sparse.push_back({kind, part.strength});
}

}  // namespace

RegularizerOption parse_regularizer(const std::string& text) {
  RegularizerOption taken;
  for (const auto& part : parts_of(text)) take(parse_part(part), taken);
  if (!taken.sparse.empty() && !taken.quadratic.empty() && !taken.quadratic_strength)
    throw Error(option, "a strength behind " + taken.quadratic + " too, such as " + taken.quadratic + ":0.01",
                "none", "in a sum every term has its own, and --lambda is not taken");
  return taken;
}

}  // namespace fhd::app
