#include "validation/verdict/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>

#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/option_words.hpp"
#include "validation/doctor/checks.hpp"
#include "validation/verdict/centre_misfit.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/map_agreement.hpp"
#include "validation/verdict/readout_order.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

using Starts = std::vector<Index>;

/// |d - E rho| / |d| of the centre of k-space, noise included, of a model that is right.
constexpr double explained_limit = 0.15;

Index sample_count(const Scan& scan) { return scan.trajectory.sample_count(); }

/// Returns the sample nearest to k = 0, of first ... last - 1.
Index nearest_to_centre(const Trajectory& trajectory, Index first, Index last) {
  const Index count = trajectory.sample_count();
  const auto square = [&](Index m) {
    return std::pow(trajectory.k[m], 2) + std::pow(trajectory.k[count + m], 2) +
           std::pow(trajectory.k[2 * count + m], 2);
  };
  Index best = first;
  for (Index m = first; m < last; ++m)
    if (square(m) < square(best)) best = m;
  return best;
}

/// Turns every readout so that its sample nearest to the centre of k-space has the phase of that of the first readout.
void align_phases(const Starts& starts, Scan& scan) {
  const Index coils = scan.kspace.coil_count(), count = sample_count(scan);
  auto& values = scan.kspace.values;
  const Index first = nearest_to_centre(scan.trajectory, starts[0], starts[1]);
  for (std::size_t j = 1; j + 1 < starts.size(); ++j) {
    Complex<float> sum{};
    const Index at = nearest_to_centre(scan.trajectory, starts[j], starts[j + 1]);
    for (Index coil = 0; coil < coils; ++coil)
      sum += conj(values[coil * count + at]) * values[coil * count + first];
    const float size = std::sqrt(norm(sum));
    if (!(size > 0)) continue;
    const Complex<float> turn{sum.re / size, sum.im / size};
    for (Index coil = 0; coil < coils; ++coil)
      for (Index m = starts[j]; m < starts[j + 1]; ++m)
        values[coil * count + m] = turn * values[coil * count + m];
  }
}

/// Keeps only the samples that `keeps` selects.
void keep_samples(const std::function<bool(Index)>& keeps, Scan& scan) {
  const Index count = sample_count(scan);
  std::vector<Index> kept;
  for (Index m = 0; m < count; ++m)
    if (keeps(m)) kept.push_back(m);
  const auto left = static_cast<Index>(kept.size());
  const auto select = [&](auto& values) {
    std::remove_reference_t<decltype(values)> part(Shape{values.extent(0), left});
    for (Index row = 0; row < values.extent(0); ++row)
      for (Index i = 0; i < left; ++i)
        part[row * left + i] = values[row * count + kept[static_cast<std::size_t>(i)]];
    values = std::move(part);
  };
  select(scan.trajectory.k);
  select(scan.kspace.values);
}

/// Shifts the trajectory by `samples` along its readouts: gradients are so late.
void delay_trajectory(const Starts& starts, double samples, Scan& scan) {
  const Index count = sample_count(scan);
  const Array<double> told = scan.trajectory.k;
  for (Index axis = 0; axis < 3; ++axis) {
    const double* from = told.data() + axis * count;
    for (std::size_t j = 0; j + 1 < starts.size(); ++j) {
      const Index first = starts[j], last = starts[j + 1] - 1;
      for (Index m = first; m <= last; ++m)
        scan.trajectory.k[axis * count + m] = between(from, static_cast<double>(m) - samples, first, last);
    }
  }
}

/// Returns whether k moves alike from every sample to the next: a delay then is a phase over the object.
bool is_of_one_direction(const Trajectory& trajectory, const Starts& starts) {
  constexpr double alike = 1e-3;  // cycles/FOV
  const Index count = trajectory.sample_count();
  for (Index axis = 0; axis < 3; ++axis) {
    const double* k = trajectory.k.data() + axis * count;
    for (std::size_t j = 0; j + 1 < starts.size(); ++j)
      for (Index m = starts[j]; m + 1 < starts[j + 1]; ++m)
        if (std::abs(k[m + 1] - k[m] - (k[1] - k[0])) > alike) return false;
  }
  return true;
}

