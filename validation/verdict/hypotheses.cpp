#include "validation/verdict/hypotheses.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <optional>

#include "recon/array/thread_limit.hpp"
#include "validation/verdict/hypothesis_list.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

/// Returns |change| / |image| without what a factor of the whole image does.
double relative_change(const Matrix& change, const Matrix& image) {
  Complex<double> along;
  for (Index p = 0; p < image.size(); ++p) along += conj(image[p]) * change[p];
  const double all = energy(image);
  return all > 0 ? std::sqrt(std::max(0.0, energy(change) - norm(along) / all) / all) : 0;
}

/// Estimates how much of the image a change concerns, |change of rho| / |rho|: by the phase that it gives samples,
/// shell by shell of k-space, each with the energy of the image there, times what the small image takes of it at the
/// centre.
class ImageChange {
 public:
  ImageChange(const VerifierInput<float>& e, const CentralSamples& s, const std::vector<double>& time,
              const std::array<double, 3>& extent)
      : e_(e),
        s_(s),
        time_(time),
        extent_(extent),
        steps_(steps_along_readouts(e.trajectory, s.readout_starts)) {
    const Index all = e.trajectory.sample_count();
    shell_of_.resize(static_cast<std::size_t>(all));
    int axes = 0;
    for (const int n : e.matrix_size) axes += n > 1;
    std::array<double, shells> data{}, count{};
    for (Index m = 0; m < all; ++m) {
      double square = 0;
      for (Index axis = 0; axis < 3; ++axis)
        if (const int n = e.matrix_size[static_cast<std::size_t>(axis)]; n > 1)
          square += std::pow(2 * e.trajectory.k[axis * all + m] / n, 2);
      const auto shell = std::min(shells - 1, static_cast<std::size_t>(std::sqrt(square) * (shells - 1)));
      shell_of_[static_cast<std::size_t>(m)] = static_cast<std::uint8_t>(shell);
      ++count[shell];
      for (Index coil = 0; coil < e.coil_count; ++coil)
        data[shell] += norm(Complex<double>(e.predicted[coil * all + m]));
    }
    for (std::size_t shell = 0; shell < shells; ++shell)
      if (count[shell] > 0)
        weight_[shell] =
            data[shell] / count[shell] *
            (std::pow(static_cast<double>(shell) + 1, axes) - std::pow(static_cast<double>(shell), axes));
    const int widest = *std::max_element(e.matrix_size.begin(), e.matrix_size.end());
    central_shell_ = static_cast<std::size_t>(2.0 * s.radius / widest * (shells - 1));
  }

  /// `central`: |change of x| / |x| of the small image x.
  double operator()(const Pattern& pattern, double central) const {
    const Index all = e_.trajectory.sample_count(), some = std::min(all, enough_samples);
    std::array<double, shells> sum{}, count{};
    for (Index i = 0; i < some; ++i) {
      const double place = static_cast<double>(i) * std::numbers::phi;  // spread evenly
      const auto m =
          std::min(all - 1, static_cast<Index>((place - std::floor(place)) * static_cast<double>(all)));
      const auto after = std::upper_bound(s_.readout_starts.begin(), s_.readout_starts.end(), m);
      const auto shell = shell_of_[static_cast<std::size_t>(m)];
      sum[shell] +=
          std::min(2.0, square_of(pattern[s_.group_of(after - s_.readout_starts.begin() - 1)], m, all));
      ++count[shell];
    }
    double changed = 0, whole = 0, changed_centre = 0, centre = 0;
    for (std::size_t shell = 0; shell < shells; ++shell) {
      if (count[shell] == 0) continue;
      changed += weight_[shell] * sum[shell] / count[shell], whole += weight_[shell];
      if (shell <= central_shell_)
        changed_centre += weight_[shell] * sum[shell] / count[shell], centre += weight_[shell];
    }
    if (!(changed_centre > 0)) return central;
    const double taken = std::min(1.0, central / std::sqrt(changed_centre / centre));
    return std::sqrt(changed / whole) * taken;
  }

 private:
  static constexpr std::size_t shells = 17;
  static constexpr Index enough_samples = 5000;

