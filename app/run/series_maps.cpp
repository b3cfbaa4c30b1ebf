#include "app/run/series_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "io/scan/scan_parts.hpp"
#include "recon/array/equality.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/coils/undersampling.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/pipeline/decisions.hpp"

namespace fhd::app {
namespace {

/// Samples over voxels at which a series samples k-space fully: a radial scan with twofold oversampled readouts needs pi.
constexpr double enough_samples = 4;

/// Returns whether the samples tell the maps; of a Cartesian lattice with gaps, reference lines do.
bool tells_maps(const Trajectory& trajectory, const std::array<int, 3>& matrix_size) {
  return calibration_is_sampled(trajectory, matrix_size) ||
         lattice_sampling(trajectory, matrix_size).reference_width >= least_reference_width;
}

/// Remembers what the last positions tell: most volumes of a series have the same. Several threads may call it.
class LastPositions {
 public:
  bool tell_maps(const Scan& scan) {
    const auto last = std::atomic_load(&last_);
    if (last && last->matrix_size == scan.geometry.matrix_size && are_equal(last->k, scan.trajectory.k))
      return last->tell;
    const bool tell = tells_maps(scan.trajectory, scan.geometry.matrix_size);
    std::atomic_store(&last_,
                      std::make_shared<const Told>(Told{scan.trajectory.k, scan.geometry.matrix_size, tell}));
    return tell;
  }

 private:
  struct Told {
    Array<double> k;
    std::array<int, 3> matrix_size;
    bool tell;
  };
  std::shared_ptr<const Told> last_;
};

bool may_take_maps(const io::ScanSummary& summary, MapsFrom choice) {
  return choice != MapsFrom::volume && summary.repetition_count > 1 && summary.coil_count > 1;
}

/// Returns the columns of all, one part after the other.
template <class T>
Array<T> joined(const std::vector<const Array<T>*>& parts) {
  const std::int64_t rows = parts.front()->extent(0);
  std::int64_t columns = 0, first = 0;
  for (const auto* part : parts) columns += part->extent(1);
  Array<T> all({rows, columns});
  for (const auto* part : parts) {
    const std::int64_t own = part->extent(1);
    for (std::int64_t row = 0; row < rows; ++row)
      std::copy_n(part->data() + row * own, own, all.data() + row * columns + first);
    first += own;
  }
  return all;
}

/// A calibration of a series and the note that volumes get with it.
struct SeriesCalibration {
  Calibration calibration;
  std::string note;
};

/// Makes calibrations; keeps those of one slice, by contrast and set: volumes are read slice by slice, and the repetitions of
/// several contrasts in turns.
class CalibrationsOfSeries {
 public:
  CalibrationsOfSeries(io::ScanFile file, MapsFrom choice) : file_(std::move(file)), choice_(choice) {}

  /// Returns the calibration for volumes like this one; null where it does not tell more than the volume. Several threads
  /// may call it.
  std::shared_ptr<const SeriesCalibration> of(const io::VolumeContext& volume) {
    const auto counters = counters_of(volume.repetition);
    const Key key{volume.slice, counters.contrast, counters.set};
    const std::lock_guard lock(mutex_);
    std::erase_if(made_, [&](const auto& each) { return std::get<0>(each.first) != volume.slice; });
    const auto known = made_.find(key);
    return known != made_.end() ? known->second : made_.emplace(key, make(key)).first->second;
  }

 private:
  using Key = std::tuple<std::int64_t, int, int>;  ///< slice, contrast, set

  io::RepetitionCounters counters_of(std::int64_t repetition) const {
    const auto& all = file_.summary().repetition_counters;
    return all.empty() ? io::RepetitionCounters{} : all[static_cast<std::size_t>(repetition)];
  }
  std::shared_ptr<const SeriesCalibration> make(const Key& key);

