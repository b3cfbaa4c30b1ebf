#pragma once
// What a user may have meant by a word that is not known.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace fhd::app {

/// Letters to insert, leave out, replace or swap with their neighbour to make `a` of `b` (optimal string
/// alignment).
std::size_t edit_distance(const std::string& a, const std::string& b);
/// The known word nearest to `word`, upper and lower case alike: one that differs in at most a third of its
/// letters, or the only one that `word` begins (three letters or more). Empty where none is near, or two are
/// equally so.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);
/// "did you mean 'recon'?", with `before` in front of the word; empty where none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known,
                         const std::string& before = {});

/// The words that an option takes. What is said of another names the nearest.
CLI::Validator one_of(const std::vector<std::string>& words);

/// What is wrong with a command line that CLI11 refused for `reason`, in one line: an unknown command or option
/// comes first, with the nearest; else the reason. `typed`: the words after the program's name.
std::string usage_error(const CLI::App& app, const std::vector<std::string>& typed, const std::string& reason);

}  // namespace fhd::app
