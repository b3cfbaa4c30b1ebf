#include "app/run/volume_reader.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "app/run/series_maps.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/array/equality.hpp"
#include "recon/array/execution.hpp"
#include "recon/array/interruption.hpp"
#include "recon/array/trace.hpp"

namespace fhd::app {
namespace {

/// Returns of how many volumes a reference is the mean; they stay in memory until they are reconstructed.
std::size_t count_of_reference(const Scan& scan, std::size_t volumes) {
  constexpr std::size_t most = 8, most_bytes = std::size_t{1} << 28;
  const auto bytes = static_cast<std::size_t>(scan.kspace.values.size()) * sizeof(Complex<float>);
  return std::min(volumes, std::clamp<std::size_t>(most_bytes / std::max<std::size_t>(bytes, 1), 1, most));
}

bool have_equal_maps(const Scan& a, const Scan& b) {
  if (a.sensitivity_maps.has_value() != b.sensitivity_maps.has_value()) return false;
  return !a.sensitivity_maps || (are_equal(a.sensitivity_maps->values, b.sensitivity_maps->values) &&
                                 are_equal(a.sensitivity_maps->in_double, b.sensitivity_maps->in_double));
}

/// Returns whether a volume has phases or decay of its own.
bool has_own_field(const Scan& volume) { return volume.field_map || volume.decay_per_s || volume.fields; }

bool are_alike(const Scan& a, const Scan& b) {
  return a.geometry.matrix_size == b.geometry.matrix_size &&
         a.kspace.values.shape() == b.kspace.values.shape() &&
         a.kspace.in_double.empty() == b.kspace.in_double.empty() &&
         are_equal(a.trajectory.k, b.trajectory.k) && a.cropped_matrix_size == b.cropped_matrix_size &&
         !has_own_field(a) && !has_own_field(b) && have_equal_maps(a, b);
}

/// Returns whether a volume is zero because the scan has no readout of it: it has no calibration either.
bool is_missing(const Scan& volume) { return holds(volume.messages, io::missing_volume, Severity::warning); }

bool found_from_series(const Scan& volume) {
  return volume.calibration && holds(volume.messages, maps_from_series, Severity::note);
}

/// Removes what a further volume of a series has in common with the reference.
void leave_to_reference(Scan& volume) {
  volume.sensitivity_maps.reset();
  if (found_from_series(volume)) volume.calibration.reset();
}

/// Adds share * values to `sum`; the factor comes first, so that a mean does not leave the range of its values.
template <class T>
void add(const Array<Complex<T>>& values, double share, Array<Complex<T>>& sum) {
  for (std::int64_t i = 0; i < sum.size(); ++i) sum.data()[i] += static_cast<T>(share) * values.data()[i];
}

/// Returns `count` of `numbers`, evenly spread, the first among them.
std::set<std::size_t> spread(const std::vector<std::size_t>& numbers, std::size_t count) {
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.insert(numbers[i * numbers.size() / count]);
  return chosen;
}

/// Returns the number of threads that read; each holds a volume in addition to those in the queue.
std::size_t reader_count(const io::ScanFile& file, std::size_t volumes) {
  if (!file.reads_concurrently()) return 1;
  constexpr double most = 8, most_bytes = 1 << 26;
  const auto& summary = file.summary();
  const double bytes = static_cast<double>(summary.samples_per_scan) *
                       static_cast<double>(summary.coil_count) * sizeof(Complex<float>);
  const double threads =
      std::min({most, most_bytes / bytes, static_cast<double>(volumes), double(omp_get_max_threads())});
  return threads > 1 ? static_cast<std::size_t>(threads) : 1;
}

}  // namespace

Scan in_order_of(const Scan& reference, Scan volume) {
  const auto &k = reference.trajectory.k, &own = volume.trajectory.k;
  if (k.shape() != own.shape()) return volume;
  const auto samples = k.extent(1);
  const auto is_at = [&](std::int64_t m, std::int64_t of_volume) {
    const auto equals = [&](int axis) { return k[axis * samples + m] == own[axis * samples + of_volume]; };
    return equals(0) && equals(1) && equals(2);
  };
  std::int64_t length = 1;  // of a readout, if its last sample is where the first of the volume is
  while (length <= samples && !is_at(length - 1, 0)) ++length;
  if (length == 1 || samples % length != 0) return volume;
  std::vector<std::int64_t> order;
  for (std::int64_t m = 0; m < samples; ++m) {
    order.push_back(m / length * length + length - 1 - m % length);
    if (!is_at(m, order.back())) return volume;
  }
  volume.trajectory.k = columns_of(own, order);
  volume.kspace.values = columns_of(volume.kspace.values, order);
  if (!volume.kspace.in_double.empty()) volume.kspace.in_double = columns_of(volume.kspace.in_double, order);
  if (volume.sample_time_s) volume.sample_time_s = columns_of(*volume.sample_time_s, order);
  if (volume.fields) volume.fields->coefficients = columns_of(volume.fields->coefficients, order);
  return volume;
}

bool SliceSeries::holds(const Scan& volume) const {
  if (are_alike(reference, volume)) return true;
  return found_from_series(reference) && found_from_series(volume) &&
         reference.geometry.matrix_size == volume.geometry.matrix_size &&
         reference.cropped_matrix_size == volume.cropped_matrix_size && !has_own_field(reference) &&
         !has_own_field(volume) &&
         are_equal(reference.calibration->kspace.values, volume.calibration->kspace.values);
}

VolumeReader::VolumeReader(io::ScanFile& file, std::vector<VolumeNumber> volumes,
                           std::function<bool(const Scan&)> takes_series,
                           std::function<bool(std::size_t number)> is_done)
    : file_(file),
      volumes_(std::move(volumes)),
      takes_series_(std::move(takes_series)),
      done_(volumes_.size()),
      reader_count_(reader_count(file_, volumes_.size())) {
  for (std::size_t i = 0; is_done && i < volumes_.size(); ++i) done_[i] = is_done(i);
  thread_ = std::thread([this] {
    std::exception_ptr failure;
    try {
      const Interruptible here([this] { return stopped_.load(); });
      trace::name_thread("reader");
      read_all();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    ended_ = true;
    changed_.notify_all();
  });
}

VolumeReader::~VolumeReader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void VolumeReader::wait_for_first() {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return !queue_.empty(); });
}

