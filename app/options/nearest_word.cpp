#include "app/options/nearest_word.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

namespace fhd::app {
namespace {

/// Returns a word as words are compared: in small letters, with dashes within it alone. "lambda_" is "lambda".
std::string plain(std::string text) {
  for (char& c : text) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  while (text.ends_with('-')) text.pop_back();
  return text;
}

/// Returns what an option of other programs is called here: "iterations" of "max-iter"; else the word.
std::string as_in_fhd(const std::string& word) {
  static const std::map<std::string, std::vector<std::string>> others{
      {"iterations", {"niter", "n-iter", "num-iter", "max-iter", "maxiter", "nb-iter", "n-iterations"}},
      {"lambda", {"l2-reg", "alpha", "mu"}},
      {"tolerance", {"tol", "rtol"}},
      {"maps", {"smaps", "csm", "mps", "sens", "sensitivities", "coil-maps"}},
      {"field-map", {"b0", "b0-map"}},
      {"fov-mm", {"fov"}},
      {"device", {"gpu", "cuda", "cpu"}},
      {"precision", {"dtype"}}};
  for (const auto& [own, names] : others)
    if (std::ranges::find(names, word) != names.end()) return own;
  return word;
}

/// Returns how many letters must be inserted, left out, replaced or swapped with their neighbour to make `a` of `b`
/// (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  constexpr std::size_t longest = 100;  // no word of a command line is longer
  if (a.size() > longest || b.size() > longest) return std::max(a.size(), b.size());
  std::vector<std::size_t> two_before, before(b.size() + 1), now(b.size() + 1);
  std::iota(before.begin(), before.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], two_before[j - 2] + 1);
    }
    two_before = before;
    before = now;
  }
  return before[b.size()];
}

}  // namespace

std::string nearest_word(const std::string& word, const std::vector<std::string>& known) {
  const auto typed = as_in_fhd(plain(word));
  std::string nearest, begun;
  std::size_t least = typed.size() + 1;
  int equally_near = 0, begun_count = 0;
  for (const auto& each : known) {
    const auto candidate = plain(each);
    const bool is_begun = typed.size() >= 3 && candidate.starts_with(typed);
    const bool is_longer = candidate.size() >= 4 && typed.starts_with(candidate);
    if (is_begun || is_longer) begun = each, ++begun_count;
    const auto distance = edit_distance(typed, candidate);
    if (distance > std::max<std::size_t>(1, candidate.size() / 3) || distance > least) continue;
    equally_near = distance < least ? 1 : equally_near + 1;
    least = distance;
    nearest = each;
  }
  if (least > 0 && begun_count == 1) return begun;
  return typed.empty() || (least > 0 && equally_near != 1) ? std::string() : nearest;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known,
                         const std::string& before) {
  const auto nearest = nearest_word(word, known);
  if (nearest.empty()) return {};
  return "did you mean " + (before.empty() ? "'" + nearest + "'" : before + nearest) + "?";
}

}  // namespace fhd::app