/// Turns every readout about z so that its last sample lies `step_degrees` further than that of the one before.
void turn_readouts(const Starts& starts, double step_degrees, Scan& scan) {
  const Index count = sample_count(scan);
  double* k = scan.trajectory.k.data();
  for (std::size_t j = 0; j + 1 < starts.size(); ++j) {
    const Index last = starts[j + 1] - 1;
    const double angle =
        step_degrees * std::numbers::pi / 180 * static_cast<double>(j) - std::atan2(k[count + last], k[last]);
    const double c = std::cos(angle), s = std::sin(angle);
    for (Index m = starts[j]; m <= last; ++m) {
      const double x = k[m], y = k[count + m];
      k[m] = c * x - s * y, k[count + m] = s * x + c * y;
    }
  }
}

/// A possible cause, and a function that undoes it.
struct Alternative {
  Finding cause;
  std::function<void(Scan&)> undo;
};

/// The alternatives for scans with the positions and coils of `scan`; they refer to it and to `starts`.
class Alternatives {
 public:
  Alternatives(const Scan& scan, const Starts& starts) : scan_(scan), starts_(starts) {}

  std::vector<Alternative> operator()() {
    code_ = codes::
        delays;  // of scans whose maps are found in the data: the tests of hypotheses take maps as they are
    if (!scan_.sensitivity_maps && !is_of_one_direction(scan_.trajectory, starts_))
      for (const double samples : {-8., -4., -2., -1., 1., 2., 4., 8.}) {
        add(fmt::format("readouts are some {:.2g} samples {}", std::abs(samples),
                        samples < 0 ? "early" : "late"),
            [starts = &starts_, samples](Scan& scan) { delay_trajectory(*starts, samples, scan); });
        list_.back().cause.amount = samples, list_.back().cause.unit = "samples";
      }
    code_ = "floats", floats();
    code_ = "order", orders();
    code_ = "readouts", readouts();
    code_ = "scale", scales();
    code_ = "sensitivity_maps";
    if (scan_.sensitivity_maps)
      add("the maps do not belong to these coils (order, sign, conjugation or axes)",
          [](Scan& scan) { scan.sensitivity_maps.reset(); });
    return std::move(list_);
  }

 private:
  Index count() const { return sample_count(scan_); }
  Index readout_count() const { return static_cast<Index>(starts_.size()) - 1; }
  bool is_long(int axis) const { return scan_.geometry.matrix_size[static_cast<std::size_t>(axis)] > 1; }

  void add(std::string cause, std::function<void(Scan&)> undo) {
    list_.push_back({{code_, std::move(cause)}, std::move(undo)});
  }
  /// Adds an order: the sample at position m is the one stored for `source(m)`.
  void add_order(std::string cause, std::function<Index(Index)> source) {
    add(std::move(cause), [source = std::move(source)](Scan& scan) {
      const auto told = scan.kspace.values;
      const Index all = sample_count(scan);
      for (Index coil = 0; coil < scan.kspace.coil_count(); ++coil)
        for (Index m = 0; m < all; ++m) scan.kspace.values[coil * all + m] = told[coil * all + source(m)];
    });
  }
  void add_part(std::string cause, std::function<bool(Index)> keeps) {
    add(std::move(cause), [keeps = std::move(keeps)](Scan& scan) { keep_samples(keeps, scan); });
  }