/// Waits for `enough` or the end of reading. Throws what reading threw.
template <class Enough>
void VolumeReader::wait_until(std::unique_lock<std::mutex>& lock, const Enough& enough) {
  const Checkpoint checkpoint;
  constexpr auto a_moment = std::chrono::milliseconds(50);
  while (!changed_.wait_for(lock, a_moment, [&] { return enough() || ended_ || checkpoint.is_ended(); })) {
  }
  checkpoint.rethrow();
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<ReadVolume> VolumeReader::next(const std::function<std::int64_t(SliceSeries&)>& at_once) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wait_until(lock, [&] { return !queue_.empty(); });
    if (queue_.empty()) return {};
    const auto series = queue_.front().series;
    std::size_t most = 1;
    if (series) {
      lock.unlock();  // what the series shares may still have to be found
      most = static_cast<std::size_t>(std::max<std::int64_t>(at_once(*series), 1));
      lock.lock();
      wanted_ = std::max(wanted_, 2 * most);
      changed_.notify_all();
    }
    const auto end_of_series = [&] {
      return std::find_if(queue_.begin(), queue_.end(), [&](const auto& v) { return v.series != series; });
    };
    const auto count = [&] { return static_cast<std::size_t>(end_of_series() - queue_.begin()); };
    wait_until(lock, [&] { return count() >= most || end_of_series() != queue_.end(); });
    std::vector<ReadVolume> taken;
    for (auto left = std::min(count(), most); left > 0; --left) {
      taken.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    changed_.notify_all();
    if (!taken.empty()) return taken;  // else another thread took them
  }
}

Scan VolumeReader::read(std::size_t number) {
  const trace::Span span("read", "read");
  return file_.read(volumes_[number].slice, volumes_[number].repetition);
}