  io::ScanFile file_;
  const MapsFrom choice_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const SeriesCalibration>> made_;
};

std::shared_ptr<const SeriesCalibration> CalibrationsOfSeries::make(const Key& key) {
  const auto [slice, contrast, set] = key;
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < file_.summary().repetition_count; ++i)
    if (const auto own = counters_of(i); own.contrast == contrast && own.set == set) numbers.push_back(i);
  // From the middle outwards: the first may be dark, and neighbours take turns.
  const auto middle = numbers.empty() ? 0 : numbers[numbers.size() / 2];
  std::ranges::stable_sort(numbers, {}, [&](std::int64_t i) { return std::abs(2 * (i - middle) + 1); });
  std::vector<Scan> scans;
  double samples = 0;
  for (const auto repetition : numbers) {
    Scan scan = file_.read(slice, repetition);
    if (holds(scan.messages, io::missing_volume, Severity::warning)) continue;
    samples += static_cast<double>(scan.trajectory.sample_count());
    const auto voxels = static_cast<double>(scan.geometry.voxel_count());
    scans.push_back(std::move(scan));
    const auto &first = scans.front().trajectory.k, &last = scans.back().trajectory.k;
    const bool is_repeated = scans.size() == 2 && first.shape() == last.shape() &&
                             std::equal(first.begin(), first.end(), last.begin());
    if (is_repeated && choice_ == MapsFrom::automatic) return nullptr;  // they do not take turns
    if (samples >= enough_samples * voxels) break;
  }
  if (scans.size() < 2) return nullptr;
  std::vector<const Array<double>*> positions;
  std::vector<const Array<Complex<float>>*> values;
  for (const auto& scan : scans) {
    positions.push_back(&scan.trajectory.k);
    values.push_back(&scan.kspace.values);
  }
  const auto& geometry = scans.front().geometry;
  SeriesCalibration made{{{joined(positions)}, {joined(values)}, geometry.matrix_size, geometry.fov_mm}, {}};
  if (choice_ == MapsFrom::automatic && !tells_maps(made.calibration.trajectory, geometry.matrix_size))
    return nullptr;
  made.note =
      fmt::format("sensitivity maps are found from the readouts of {} repetitions together{}", scans.size(),
                  choice_ == MapsFrom::automatic
                      ? ", because one alone does not tell them (" + option_words("maps-from") + ")"
                      : "");
  return std::make_shared<const SeriesCalibration>(std::move(made));
}

}  // namespace

std::int64_t most_samples_of_series(const io::ScanSummary& summary, MapsFrom choice,
                                    const Settings& settings) {
  const std::int64_t coils = summary.coil_count;
  if (!may_take_maps(summary, choice) ||
      !decide_coils({coils, coils, summary.has_sensitivity_maps}, settings).finds_maps)
    return 0;
  const auto voxels = static_cast<double>(summary.geometry.voxel_count()),
             samples = static_cast<double>(summary.samples_per_scan),
             of_all = samples * static_cast<double>(summary.repetition_count);
  // A volume with so many tells its maps by itself, as a rule.
  if (choice == MapsFrom::automatic && samples >= 2 * voxels) return 0;
  return static_cast<std::int64_t>(std::min(of_all, enough_samples * voxels + samples));
}

void take_maps_from_series(io::ScanFile& file, MapsFrom choice, const Settings& settings) {
  if (!may_take_maps(file.summary(), choice)) return;
  const auto calibrations = std::make_shared<CalibrationsOfSeries>(file, choice);
  const auto positions = std::make_shared<LastPositions>();
  file.add([calibrations, positions, choice, settings](Scan& scan, io::VolumeContext& context) {
    const std::int64_t coils = scan.kspace.coil_count();
    if (scan.calibration || holds(scan.messages, io::missing_volume, Severity::warning) ||
        !decide_coils({coils, coils, scan.sensitivity_maps.has_value(), scan.noise.has_value()}, settings)
             .finds_maps ||
        (choice == MapsFrom::automatic && positions->tell_maps(scan)))
      return;
    const auto found = calibrations->of(context);
    if (!found) return;
    scan.calibration = found->calibration;
    scan.messages.push_back({maps_from_series, Severity::note, found->note});
  });
}

}  // namespace fhd::app