  /// Adds factors of k, but for those that carry it beyond the k-space of the matrix: what is left of its centre then is
  /// smooth, and any model explains it.
  void scales() {
    constexpr double inside = 1.2;
    const auto largest = io::largest_magnitude(scan_.trajectory.k);
    const auto times = [&](const std::string& cause, std::array<double, 3> factor) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double most = inside * std::max(1, scan_.geometry.matrix_size[axis]) / 2;
        if (factor[axis] > 1 && is_long(static_cast<int>(axis)) && factor[axis] * largest[axis] > most)
          return;
      }
      add(cause, [factor](Scan& scan) {
        const Index all = sample_count(scan);
        for (Index i = 0; i < 3 * all; ++i) scan.trajectory.k[i] *= factor[static_cast<std::size_t>(i / all)];
      });
      list_.back().cause.correction.assign(factor.begin(), factor.end());
    };
    for (const double factor :
         {2.0, std::numbers::pi, 2 * std::numbers::pi, 1.25, 0.8, 0.5, 1 / std::numbers::pi})
      times(fmt::format("the scale of k-space (unit or FOV): k is {:.3g} times as long as the file states",
                        factor),
            {factor, factor, factor});
    for (int axis = 0; axis < 3; ++axis)
      for (const double factor : {2.0, 0.5}) {
        std::array<double, 3> factors{1, 1, 1};
        factors[static_cast<std::size_t>(axis)] = factor;
        if (is_long(axis))
          times(fmt::format("the scale of k_{} (FOV along {}): {} times as long as the file states",
                            "xyz"[axis], "xyz"[axis], factor),
                factors);
      }
  }

  void floats() {
    add(doctor::floats_in_words, [](Scan& scan) {
      auto& values = scan.kspace.values;
      for (Index i = values.size() - 1; i > 0; --i) values[i] = {values[i - 1].im, values[i].re};
    });
  }

  void orders() {
    const Index length = readout_length(starts_), readouts = readout_count();
    if (length < 2 || readouts < 2) return;
    add_order("the readouts are reversed in time",
              [=](Index m) { return m / length * length + length - 1 - m % length; });
    for (const Index odd : {0, 1})
      add_order("every other readout is reversed in time", [=](Index m) {
        return m / length % 2 == odd ? m : m / length * length + length - 1 - m % length;
      });
    add_order("the order of the samples: each readout holds its even samples first, then its odd ones",
              [=](Index m) {
                const Index n = m % length, half = (length + 1) / 2;
                return m - n + (n % 2 == 0 ? n / 2 : half + n / 2);
              });
    for (const Index by : {Index{1}, readouts - 1})
      add_order("the order of the readouts: off by one",
                [=](Index m) { return (m / length + by) % readouts * length + m % length; });
    add_order("the order of the readouts: reversed",
              [=](Index m) { return (readouts - 1 - m / length) * length + m % length; });
    add_order("the order of the samples: readouts and samples are transposed",
              [=](Index m) { return m % length * readouts + m / length; });
  }

  void readouts() {
    if (readout_count() >= 8) {
      add("the phase of the readouts changes from one to the next",
          [starts = &starts_](Scan& scan) { align_phases(*starts, scan); });
      if (is_of_one_direction(scan_.trajectory, starts_)) return;
      const double n = static_cast<double>(readout_count());
      for (const double step : {111.246117975, 222.492235950, 137.507764050, 180 / n, 360 / n})
        add(fmt::format("the angles of the readouts: steps of {:.4g} degrees, not as the file states", step),
            [starts = &starts_, step](Scan& scan) { turn_readouts(*starts, step, scan); });
    }
  }

  const Scan& scan_;
  const Starts& starts_;
  std::string code_;  ///< of the causes that are being added
  std::vector<Alternative> list_;
};

/// Returns a delay near a first one, by a parabola through the misfits about it, in which a quarter of it is a step.
Finding refined_delay(const Scan& scan, const CoilSettings& coils, const Starts& starts, double first) {
  double least = std::numeric_limits<double>::infinity(), best = first;
  const double step = first / 4;
  std::array<double, 7> misfits{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < misfits.size(); ++i) {
    Scan without(scan);
    without.kspace.in_double = {};
    delay_trajectory(starts, first + (static_cast<double>(i) - 3) * step, without);
    misfits[i] = std::pow(misfit_of_centre(without, coils), 2);
    if (misfits[i] < least) least = misfits[i], at = i;
  }
  best = first + (static_cast<double>(at) - 3) * step;
  if (at > 0 && at + 1 < misfits.size()) {
    const double curve = misfits[at - 1] - 2 * least + misfits[at + 1];
    if (curve > 0) best += step * (misfits[at - 1] - misfits[at + 1]) / 2 / curve;
  }
  const double uncertainty = std::abs(step) / 4;
  Finding late{codes::delays,
               fmt::format("readouts are {:.2g} \u00b1 {:.1g} samples {}", std::abs(best), uncertainty,
                           best < 0 ? "early" : "late"),
               best, uncertainty, "samples"};
  return with_correction(std::move(late),
                         std::vector<double>(scan.geometry.matrix_size[2] > 1 ? 3 : 2, best));
}

