#pragma once
// The hypotheses: what may be wrong, as patterns of elementary changes, and the words for it.
#include <string>
#include <vector>

#include "validation/verdict/centre_model.hpp"

namespace fhd::validation {

/// Which readouts a change concerns: all; those of odd numbers; those from a block on; more and more of it.
enum class When { all, odd, step, drift };

/// Sizes theta_i, each times a pattern.
struct Hypothesis {
  std::string code;
  std::size_t kind = 0;  ///< the first of change:: that it is of
  When when = When::all;
  int block = 0;                    ///< of a step: the first that is changed
  std::vector<int> axes;            ///< of each size; -1: all alike, or none
  std::vector<Pattern> patterns{};  ///< of each size
  /// Returns the changes for these sizes.
  Pattern of(const std::vector<double>& sizes) const;
};

/// Returns the hypotheses for samples of this matrix; those of one code, kind and time, steps alone excepted, occur once.
std::vector<Hypothesis> hypotheses_for(const CentralSamples& samples, const std::array<int, 3>& matrix_size);

/// Returns code, text, amount, uncertainty and unit for sizes with their standard deviations. `has_times`: offsets are in
/// Hz.
Finding in_words(const Hypothesis& hypothesis, const std::vector<double>& sizes,
                 const std::vector<double>& deviations, const std::array<int, 3>& matrix_size,
                 const CentralSamples& samples, bool has_times);

}  // namespace fhd::validation