  /// Returns |change of a sample|^2 over |its value|^2, while that is small.
  double square_of(const Sizes& sizes, Index m, Index all) const {
    constexpr double two_pi = 2 * std::numbers::pi;
    std::array<double, 3> k{}, moved{};
    double phase = sizes[change::phase] - sizes[change::offset] * time_[static_cast<std::size_t>(m)];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Index i = static_cast<Index>(axis) * all + m;
      k[axis] = e_.trajectory.k[i];
      moved[axis] = sizes[change::scale + axis] * k[axis] - sizes[change::delay + axis] * steps_[i] +
                    sizes[change::drift + axis] * time_[static_cast<std::size_t>(m)];
      phase -= two_pi * k[axis] * sizes[change::shift + axis];
    }
    double square = phase * phase + sizes[change::gain] * sizes[change::gain];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double turn = sizes[change::turn + axis], shear = sizes[change::shear + axis];
      moved[(axis + 1) % 3] += (shear - turn) * k[(axis + 2) % 3];
      moved[(axis + 2) % 3] += (shear + turn) * k[(axis + 1) % 3];
    }
    for (std::size_t axis = 0; axis < 3; ++axis) square += std::pow(two_pi * extent_[axis] * moved[axis], 2);
    return square;
  }

  const VerifierInput<float>& e_;
  const CentralSamples& s_;
  const std::vector<double>& time_;
  std::array<double, 3> extent_;
  Array<double> steps_;
  std::vector<std::uint8_t> shell_of_;
  std::array<double, shells> weight_{};
  std::size_t central_shell_ = 0;
};

/// Relative error of sizes, because a small matrix cannot hold all of an object.
constexpr double small_model_error = 0.02;

/// A hypothesis with sizes.
struct Fit {
  const Hypothesis* hypothesis = nullptr;
  std::vector<double> sizes{}, deviations{};
  double share = 0;            ///< of what is beyond noise
  double explained = 0;        ///< of all that is left over
  bool is_no_mistake = false;  ///< whatever its sizes are
  double score() const {       // a further unknown has to explain something
    constexpr double price = 0.02;
    return explained - price * static_cast<double>(sizes.size());
  }
  /// The largest size over its deviation.
  double certainty() const {
    double most = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (deviations[i] > 0) most = std::max(most, std::abs(sizes[i]) / deviations[i]);
    return most;
  }
};

class Tests {
 public:
  Tests(const VerifierInput<float>& e, const std::vector<Index>& starts, const std::vector<double>& time,
        double noise_variance, Centre& centre)
      : e_(e), time_(time), starts_(starts), centre_(centre), s_(centre.samples()), noise_(noise_variance) {}

  HypothesisTests operator()() {
    HypothesisTests result;
    // Half of the least that a planted mistake with a cause left over. A mistake changes neighbours alike, so that it
    // explains at most what lasts, and `share` counts half of the rest as noise at most.
    constexpr double of_no_account = 0.0045, least_share = 0.35 / 2;
    if (s_.empty() || s_.lasting_rest < of_no_account || s_.lasting_share < least_share) return result;
    if (!centre_.model() || centre_.model()->freedom() < 0.1 * static_cast<double>(s_.data.size()))
      return result;
    const CentreModel& model = *centre_.model();
    const auto all = hypotheses_for(s_, e_.matrix_size);
    auto fits = first_steps(model, all);
    image_change_.emplace(e_, s_, time_, model.extent());
    constexpr double worth_showing = 0.02;
    std::vector<Fit> shown;
    std::copy_if(fits.begin(), fits.end(), std::back_inserter(shown),
                 [](const Fit& fit) { return fit.share > worth_showing; });
    std::vector<Matrix> changes;
    for (const auto& fit : shown) changes.push_back(model.change_of(fit.hypothesis->of(fit.sizes)));
    if (!changes.empty()) changes = model.images_of(changes);
    result.changes.resize(shown.size());
    for_each_in_parallel(shown.size(), [&](std::size_t i) {
      result.changes[i] = finding_of(shown[i], relative_change(changes[i], model.image()));
    });
    const bool is_nearly_linear = s_.lasting_rest < nearly_linear;
    for (std::size_t i = 0; i < shown.size() && is_nearly_linear; ++i)
      shown[i].is_no_mistake = !may_be_a_mistake(shown[i], result.changes[i].image_change);
    if (is_nearly_linear && std::ranges::all_of(shown, &Fit::is_no_mistake)) return result;
    // The data as the model of the whole image sees them: what the small one cannot hold is no mistake.
    data_ = model.prediction();
    for (Index i = 0; i < data_.size(); ++i) data_[i] += s_.rest[i];
    result.cause = likeliest(shown, all);
    return result;
  }

