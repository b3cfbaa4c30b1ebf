#pragma once
#include <string>
#include <vector>

namespace fhd::app {

/// Returns the known word nearest to `word`, upper and lower case, - and _ alike: what an option of other programs ("max_iter")
/// is called here, one that differs in at most a third of its letters, or the only one that `word` begins (three letters or
/// more). Empty where none is near, or two are equally near.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);
/// Returns "did you mean 'recon'?" for it, with `before` in front of it; or an empty text.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known,
                         const std::string& before = {});

}  // namespace fhd::app