/// Reads all volumes, slice by slice: repetitions of a slice are reconstructed together.
void VolumeReader::read_all() {
  std::map<std::int64_t, std::vector<std::size_t>> of_slice;
  for (std::size_t i = 0; i < volumes_.size(); ++i) of_slice[volumes_[i].slice].push_back(i);
  std::set<std::int64_t> begun;
  for (const auto& volume : volumes_)
    if (begun.insert(volume.slice).second && !read_slice(of_slice[volume.slice])) return;
}

/// Reads the volumes of a slice by some threads, and adds them to the queue in their order: a thread begins with the next
/// one as soon as its last one is in the queue, and the first failure in this order is the one reported. Returns false where
/// nobody waits any more.
bool VolumeReader::read_slice(const std::vector<std::size_t>& numbers) {
  std::vector<std::size_t> left;
  for (const std::size_t number : numbers)
    if (!done_[number]) left.push_back(number);
  if (left.empty()) return true;
  std::map<std::size_t, Scan> known;
  const auto series = numbers.size() > 1 ? series_of(numbers, known) : nullptr;
  const auto volume_of = [&](std::size_t number) {
    const auto found = known.find(number);
    Scan scan = found == known.end() ? read(number) : std::move(found->second);
    ReadVolume volume{number, series ? in_order_of(series->reference, std::move(scan)) : std::move(scan)};
    if (series && series->holds(volume.scan)) volume.series = series;
    return volume;
  };
  std::atomic<std::size_t> next = 0;
  // Under mutex_:
  std::size_t turn = 0;  // the place in `left` of the volume that is next in the queue
  bool is_first = true;
  std::exception_ptr failure;
#pragma omp parallel num_threads(std::min(reader_count_, left.size()))
  for (std::size_t place; (place = next++) < left.size();) {
    ReadVolume volume;
    std::exception_ptr failed;
    try {
      volume = volume_of(left[place]);
    } catch (...) {
      failed = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [&] { return stopped_ || failure || (turn == place && (failed || queue_.size() < wanted_)); });
    if (stopped_ || failure) break;
    try {
      if (failed) std::rethrow_exception(failed);
      if (volume.series) volume.is_first = std::exchange(is_first, false);
      if (volume.series && !volume.is_first) leave_to_reference(volume.scan);
      queue_.push_back(std::move(volume));
      ++turn;
    } catch (...) {
      failure = std::current_exception();
    }
    changed_.notify_all();
  }
  if (failure) std::rethrow_exception(failure);
  return !stopped_;
}

/// Returns the series of these volumes; null where they do not share their positions. Volumes read stay in `known`.
std::shared_ptr<SliceSeries> VolumeReader::series_of(const std::vector<std::size_t>& all,
                                                     std::map<std::size_t, Scan>& known) {
  auto begin = all.begin();
  for (; begin != all.end() && known.empty(); ++begin)
    if (Scan scan = read(*begin); !is_missing(scan)) known.emplace(*begin, std::move(scan));
  if (known.empty()) return nullptr;
  const std::vector<std::size_t> numbers(begin - 1, all.end());
  const Scan& first = known.begin()->second;
  if (!takes_series_(first)) return nullptr;
  if (found_from_series(first)) return std::make_shared<SliceSeries>(first);
  Scan mean = first;
  mean.kspace.values.fill_zero();
  mean.kspace.in_double.fill_zero();
  for (const std::size_t number : spread(numbers, count_of_reference(first, numbers.size()))) {
    if (number == numbers.front()) continue;
    Scan volume = in_order_of(first, read(number));
    if (is_missing(volume)) continue;
    const bool is_alike = are_alike(first, volume);
    known.emplace(number, std::move(volume));
    if (!is_alike) return nullptr;
  }
  const double share = 1.0 / static_cast<double>(known.size());
  for (const auto& [number, volume] : known) {
    add(volume.kspace.values, share, mean.kspace.values);
    add(volume.kspace.in_double, share, mean.kspace.in_double);
  }
  if (!mean.kspace.in_double.empty()) mean.kspace.values = converted<Complex<float>>(mean.kspace.in_double);
  return std::make_shared<SliceSeries>(std::move(mean), first);
}

}  // namespace fhd::app
