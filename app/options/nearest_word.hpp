#pragma once
// Finds the known word that a user may have meant.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fhd::app {

/// Returns how many letters must be inserted, left out, replaced or swapped with their neighbour to make `a` of `b`
/// (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b);
/// Returns the known word nearest to `word`, upper and lower case alike: one that differs in at most a third of its
/// letters, or the only one that `word` begins (three letters or more). Empty where none is near, or two are equally
/// near.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);
/// Returns "did you mean 'recon'?", with `before` in front of the word; empty where none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known,
                         const std::string& before = {});

/// Returns in one line what is wrong with a command line that CLI11 refused for `reason`: an unknown command or option
/// comes first, with the nearest known one; else the reason. `typed`: the words after the program's name.
std::string usage_error(const CLI::App& app, const std::vector<std::string>& typed,
                        const std::string& reason);

}  // namespace fhd::app
