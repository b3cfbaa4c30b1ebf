#pragma once
// Describes neighbouring lines of a Cartesian scan of several coils by each other, without an image and without maps:
// coils see one object through smooth sensitivities, so that samples of a few lines and positions next to each other
// have a covariance of low rank, the same everywhere in k-space (Griswold 2002, doi:10.1002/mrm.10171; Zhang 2011,
// doi:10.1002/mrm.22763). With w the samples of all coils at 5 positions of 3 neighbouring lines, summed over the
// positions p of a line,
//
//     q_r = sum_p w^H R^-1 w,   L = sum_r n log q_r + log det R   (n = 3 * 5 * coils unknowns of w),
//
// is, up to a constant, minus the logarithm of the likelihood of lines whose strength varies (Tyler's estimator of R:
// a line that is wrong weighs little in it). Lines that are multiplied by h_j have q_r = sum conj(h_a) h_b B_ab and L
// - 2 sum log |h|. Differences of L are in nats. Measured on right scans of 2 to 8 coils at SNR 3 to 30, an unneeded
// phase of each line gains 0.1 where it should gain 1/2: L counts fewer values than a line holds. An unneeded gain of
// each gains 0.8 to 1.7, as the strength of lines varies: tests of gains divide by 2.
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/pipeline/context.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Lines of a 2D Cartesian scan near the centre of k-space, in the order of the file.
struct Lines {
  Index coils = 0, count = 0, length = 0;
  Index readouts = 0;                   ///< of the scan, these lines and others
  std::vector<Complex<double>> values;  ///< [line][coil][sample]
  std::vector<Index> numbers;           ///< of the readouts, among all of the scan
  std::vector<Index> places;            ///< of the lines, in steps of the closest two
  std::vector<double> k_along, k_line;  ///< cycles/FOV, [sample] and [line]
  int axis_along = 0, axis_across = 1;
  int voxels_along = 1, voxels_across = 1;

  const Complex<double>* at(Index line, Index coil) const {
    return values.data() + (line * coils + coil) * length;
  }
  Complex<double>* at(Index line, Index coil) { return values.data() + (line * coils + coil) * length; }
  /// Returns sum |d|^2 of a line.
  double energy(Index line) const;
};

/// Returns the lines; empty where the scan is not a plane of parallel lines at one raster, or has one coil.
std::optional<Lines> cartesian_lines(const VerifierInput<float>& input, const std::vector<Index>& starts);

/// Returns sum conj(d_a) d_b over all lines, [a][b].
Array<Complex<double>> gram_of(const Lines& lines);
/// Returns the combinations [combination][coil] of the coils that hold most of the energy, at most so many.
Array<Complex<double>> strongest_combinations(Array<Complex<double>> gram, Index most);
/// Returns lines of combinations of the coils.
Lines combined(const Lines& lines, const Array<Complex<double>>& combinations);

using Factors = std::vector<Complex<double>>;  ///< h, [line]

class LineModel {
 public:
  static constexpr Index neighbours = 3;  ///< lines of w

  explicit LineModel(Lines lines);
  const Lines& lines() const { return lines_; }
  bool empty() const { return relations_.empty(); }
  /// Finds R of the lines times h; makes the model empty where it cannot.
  void learn(const Factors& h);
  /// Returns the cost under the R that was learned: of lines times h, but for a constant.
  double cost(const Factors& h) const;
  /// Returns, for each line and the end, the cost of factors `before` it and `after` from it on.
  std::vector<double> costs_of_steps(const Factors& before, const Factors& after) const;
  /// Returns the cost with the log det R of what was learned.
  double whole_cost() const { return whole_cost_; }
  /// Returns the h that minimizes cost(h) from `h` on: phases alone, or gains, too.
  Factors best_factors(Factors h, bool gains) const;
  /// Returns whether lines are told by their neighbours.
  bool has(Index line) const { return !of_line_[static_cast<std::size_t>(line)].empty(); }

  /// Returns n.
  double unknowns() const { return static_cast<double>(neighbours * positions * lines_.coils); }

  /// Returns |sum| over sum of magnitudes of the products of lines with those before them, at the same positions: 1 where
  /// the phase between neighbours is the same everywhere.
  double coherence() const;

  using Relation = std::array<Index, neighbours>;  ///< numbers of neighbouring lines
  const std::vector<Relation>& relations() const { return relations_; }
  using Block = std::array<Complex<double>, neighbours * neighbours>;
  /// Returns B of a relation of lines with other values.
  Block block_of(std::size_t relation, const Lines& changed) const;
  /// Returns what a relation costs where its lines are multiplied by h: unknowns() log q_r.
  double cost_of(const Block& block, const std::array<Complex<double>, neighbours>& h) const;
  double cost_of(std::size_t relation, const Lines& changed) const {
    return cost_of(block_of(relation, changed), {1., 1., 1.});
  }
  double cost_of(std::size_t relation) const { return cost_of(blocks_[relation], {1., 1., 1.}); }

 private:
  struct Use {
    std::size_t relation;
    std::size_t place;
  };
  using Correlations = std::vector<Complex<double>>;  ///< [pair of places][coil][coil][lag]

  void relate();
  void correlate();
  Correlations correlations_of(std::size_t relation, const Lines& changed) const;
  Block block_of(const Correlations& of, std::size_t kind) const;
  double square(std::size_t relation, const Factors& h) const {
    const auto& lines = relations_[relation];
    return square(blocks_[relation],
                  {h[static_cast<std::size_t>(lines[0])], h[static_cast<std::size_t>(lines[1])],
                   h[static_cast<std::size_t>(lines[2])]});
  }
  static double square(const Block& block, const std::array<Complex<double>, neighbours>& h);
  template <class Visit>
  void for_each_element(const Visit& visit) const;
  std::optional<double> invert(std::size_t kind, const Correlations& mean);
  bool learn_kind(std::size_t kind, const Factors& h);

  static constexpr Index positions = 5;
  static constexpr Index lags = 2 * positions - 1;

  Lines lines_;
  std::vector<double> energies_;      ///< [line]
  double noise_ = 0;                  ///< energy of the weakest lines
  std::vector<Relation> relations_;   ///< ordered by their kind
  std::vector<std::size_t> kinds_;    ///< first relations of each distance of lines; the end as well
  std::vector<std::size_t> kind_of_;  ///< [relation]
  std::vector<std::vector<Use>> of_line_;
  std::shared_ptr<const std::vector<Correlations>> correlations_;  ///< [relation]; copies share them
  std::vector<Correlations> inverse_;  ///< [kind]: R^-1, summed along its diagonals
  std::vector<Block> blocks_;          ///< B, [relation]
  double whole_cost_ = 0;
};

}  // namespace fhd::validation