 private:
  bool is_3d() const { return e_.matrix_size[2] > 1; }
  /// Returns the share of an energy of what is beyond noise.
  double share(double explained, double before, double freedom) const {
    // The estimate of the noise may hold a part of the mistake, which lasts from one sample to the next.
    const double noise = std::min({noise_ * freedom, 0.5 * before, (1 - s_.lasting_share) * before});
    constexpr double most = 0.999;  // 1 is what samples show by themselves (shown_by_samples)
    return explained > 0 ? std::min(most, explained / (before - noise)) : 0;
  }

  /// Returns whether the matrix is long along the axis of a kind, or in its plane.
  bool is_possible(std::size_t kind) const {
    const auto& n = e_.matrix_size;
    return change::is_of_plane(kind) ? n[(kind + 1) % 3] > 1 && n[(kind + 2) % 3] > 1 : n[kind % 3] > 1;
  }

  /// Returns the best fit of each code, kind and time by the linear problem, those that explain most first.
  std::vector<Fit> first_steps(const CentreModel& model, const std::vector<Hypothesis>& all) {
    std::vector<std::size_t> kinds;
    for (std::size_t kind = 0; kind < change::count; ++kind)
      if ((kind >= change::phase && kind <= change::offset) || is_possible(kind)) kinds.push_back(kind);
    const auto products = model.products(kinds, s_.rest);
    const auto rest = model.unexplained(s_.rest);
    const double before = real_product(s_.rest, rest);  // the misfit of the rest, with what its image costs
    std::vector<Fit> best;
    for (const auto& h : all) {
      auto fit = linear(products, kinds, h, before, model.freedom());
      if (!fit) continue;
      const auto same = std::find_if(best.begin(), best.end(), [&](const Fit& other) {
        return other.hypothesis->code == h.code && other.hypothesis->kind == h.kind &&
               other.hypothesis->when == h.when && other.hypothesis->axes == h.axes;
      });
      if (same == best.end())
        best.push_back(*fit);
      else if (fit->score() > same->score())
        *same = *fit;
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const Fit& a, const Fit& b) { return a.score() > b.score(); });
    return best;
  }

  std::optional<Fit> linear(const CentreModel::Products& products, const std::vector<std::size_t>& kinds,
                            const Hypothesis& h, double before, double freedom) const {
    const std::size_t count = h.patterns.size(), n = products.count;
    System system(count);
    std::vector<std::vector<std::pair<std::size_t, double>>> weights(count);  // element, weight
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t g = 0; g < s_.group_count(); ++g)
        for (std::size_t k = 0; k < kinds.size(); ++k)
          if (const double w = h.patterns[i][g][kinds[k]]; w != 0)
            weights[i].emplace_back(g * kinds.size() + k, w);
    for (std::size_t i = 0; i < count; ++i) {
      double bare = 0;
      for (const auto& [a, wa] : weights[i]) system.right[i] += wa * products.onto[a];
      for (std::size_t j = 0; j < count; ++j)
        for (const auto& [a, wa] : weights[i])
          for (const auto& [b, wb] : weights[j]) {
            system(i, j) += wa * wb * products.gram[a * n + b];
            if (i == j) bare += wa * wb * products.bare[a * n + b];
          }
      constexpr double visible = 2e-4;  // of the energy of the change; the image absorbs the rest
      if (!(system(i, i) > visible * bare)) return {};
    }
    const auto solution = solved(system);
    if (!solution) return {};
    Fit fit{&h, solution->sizes};
    const double variance = (before - solution->explained) / (2 * freedom);
    for (std::size_t i = 0; i < count; ++i)
      fit.deviations.push_back(
          std::hypot(std::sqrt(std::max(0.0, variance) * solution->inverse[i * count + i]),
                     small_model_error * solution->sizes[i]));
    fit.share = share(solution->explained, before, freedom);
    fit.explained = solution->explained / before;
    return fit;
  }

  /// `central_change`: of the small image, |change| / |image|.
  Finding finding_of(const Fit& fit, double central_change) const {
    auto finding =
        in_words(*fit.hypothesis, fit.sizes, fit.deviations, e_.matrix_size, s_, e_.sample_time_s != nullptr);
    finding.share = fit.share;
    finding.image_change = (*image_change_)(fit.hypothesis->of(fit.sizes), central_change);
    return finding;
  }

  /// Solves for the sizes of the hypotheses that explain most, and returns the best if it is a mistake.
  std::optional<Finding> likeliest(const std::vector<Fit>& fits, const std::vector<Hypothesis>& all) {
    const std::size_t most_tried = is_3d() ? 2 : 5;
    const double worth_a_try = is_3d() ? 0.25 : 0.1;  // a problem in 3D takes 0.2 s
    const CentreModel told(s_, data_, Pattern(s_.group_count()), centre_.model());
    if (absorbs_too_much(told)) return {};
    std::optional<Fit> best;
    std::size_t tried = 0;
    for (const auto& first : fits) {
      if (first.share < worth_a_try || tried == most_tried) break;
      if (first.certainty() < certain) continue;
      ++tried;
      auto fit = first.is_no_mistake ? std::nullopt : refined(first, told);
      // A small change is told better by the rest of the whole image than by a small one that is solved anew.
      if (!fit || fit->score() < first.score()) fit = first;
      if (is_small(*fit) && (!best || fit->score() > best->score())) best = std::move(fit);
    }
    if (auto fit = long_delay(all, told); fit && is_small(*fit) && (!best || fit->score() > best->score()))
      best = std::move(fit);
    if (!best || best->is_no_mistake || best->share < limit_of(*best) || best->certainty() < certain)
      return {};
    if (leaves_too_much(*best, told)) return {};
    if (best->hypothesis->when == When::step) move_boundary(*best, told);
    size_by_samples(*best);
    const auto changed = told.image_of(told.change_of(best->hypothesis->of(best->sizes)));
    auto finding = finding_of(*best, relative_change(changed, told.image()));
    if (finding.share < share_limit && finding.image_change < 2 * image_change_limit) return {};
    if (finding.image_change < least_change_of(*best)) return {};
    // A large one leaves much more over than errors of maps do, and has to explain it.
    constexpr double large_change = 0.3, most_of_it = 0.5;
    if (is_like_an_image(*best) && finding.image_change > large_change && finding.share < most_of_it)
      return {};
    return finding;
  }

  /// A first step is nearly the solution where less than this lasts: of planted mistakes that left so little, a solution never
  /// explained 0.1 more of what is left over, and never changed the image by 1.4 times as much. (Of those that left more:
  /// 0.9 more, and 4 times as much.)
  static constexpr double nearly_linear = 0.02;
  /// Returns whether a solution can be a mistake where its first step is this.
  bool may_be_a_mistake(const Fit& first, double image_change) const {
    constexpr double more_share = 0.15, times_the_change = 1.5;
    return first.share + more_share >= limit_of(first) &&
           times_the_change * image_change >= least_change_of(first);
  }

  /// Returns whether a change is nearly another image: a scale or a turn of all of k-space; maps found in the scan follow it.
  static bool is_like_an_image(const Fit& fit) {
    const auto kind = fit.hypothesis->kind;
    return fit.hypothesis->when == When::all && kind != change::drift &&
           (kind >= change::scale || change::is_of_plane(kind));
  }
  static double least_change_of(const Fit& fit) {
    constexpr double clear_change = 0.12, beyond_doubt = 20;
    if (is_like_an_image(fit) && fit.share >= share_limit && fit.certainty() > beyond_doubt)
      return image_change_limit;
    return is_like_an_image(fit) || fit.hypothesis->kind == change::drift ? clear_change : image_change_limit;
  }

  /// Takes the sizes that the samples themselves tell, if a change of them explains more than a change of what the
  /// image of the whole scan left over: that image has absorbed a part of the change (k that is 5 % too short would
  /// be told as 4.4 %). It explains less where the small image does not hold the object.
  void size_by_samples(Fit& fit) const {
    const CentreModel told(s_, s_.data, Pattern(s_.group_count()), centre_.model());
    const auto own = refined(fit, told, s_.data);
    if (own && own->explained > fit.explained) fit.sizes = own->sizes, fit.deviations = own->deviations;
  }

  /// Returns share_limit, less for delays, which little else looks like, more for a drift: an ordinary field explains a part
  /// of what is left over by its slope. A scale or a turn that is sure needs to explain nothing more where so
  /// little is left over that the estimate of its noise may hold it.
  double limit_of(const Fit& fit) const {
    constexpr double nearly_all = 0.85, of_delays = 0.35, little = 0.035, beyond_doubt = 8;
    if (fit.hypothesis->kind == change::drift) return nearly_all;
    if (fit.hypothesis->kind == change::delay && fit.hypothesis->when == When::all) return of_delays;
    const bool is_hidden =
        is_like_an_image(fit) && fit.hypothesis->kind < change::shear && s_.lasting_rest < little;
    return is_hidden && fit.certainty() > beyond_doubt ? 0 : share_limit;
  }

  /// Returns whether changes are such as occur beside other mistakes, of orders, units and coils: up to those that the
  /// searches of causes.cpp and maps begin with (20 degrees, 1.25 times, 8 samples, a factor of two and its noise).
  static bool is_small(const Fit& fit) {
    constexpr double most_turned = 0.35, most_scaled = 0.26, most_delayed = 10, most_gained = 2;
    double largest = 0;
    for (const double size : fit.sizes) largest = std::max(largest, std::abs(size));
    const auto kind = fit.hypothesis->kind;
    if (kind == change::gain) return largest < most_gained;
    if (kind < change::turn || kind == change::drift) return true;
    return largest < (kind < change::delay ? most_turned : kind < change::scale ? most_delayed : most_scaled);
  }

  /// Returns whether much is left over, of which the small image explains nine tenths: then it explains as much of
  /// anything. Scans of few planes do so to 95 % and more, others to 70 % at most.
  bool absorbs_too_much(const CentreModel& told) const {
    constexpr double much = 0.15, fewest_left = 0.1;
    return s_.lasting_rest > much &&
           told.misfit() < fewest_left * s_.lasting_rest * s_.lasting_rest * energy(data_);
  }

  /// Returns whether about half of a large misfit stays: another mistake made it.
  bool leaves_too_much(const Fit& fit, const CentreModel& told) const {
    constexpr double large = 0.25, most_left = 0.3;  // of |d|, of the square of the misfit
    const double beyond_noise = told.misfit() - std::min(noise_ * told.freedom(), 0.5 * told.misfit());
    return beyond_noise > large * large * energy(data_) && 1 - fit.share > most_left;
  }

  /// Returns delays that lie beyond the reach of a first step, where much is left over.
  std::optional<Fit> long_delay(const std::vector<Hypothesis>& all, const CentreModel& told) const {
    constexpr double much = 0.02;  // of |d|^2
    if (told.misfit() < much * energy(data_)) return {};
    const auto is_of = [](const Hypothesis& h, bool alike) {
      return h.kind == change::delay && h.when == When::all && (h.axes.size() == 1) == alike;
    };
    const auto alike = std::find_if(all.begin(), all.end(), [&](const auto&h) { return is_of(h, true); }),
               by_axis = std::find_if(all.begin(), all.end(), [&](const auto&h) { return is_of(h, false); });
    const auto few = central_samples(e_, starts_, time_, is_3d() ? 2 : 4, 800);
    if (few.empty()) return {};
    double least = std::numeric_limits<double>::infinity(), start = 0;
    for (double delay = -8; delay <= 8; delay += is_3d() ? 1 : 0.5) {
      const CentreModel model(few, few.data, alike->of(std::vector<double>{delay}));
      const double misfit = model.is_regular() ? model.misfit() / model.freedom() : least;
      if (misfit < least) least = misfit, start = delay;
    }
    if (start == 0) return {};
    auto common = refined({&*alike, {start}}, told);
    auto each = refined({&*by_axis, std::vector<double>(by_axis->axes.size(), start)}, told);
    return !common || (each && each->score() > common->score()) ? each : common;
  }

  /// Moves the first readout of a step to where the rest is least, at most to the next block, or by one readout, and
  /// solves anew, if that explains more: a readout on the wrong side changes the sizes, with which it seems to lie on
  /// the right one.
  void move_boundary(Fit& fit, const CentreModel& told) {
    const Hypothesis& h = *fit.hypothesis;
    const auto block = static_cast<std::size_t>(h.block);
    const CentreModel model(s_, data_, h.of(fit.sizes), &told);
    const CentreModel changed(s_, data_, Pattern(s_.group_count(), h.of(fit.sizes).back()));
    if (!model.is_regular()) return;
    const auto without = told.rest_of(model.image()), with = changed.rest_of(model.image());
    std::vector<double> gain(static_cast<std::size_t>(s_.readout_count));  // of the change, by readout
    const Index coils = s_.data.extent(1);
    for (Index i = 0; i < without.size(); ++i)
      gain[static_cast<std::size_t>(s_.readouts[static_cast<std::size_t>(i / coils)])] +=
          norm(without[i]) - norm(with[i]);
    Index best = s_.block_starts[block + 1];
    double sum = 0, most = 0;
    for (Index j = s_.block_starts[block + 1]; j-- > s_.block_starts[block - 1] + 1;) {
      sum += gain[static_cast<std::size_t>(j)];
      if (sum > most) most = sum, best = j;
    }
    Index& start = s_.block_starts[block];
    Index kept = start;
    for (const Index tried : {best, best - 1, best + 1}) {
      if (tried == kept || tried <= s_.block_starts[block - 1] || tried > s_.block_starts[block + 1])
        continue;
      start = tried;
      if (auto moved = refined(fit, told); moved && moved->score() > fit.score())
        fit = std::move(*moved), kept = tried;
    }
    start = kept;
  }

  std::optional<Fit> refined(const Fit& first, const CentreModel& told) const {
    return refined(first, told, data_);
  }
  /// Gauss and Newton from a first step on.
  std::optional<Fit> refined(const Fit& first, const CentreModel& told, const Matrix& data) const {
    const Hypothesis& h = *first.hypothesis;
    Fit fit = first;
    double misfit = told.misfit();
    std::vector<double> before(first.sizes.size(), 0.0), step = first.sizes;
    const int most_steps = is_3d() ? 4 : 6;
    for (int i = 0; i < most_steps; ++i) {
      for (std::size_t j = 0; j < step.size(); ++j) fit.sizes[j] = before[j] + step[j];
      const CentreModel model(s_, data, h.of(fit.sizes), &told);
      if (!model.is_regular()) return {};
      if (model.misfit() > misfit) {
        for (double& value : step) value /= 3;
        continue;
      }
      misfit = model.misfit();
      before = fit.sizes;
      auto next = step_from(model, h);
      if (!next) return {};
      fit.deviations = next->deviations;
      step = next->sizes;
      double longest = 0;
      for (std::size_t j = 0; j < step.size(); ++j)
        longest = std::max(longest,
                           std::abs(step[j]) / std::max(0.3 * fit.deviations[j], 0.01 * std::abs(before[j])));
      if (longest < 1) break;
    }
    fit.sizes = before;
    fit.share = share(told.misfit() - misfit, told.misfit(), told.freedom());
    fit.explained = 1 - misfit / told.misfit();
    return fit;
  }

  /// One step, with deviations that count what is left over readout by readout (a sandwich).
  std::optional<Fit> step_from(const CentreModel& model, const Hypothesis& h) const {
    const std::size_t count = h.patterns.size();
    System system(count);
    std::vector<Matrix> left;
    for (const auto& pattern : h.patterns) left.push_back(model.change_of(pattern));
    left = model.unexplained(std::move(left));
    const Index coils = s_.data.extent(1);
    std::vector<std::vector<double>> scores(static_cast<std::size_t>(clusters()), std::vector<double>(count));
    for (Index i = 0; i < s_.count(); ++i)
      for (std::size_t a = 0; a < count; ++a)
        for (Index j = i * coils; j < (i + 1) * coils; ++j) {
          const double onto = real_product(left[a][j], model.rest()[j]);
          system.right[a] += onto;
          scores[static_cast<std::size_t>(cluster_of(i))][a] += onto;
          for (std::size_t b = 0; b < count; ++b) system(a, b) += real_product(left[a][j], left[b][j]);
        }
    const auto solution = solved(system);
    if (!solution) return {};
    Fit fit{&h, solution->sizes};
    for (std::size_t a = 0; a < count; ++a) {
      double square = 0;
      for (const auto& score : scores) {
        double of = 0;
        for (std::size_t b = 0; b < count; ++b) of += solution->inverse[a * count + b] * score[b];
        square += of * of;
      }
      const double model_error = small_model_error * std::abs(fit.sizes[a]);
      fit.deviations.push_back(std::hypot(std::sqrt(square), model_error));
    }
    return fit;
  }

  /// Parts of the samples whose rests may depend on each other: readouts, or pieces of a few of them.
  Index clusters() const { return s_.readout_count >= 24 ? s_.readout_count : 48; }
  Index cluster_of(Index i) const {
    return s_.readout_count >= 24 ? s_.readouts[static_cast<std::size_t>(i)] : i * 48 / s_.count();
  }

  const VerifierInput<float>& e_;
  const std::vector<double>& time_;
  const std::vector<Index>& starts_;
  Centre& centre_;
  CentralSamples s_;  ///< of the centre; boundaries of steps may move
  double noise_;
  Matrix data_;
  std::optional<ImageChange> image_change_;
};

}  // namespace

HypothesisTests test_hypotheses(const VerifierInput<float>& input, const std::vector<Index>& starts,
                                const std::vector<double>& time, double noise_variance, Centre& centre) {
  return Tests(input, starts, time, noise_variance, centre)();
}

}  // namespace fhd::validation