/// Returns the misfit with a second set of maps, where a voxel holds more than one place; infinite where none is
/// found, or the maps are not one set by espirit.
double misfit_of_two_sets(const Scan& scan, CoilSettings coils) {
  const bool finds_one_set = (coils.maps == CoilMaps::automatic || coils.maps == CoilMaps::espirit) &&
                             coils.map_sets == MapSetCount::one && !scan.sensitivity_maps &&
                             !scan.field_map && scan.kspace.coil_count() > 1;
  if (!finds_one_set) return std::numeric_limits<double>::infinity();
  coils.map_sets = MapSetCount::automatic;
  return misfit_of_centre(scan, coils);
}

/// Returns the cause that positions fill hardly more than the centre of k-space, and all of it in another unit.
std::optional<Finding> cause_of_unit(const Scan& scan) {
  const auto largest = io::largest_magnitude(scan.trajectory.k);
  const auto unit = io::likelier_unit(io::TrajectoryUnit::cycles_per_fov, largest, scan.geometry);
  if (!unit) return {};
  return make_finding(
      "unit", fmt::format("the unit of the trajectory: |k| of at most {:.4g} fills k-space if it is in {}",
                          *std::max_element(largest.begin(), largest.end()), io::name_of(*unit)));
}

/// Returns a cause that the positions or the samples show: another unit, many samples of one largest magnitude, or a coil
/// of noise.
std::optional<Finding> evident_cause(const Scan& scan) {
  if (auto unit = cause_of_unit(scan)) return unit;
  const auto clipped = doctor::clipping_of(scan.kspace);
  if (clipped.count > 0)
    return make_finding("clipping",
                        fmt::format("samples clipped by the receiver: {:.2g} % of them, in {} coil{}",
                                    100 * clipped.share, clipped.coils, doctor::plural(clipped.coils)),
                        100 * clipped.share, 0, "%");
  if (auto noise = doctor::coils_of_noise(scan); noise.noise > 1.4 && !scan.noise)
    return with_correction(
        make_finding("coil", std::move(noise.text), noise.noise, 0, "times the noise of the others"),
        {noise.coils.begin(), noise.coils.end()});
  return {};
}

/// Moves the positions of readout `first` and all later ones by `shift` places; readouts without a place are left out.
void move_readouts(const Starts& starts, Index first, Index shift, Scan& scan) {
  const Index length = readout_length(starts), readouts = static_cast<Index>(starts.size()) - 1;
  if (length == 0) return;
  const Index count = sample_count(scan);
  const auto told = scan.trajectory.k;
  std::vector<bool> has_place(static_cast<std::size_t>(readouts), true);
  for (Index j = first; j < readouts; ++j) {
    const Index place = j + shift;
    has_place[static_cast<std::size_t>(j)] = place >= 0 && place < readouts;
    if (!has_place[static_cast<std::size_t>(j)]) continue;
    for (Index axis = 0; axis < 3; ++axis)
      std::copy_n(told.data() + axis * count + place * length, length,
                  scan.trajectory.k.data() + axis * count + j * length);
  }
  keep_samples([&](Index m) { return static_cast<bool>(has_place[static_cast<std::size_t>(m / length)]); },
               scan);
}

/// Returns the shift of the readouts from the first of a finding on that explains what is left over best; 0: none does.
Index shift_of(const Finding& order, const Starts& starts, const Scan& scan, const CoilSettings& coils,
               double as_told) {
  double least = 0.6 * as_told;
  Index best = 0;
  for (const Index shift : {1, -1, 2, -2}) {
    Scan without(scan);
    without.kspace.in_double = {};
    move_readouts(starts, static_cast<Index>(order.amount), shift, without);
    if (const double left = misfit_of_centre(without, coils); left < least) least = left, best = shift;
  }
  return best;
}

/// Returns the misfit of the centre when a known cause is undone: as large as noise where nothing else stays.
double left_by(const Finding& known, double as_told) {
  return std::max(explained_limit / 3, as_told * std::sqrt(std::max(0.0, 1 - known.share)));
}

/// Returns by how much a misfit counts as larger for the sizes that its alternative is free to choose.
double price_of(const std::string& code) { return code == "scale" || code == codes::delays ? 1.3 : 1.1; }

