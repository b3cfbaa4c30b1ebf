#include "validation/verdict/readout_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace fhd::validation {
namespace {

constexpr double share_limit =
    0.012;  ///< of |r|^2; good scans stay below 0.006, the smallest planted one is 0.017
constexpr double step_limit = 0.1;  ///< of v: how much of the move the image did not absorb
constexpr Index fewest = 3;         ///< readouts that are moved; one or two are exchanged

class Order {
 public:
  explicit Order(const ReadoutSet& set) : set_(set) {
    for (Index coil = 0; coil < set.coils; ++coil)
      for (Index j = 0; j < set.readouts; ++j) {
        const float *d = parts(set.data, set.at(coil, j)), *p = parts(set.predicted, set.at(coil, j));
        float rest = 0, square = 0;
#pragma omp simd reduction(+ : rest, square)
        for (Index n = 0; n < 2 * set.length; ++n)
          rest += (d[n] - p[n]) * (d[n] - p[n]), square += d[n] * d[n];
        total_ += static_cast<double>(rest), prediction_ += static_cast<double>(square);
      }
  }

  std::optional<Finding> operator()() const {
    if (set_.readouts < 2 * fewest || !(total_ > 0)) return {};
    return moved_from();
  }

 private:
  /// Returns the parts of samples as they lie in memory, re and im in turn.
  static const float* parts(const std::vector<std::complex<float>>& of, Index at) {
    return reinterpret_cast<const float*>(of.data() + at);
  }
  /// A move by `shift` places from readout `first` on, which explains `share` of |r|^2 with the factor `step`; `other`: the
  /// factor of the readouts on the other side.
  struct Move {
    double share = 0, step = 0, other = 0, square = 0;
    Index shift = 0, first = 0;
  };
  struct Score {
    double onto = 0, square = 0;
  };
  std::vector<Score> scores(Index shift) const {
    std::vector<Score> of(static_cast<std::size_t>(set_.readouts));
    for (Index j = std::max<Index>(0, -shift); j < std::min(set_.readouts, set_.readouts - shift); ++j)
      for (Index coil = 0; coil < set_.coils; ++coil) {
        const float *d = parts(set_.data, set_.at(coil, j)), *p = parts(set_.predicted, set_.at(coil, j)),
                    *q = p + 2 * shift * set_.length;
        float onto = 0, square = 0;
#pragma omp simd reduction(+ : onto, square)
        for (Index n = 0; n < 2 * set_.length; ++n) {
          const float v = q[n] - p[n];
          onto += v * (d[n] - p[n]), square += v * v;
        }
        of[static_cast<std::size_t>(j)].onto += static_cast<double>(onto);
        of[static_cast<std::size_t>(j)].square += static_cast<double>(square);
      }
    return of;
  }
  /// Sums scores from one end on. An image that fits what is moved makes the others look moved the other way.
  Move best_move(const std::vector<Score>& of, Index shift, bool from_end) const {
    Score all;
    for (const auto& score : of) all.onto += score.onto, all.square += score.square;
    Move best;
    double onto = 0, square = 0;
    for (Index i = 0; i + fewest < set_.readouts; ++i) {
      const Index j = from_end ? set_.readouts - 1 - i : i;
      onto += of[static_cast<std::size_t>(j)].onto, square += of[static_cast<std::size_t>(j)].square;
      if (i + 1 < fewest || onto <= 0 || square <= 0) continue;
      if (const double share = onto * onto / square / total_; share > best.share) {
        const double beyond = all.square - square;
        best = {share,
                onto / square,
                beyond > 0 ? (all.onto - onto) / beyond : 0,
                square,
                from_end ? shift : -shift,
                from_end ? j : j + 1};
      }
    }
    return best;
  }
  /// Returns whether the move begins somewhere: what other mistakes leave over points the same way everywhere.
  bool is_sudden(const Move& move) const {
    return move.share > share_limit && move.step > step_limit && move.other < 0.3 * move.step &&
           move.first > fewest && move.first < set_.readouts - fewest;
  }
  std::optional<Finding> moved_from() const {
    constexpr double as_likely = 0.6;  // a move by two looks like a move by one
    Move best;
    double most = 0;
    for (const Index shift : {-1, 1, -2, 2}) {
      const auto of = scores(shift);
      for (const bool from_end : {true, false}) {
        const auto move = best_move(of, shift, from_end);
        const double weight = std::abs(shift) > 1 ? as_likely : 1;
        if (is_sudden(move) && weight * move.share > most) most = weight * move.share, best = move;
      }
    }
    if (most == 0) return {};
    const Index first = set_.numbers[static_cast<std::size_t>(best.first)];
    return make_finding("order", order_in_words(first, best.shift), static_cast<double>(first), 0, "readouts",
                        best.share, std::min(1.0, std::sqrt(best.square / prediction_)));
  }

  const ReadoutSet& set_;
  double total_ = 0, prediction_ = 0;  ///< |r|^2, |d|^2
};

}  // namespace

std::string order_in_words(Index first, Index shift) {
  const Index by = std::abs(shift);
  return fmt::format(
      "the order of the readouts: from readout {} on (from 0) each holds the samples of {} place{} {}", first,
      by, by > 1 ? "s" : "",
      shift > 0 ? "later, as if some were lost there" : "earlier, as if some were stored twice");
}

std::vector<std::pair<std::string, std::vector<Index>>> named_orders(Index readouts) {
  const Index half = (readouts + 1) / 2;
  std::vector<Index> swapped, reversed, folded(static_cast<std::size_t>(readouts)), unfolded(folded);
  for (Index j = 0; j < readouts; ++j) {
    swapped.push_back(std::min(j ^ 1, readouts - 1)), reversed.push_back(readouts - 1 - j);
    const Index place = j < half ? 2 * j : 2 * (j - half) + 1;
    folded[static_cast<std::size_t>(place)] = j, unfolded[static_cast<std::size_t>(j)] = place;
  }
  const std::string order = "the order of the readouts: ";
  return {
      {order + "each two neighbours are swapped", swapped},
      {order + "the even ones are stored first, then the odd ones", folded},
      {order + "even and odd ones are interleaved, which the trajectory has one after the other", unfolded},
      {order + "reversed", reversed}};
}

std::optional<Finding> order_of_readouts(const ReadoutSet& all) { return Order(all)(); }

}  // namespace fhd::validation
