#pragma once
#include <string>
#include <vector>

namespace fhd::app {

/// Returns "did you mean 'recon'?" for the known word nearest to `word`, upper and lower case alike, with `before` in
/// front of it: one that differs in at most a third of its letters, or the only one that `word` begins (three letters
/// or more). Empty where none is near, or two are equally near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known,
                         const std::string& before = {});

}  // namespace fhd::app
