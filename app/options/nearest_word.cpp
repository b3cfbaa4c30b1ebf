#include "app/options/nearest_word.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <numeric>

namespace fhd::app {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string without_dashes(const std::string& option) {
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

bool looks_like_option(const std::string& word) {
  const auto first = word.find_first_not_of('-');
  return word.starts_with('-') && first != std::string::npos &&
         std::isalpha(static_cast<unsigned char>(word[first])) != 0;
}

/// Returns the long names of the options that help shows.
std::vector<std::string> shown_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const auto& longer = option->get_lnames();
    names.insert(names.end(), longer.begin(), longer.end());
  }
  return names;
}

std::string help_of(const std::string& command) { return "see '" + command + " --help'"; }

}  // namespace

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

std::string nearest_word(const std::string& word, const std::vector<std::string>& known) {
  const auto typed = lower(word);
  std::string nearest, begun;
  std::size_t least = typed.size() + 1;
  int equally_near = 0, begun_count = 0;
  for (const auto& each : known) {
    const auto candidate = lower(each);
    if (typed.size() >= 3 && candidate.starts_with(typed)) begun = each, ++begun_count;
    const auto distance = edit_distance(typed, candidate);
    if (distance > std::max<std::size_t>(1, candidate.size() / 3) || distance > least) continue;
    equally_near = distance < least ? 1 : equally_near + 1;
    least = distance;
    nearest = each;
  }
  if (least == 0 || typed.empty()) return typed.empty() ? "" : nearest;
  if (begun_count == 1) return begun;
  return equally_near == 1 ? nearest : "";
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known,
                         const std::string& before) {
  const auto nearest = nearest_word(word, known);
  if (nearest.empty()) return {};
  return "did you mean " + (before.empty() ? "'" + nearest + "'" : before + nearest) + "?";
}

std::string usage_error(const CLI::App& app, const std::vector<std::string>& typed,
                        const std::string& reason) {
  std::vector<std::string> commands;
  bool is_known = typed.empty() || typed.front().starts_with('-');
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    is_known = is_known || command->get_name() == typed.front();  // hidden ones too
    if (!command->get_group().empty()) commands.push_back(command->get_name());
  }
  if (!is_known) {
    const auto hint = did_you_mean(typed.front(), commands);
    return "unknown command '" + typed.front() + (hint.empty() ? "'; " + help_of("fhd") : "': " + hint);
  }
  const auto parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.front();
  const auto name = parsed.empty() ? std::string("fhd") : "fhd " + command.get_name();
  const auto left = command.remaining();
  // Searches in the order of the command line: CLI11 returns what it cannot use in its own order.
  const auto unknown = std::find_if(typed.begin(), typed.end(), [&](const std::string& word) {
    return looks_like_option(word) && std::any_of(left.begin(), left.end(), [&](const std::string& each) {
             return word == each || word.starts_with(each + "=");
           });
  });
  if (unknown == typed.end()) return reason + (reason.ends_with('?') ? "" : "; " + help_of(name));
  const auto option = unknown->substr(0, unknown->find('='));
  for (const auto* other :
       app.get_subcommands([](const CLI::App* each) { return each->get_name() == "recon"; }))
    if (&command != other && option.starts_with("--") && other->get_option_no_throw(option))
      return fmt::format("unknown option {} of '{}': only 'fhd recon' has it; {}", option, name,
                         help_of(name));
  const auto hint = did_you_mean(without_dashes(option), shown_options(command), "--");
  return "unknown option " + option + (hint.empty() ? "; " + help_of(name) : ": " + hint);
}

}  // namespace fhd::app
