#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "recon/array/linear_algebra.hpp"
#include "recon/trajectory/small_grid.hpp"
#include "validation/verdict/arm_tests.hpp"
#include "validation/verdict/readout_order.hpp"

namespace fhd::validation {
namespace {

using Source = std::vector<Index>;  ///< [arm]: which readout of the file belongs there

struct Order {
  std::string text{};
  std::string code = "exchange";
  Index first = 0;  ///< readout, from 0
  Source source{};
  double misfit = 0;
};

class ArmOrders {
 public:
  ArmOrders(const ArmModel& model, const SamplesOfReadouts& samples, double noise)
      : model_(model),
        samples_(samples),
        n_(model.arms().arms),
        all_(static_cast<Index>(model.arms().all.size())),
        stride_(model.arms().stride),
        noise_(noise) {
    for (Index l = 0; l < n_; ++l) told_.push_back(l * stride_);
    data_ = samples_(told_);
  }

  std::optional<ArmCause> operator()() const {
    const double told = misfit(told_), most = beyond_noise(most_left_of_energy, told, noise_);
    Order best;
    best.misfit = most;
    const auto consider = [&](Order order) {
      if (order.misfit < best.misfit) best = std::move(order);
    };
    for (const auto& [text, places] : named_orders(all_)) {
      Source source;
      for (const Index place : told_) source.push_back(places[at(place)]);
      const double left = misfit(source);
      consider({text, "exchange", 0, std::move(source), left});
    }
    for (const Index by : {1, -1, 2, -2}) consider(moved(by));
    // A free order leaves less than one with a name, if only by what is noise. One of many fits a little by chance.
    constexpr double clearly = 0.5, most_of_free = 0.1;
    const double limit = best.source.empty() ? beyond_noise(most_of_free, told, noise_)
                                             : beyond_noise(clearly, best.misfit, noise_);
    if (stride_ > 1) {
      // Another order of all readouts is told by their samples alone (order_by_neighbours).
    } else if (auto free = n_ <= few_arms ? by_exchanges(limit) : by_assignment(limit); free.misfit < limit) {
      best = std::move(free);
    }
    if (best.source.empty()) return {};
    return ArmCause{
        {best.code, best.text,
         static_cast<double>(model_.arms().numbers[static_cast<std::size_t>(best.first)]), 0, "readouts", 1},
        best.misfit};
  }

 private:
  static constexpr Index few_arms = 24;

  double misfit(const Source& source) const { return model_.misfit(model_.arranged(samples_(source))); }
  static std::size_t at(Index l) { return static_cast<std::size_t>(l); }

  /// Returns the best order in which from some readout on each holds the samples of `by` places later.
  Order moved(Index by) const {
    // Places whose samples were lost, or to which none are moved, are left out. The sum z = A^H w follows the first readout.
    const auto has_source = [&](Index l) { return told_[at(l)] >= by && told_[at(l)] - by < all_; };
    Source source;
    for (Index l = 0; l < n_; ++l) source.push_back(has_source(l) ? told_[at(l)] - by : 0);
    const Matrix moved = samples_(source);
    Matrix z({model_.voxels(), model_.arms().coils});
    double all = 0;
    const auto add = [&](const Matrix& of, Index l, double sign) {
      add_arm(of, l, l, sign, 0, z);
      all += sign * energy_of_arm(of, l, l);
    };
    const auto add_moved = [&](Index l, double sign) {
      if (l < n_ && has_source(l)) add(moved, l, sign);
    };
    const Index lost = stride_ == 1 ? std::max<Index>(0, by) : by > 0;  // arms
    for (Index l = lost; l < n_; ++l) add_moved(l, 1);
    Order best{.misfit = std::numeric_limits<double>::infinity()};
    for (Index first = 0; first + 2 < n_; ++first) {
      if (first > 1) {
        std::vector<Index> missing;
        for (Index l = first; l < std::min(n_, first + lost); ++l) missing.push_back(l);
        for (Index l = first; l < n_; ++l)
          if (by < 0 && !has_source(l)) missing.push_back(l);
        if (const double left = model_.misfit_without(missing, z, all); left < best.misfit)
          best.misfit = left, best.first = first;
      }
      add(data_, first, 1);
      add_moved(first + lost, -1);
    }
    best.code = "order";
    best.text = order_in_words(model_.arms().numbers[at(best.first)], by);
    best.source = told_;  // is not used: some places are empty
    return best;
  }

  // --- Any order ---