/// Returns how many alternatives are tried at most: each copies the values of the scan a few times.
std::size_t alternatives_tried(const Scan& scan, bool thorough) {
  constexpr Index most_values = 600'000'000, fewest = 8, all = 1000;
  const Index values = std::max<Index>(1, scan.kspace.coil_count() * sample_count(scan));
  const bool is_3d = scan.geometry.matrix_size[2] > 1;
  return static_cast<std::size_t>(is_3d && !thorough ? fewest
                                                     : std::clamp(most_values / values, fewest, all));
}

/// Returns the scan without the mistake of an alternative.
Scan undone(const Scan& scan, const Alternative& alternative) {
  Scan without(scan);
  without.kspace.in_double = {};
  alternative.undo(without);
  return without;
}

/// Returns the alternatives that are worth a reconstruction of the centre, in their order: of 3D scans, whose centre
/// costs ten times that of others, those that explain the innermost part of it best. Maps of it are found by ESPIRiT
/// where they are found at all: joint estimation takes five times as long.
std::vector<Alternative> promising(std::vector<Alternative> all, std::size_t most, const Scan& scan,
                                   const CoilSettings& coils) {
  constexpr std::size_t kept = 6;
  all.resize(std::min(all.size(), most));
  if (scan.geometry.matrix_size[2] == 1 || all.size() <= kept) return all;
  CoilSettings quick(coils);
  if (quick.maps == CoilMaps::automatic) quick.maps = CoilMaps::espirit;
  std::vector<std::pair<double, std::size_t>> misfits;
  for (const auto& one : all)
    misfits.emplace_back(
        price_of(one.cause.code) * misfit_of_centre(undone(scan, one), quick, CentreSize::small),
        misfits.size());
  std::partial_sort(misfits.begin(), misfits.begin() + std::ptrdiff_t{kept}, misfits.end());
  std::sort(misfits.begin(), misfits.begin() + std::ptrdiff_t{kept},
            [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<Alternative> some;
  for (std::size_t i = 0; i < kept; ++i) some.push_back(std::move(all[misfits[i].second]));
  return some;
}

}  // namespace

std::optional<Finding> likeliest_cause(const Scan& scan, const CoilSettings& coils,
                                       std::optional<Finding> known, bool thorough) {
  if (auto evident = evident_cause(scan)) return evident;
  const auto starts = readout_starts(scan.trajectory);
  const double as_told = misfit_of_centre(scan, coils);
  double least = std::min(as_told / 2, std::max(explained_limit, as_told / 3));
  if (known && known->code == "order") {
    if (const Index shift = shift_of(*known, starts, scan, coils, as_told); shift != 0) {
      known->text = order_in_words(static_cast<Index>(known->amount), shift);
      return known;
    }
    known.reset();
  }
  constexpr double sure = 0.95;  // of what is left over
  const bool has_unused_maps = scan.sensitivity_maps && asks_to_find(coils.maps);
  const auto agreement = has_unused_maps ? MapAgreement{} : compare_maps(scan);
  const bool is_of_all = known && known->code != "odd_readouts";  // to leave readouts out always explains
  if (agreement.cause && (agreement.cause->code == "coil" ||      // errors of k or order are not of one coil
                          !(is_of_all && known->share > std::max(sure, agreement.cause->share))))
    return agreement.cause;
  if (is_of_all) least = std::min(least, left_by(*known, as_told));
  std::optional<Finding> cause = std::move(known);
  if (const double left = misfit_of_two_sets(scan, coils); left < least)
    least = left,
    cause = make_finding(codes::folding,
                         "the object is larger than the field of view and folds, which one set of maps "
                         "does not describe");
  for (const auto& alternative :
       promising(Alternatives(scan, starts)(), alternatives_tried(scan, thorough), scan, coils)) {
    const auto& likely = alternative.cause;
    const Scan without = undone(scan, alternative);
    const double left = misfit_of_centre(without, coils);
    // Without its maps almost every mistake is less of one.
    const double weight =
        (scan.sensitivity_maps && !without.sensitivity_maps ? 3 : 1) * price_of(likely.code);
    if (weight * left < least) least = weight * left, cause = likely;
    if (least < std::min(explained_limit / 3, as_told / 8)) break;  // no doubt is left
  }
  if (cause && cause->code == codes::delays && cause->uncertainty == 0)
    return refined_delay(scan, coils, starts, cause->amount);
  return cause ? cause : unlike_maps(agreement);
}

}  // namespace fhd::validation