  /// Exchanges pairs and moves single arms while that leaves less, from the order told and from random ones.
  Order by_exchanges(double enough) const {
    const Index coils = model_.arms().coils, size = model_.voxels() * coils, pairs = n_ * n_;
    Matrix of_pairs({pairs, size});  // A_l^H d_a, [place and arm][voxel and coil]
    std::vector<double> energies;
    for (Index l = 0; l < n_; ++l) {
      Matrix y({model_.voxels(), n_ * coils});
      for (Index a = 0; a < n_; ++a)
        add_arm(data_, l, a, 1, a * coils, y), energies.push_back(energy_of_arm(data_, l, a));
      for (Index a = 0; a < n_; ++a)
        for (Index i = 0; i < size; ++i)
          of_pairs[(l * n_ + a) * size + i] = y[i / coils * n_ * coils + a * coils + i % coils];
    }
    // |z|^2 of a sum of pairs is the sum of their products.
    const auto products = matrix_product(of_pairs, adjoint(of_pairs));
    const auto left = [&](const Source& s) {
      double sum = 0;
      for (Index l = 0; l < n_; ++l) {
        const Index pair = l * n_ + s[at(l)];
        sum += energies[at(pair)] - products[pair * (pairs + 1)].re;
        for (Index other = 0; other < l; ++other)
          sum -= 2 * products[pair * pairs + other * n_ + s[at(other)]].re;
      }
      return sum;
    };
    std::mt19937 generator(1736);
    Order best{.misfit = std::numeric_limits<double>::infinity()};
    constexpr int starts = 4;
    // An order that is turned leaves as much, but for what the model cannot hold: it gains nothing where all is explained.
    constexpr double clearly_less = 0.8;
    const double explained = 0.2 * enough;
    for (int start = 0; start < starts && !(best.misfit < explained); ++start) {
      Source s(told_);
      if (start > 0) std::shuffle(s.begin(), s.end(), generator);
      double now = left(s);
      for (Index sweep = 0; sweep < 3 * n_; ++sweep) {
        Source next;
        double least = (now < explained ? clearly_less : 1 - 1e-6) * now;
        for (Index a = 0; a < n_; ++a)
          for (Index b = 0; b < n_; ++b) {
            if (a == b) continue;
            for (const bool exchanges : {true, false}) {
              if (exchanges && b < a) continue;
              Source tried(s);
              if (exchanges) {
                std::swap(tried[at(a)], tried[at(b)]);
              } else {
                tried.erase(tried.begin() + a);
                tried.insert(tried.begin() + b, s[at(a)]);
              }
              if (const double of = left(tried); of < least) least = of, next = std::move(tried);
            }
          }
        if (next.empty()) break;
        s = std::move(next), now = least;
      }
      if (now < clearly_less * best.misfit) best.misfit = now, best.source = s;
    }
    describe(best);
    return best;
  }

  /// Adds A_l^H d_a to y from a column on.
  void add_arm(const Matrix& d, Index l, Index a, double sign, Index column, Matrix& y) const {
    const Index coils = model_.arms().coils;
    model_.add_adjoint(
        l, [&](Index row) { return d.data() + (a * model_.arms().places + model_.place(row)) * coils; }, sign,
        column, y);
  }
  double energy_of_arm(const Matrix& d, Index l, Index a) const {
    const Index coils = model_.arms().coils;
    double sum = 0;
    for (Index row = model_.first_row(l); row < model_.end_row(l); ++row)
      for (Index c = 0; c < coils; ++c)
        sum += norm(d[(a * model_.arms().places + model_.place(row)) * coils + c]);
    return sum;
  }

  /// Gives each arm the place whose prediction is most like it, and makes a new image, from the centre of k-space outwards.
  Order by_assignment(double enough) const {
    constexpr Index most_arms = 200;
    Order best{.misfit = std::numeric_limits<double>::infinity()};
    if (n_ > most_arms || model_.arms().axes > 2) return best;
    Source s(told_);
    for (const double radius : {1.5, 2.0, 2.5, 3.0, 4.0}) {
      const ArmModel model(model_.arms(), radius);
      if (!model.is_tested()) continue;
      double now = model.misfit(model.arranged(data_, s));
      for (int iteration = 0; iteration < 8; ++iteration) {
        auto next = assigned(model, model.predicted(model.folded(model.arranged(data_, s))));
        const double then = model.misfit(model.arranged(data_, next));
        if (!(then < now)) break;
        now = then, s = std::move(next);
      }
    }
    best.misfit = misfit(s), best.source = std::move(s);
    if (best.misfit < enough) describe(best);
    return best;
  }
  /// Returns an order where pairs of an arm and a place with the least difference come first.
  Source assigned(const ArmModel& model, const Matrix& predicted) const {
    const Index coils = model_.arms().coils;
    std::vector<std::pair<double, Index>> pairs;
    for (Index l = 0; l < n_; ++l)
      for (Index a = 0; a < n_; ++a) {
        double sum = 0;
        for (Index row = model.first_row(l); row < model.end_row(l); ++row)
          for (Index c = 0; c < coils; ++c)
            sum += norm(data_[(a * model_.arms().places + model.place(row)) * coils + c] -
                        predicted[row * coils + c]);
        pairs.emplace_back(sum, l * n_ + a);
      }
    std::sort(pairs.begin(), pairs.end());
    Source source(at(n_), -1);
    std::vector<bool> taken(at(n_));
    for (const auto& [sum, pair] : pairs) {
      const Index l = pair / n_, a = pair % n_;
      if (source[at(l)] >= 0 || taken[at(a)]) continue;
      source[at(l)] = a, taken[at(a)] = true;
    }
    return source;
  }

  void describe(Order& order) const {
    std::vector<Index> others;
    for (Index l = 0; l < n_; ++l)
      if (order.source[at(l)] != l) others.push_back(l);
    order.text = another_order;
    if (others.size() != 2) return;
    order.first = others[0];
    order.text = fmt::format("the order of the readouts: readouts {} and {} (from 0) are exchanged",
                             model_.arms().numbers[at(others[0])], model_.arms().numbers[at(others[1])]);
  }

  const ArmModel& model_;
  const SamplesOfReadouts& samples_;
  Index n_, all_, stride_;
  double noise_;
  Source told_;
  Matrix data_{};  ///< as told
};

}  // namespace

std::optional<ArmCause> order_of_arms(const ArmModel& model, const SamplesOfReadouts& samples, double noise) {
  return ArmOrders(model, samples, noise)();
}

}  // namespace fhd::validation
