// Has functions that read files run in reader processes, and checks what these answer.
#include "io/reader/readers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <mutex>

#include "io/files/in_reader.hpp"
#include "io/reader/process.hpp"
#include "io/reader/reader.hpp"
#include "recon/array/interruption.hpp"
#include "recon/error.hpp"

namespace fhd::io::reader {
namespace {

/// Names all files that are read together: which of them did harm is not known.
std::string subject_of(const std::string& path, const ReadOptions& options) {
  auto subject = path;
  for (const auto& [what, piece] : options.outside.given()) subject += " with " + piece;
  return subject;
}

constexpr auto harmful = "the file is damaged, or made to do harm";

/// Returns whether a geometry may be a scan's; lengths are 0 along an axis where none is stated.
bool is_sane(const std::array<int, 3>& matrix_size, const std::array<double, 3>& fov_mm) {
  bool sane = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double length = fov_mm[axis];
    sane = sane && matrix_size[axis] >= 0 && matrix_size[axis] <= largest_matrix &&
           (length == 0 || (length >= least_fov_mm && length <= largest_fov_mm));
  }
  return sane;
}

/// Throws Error for numbers that other code cannot rely on. The readers give none: this is about a process that was taken over.
void require_sane(const ScanSummary& summary, const std::string& path) {
  constexpr std::int64_t most_coils = std::int64_t{1} << 16;
  const auto is_count = [](std::int64_t count, std::int64_t most) { return count >= 1 && count < most; };
  const auto is_length = [](std::int64_t samples) { return samples >= 0 && samples <= most_samples; };
  const auto is_number_of = [](std::size_t count, std::int64_t expected) {
    return count == 0 || static_cast<std::int64_t>(count) == expected;
  };
  const auto is_time = [](double seconds) { return std::isfinite(seconds); };
  const bool has_coils =
      summary.coil_count == 0 || is_count(summary.coil_count, most_coils);  // 0: no k-space
  const bool sane = has_coils && has_count_of_volumes(summary) && is_length(summary.samples_per_scan) &&
                    is_length(summary.readout_length) &&
                    is_number_of(summary.repetition_counters.size(), summary.repetition_count) &&
                    is_number_of(summary.slice_counters.size(), summary.slice_count) &&
                    is_number_of(summary.slice_geometries.size(), summary.slice_count) &&
                    std::all_of(summary.echo_times_s.begin(), summary.echo_times_s.end(), is_time) &&
                    is_time(summary.repetition_time_s) && is_time(summary.readout_time_s) &&
                    summary.time_origin <= TimeOrigin::train_start &&
                    is_sane(summary.geometry.matrix_size, summary.geometry.fov_mm) &&
                    is_sane(summary.unit_geometry.matrix_size, summary.unit_geometry.fov_mm);
  if (!sane) throw Error(path, "a scan", "numbers that no scan has", harmful);
}

class ScanInReader {
 public:
  ScanInReader(const std::string& path, const ReadOptions& options) : path_(path), options_(options) {
    std::tie(summary_, side_by_side_) = open();
    require_sane(summary_, path);
  }
  const ScanSummary& summary() const { return summary_; }
  Scan read(std::int64_t slice, std::int64_t repetition) {
    auto scan = volume(slice, repetition);
    if (scan.calibration && !is_sane(scan.calibration->matrix_size, scan.calibration->fov_mm))
      throw Error(summary_.path + ": calibration", "a matrix and a FOV", "numbers that no scan has", harmful);
    // No file holds these; their users rely on the code that makes them.
    scan.readout_numbers.clear();
    scan.second_maps.reset();
    return scan;
  }
  bool reads_concurrently() const { return side_by_side_; }

 private:
  /// Starts the process; returns what it says of the scan, and whether it reads volumes side by side.
  std::pair<ScanSummary, bool> open() {
    const auto made = std::make_shared<ReaderProcess>(
        Task{inputs_of_scan(path_, options_), {}, subject_of(path_, options_)});
    auto answer = made->ask<std::pair<ScanSummary, bool>>(request_open_scan, path_, options_);
    process_ = made;
    return answer;
  }
  /// Returns a volume. Where an interrupted read has ended the process, it is started anew; the scan stays what the first
  /// one said.
  Scan volume(std::int64_t slice, std::int64_t repetition) {
    std::unique_lock lock(mutex_);
    if (!process_) (void)open();
    const auto process = process_;
    const auto known = sampling_;
    lock.unlock();
    try {
      auto [scan, number] = process->ask<VolumeAnswer>(request_volume, slice, repetition,
                                                       known ? known->number : std::uint64_t{0});
      if (known && known->number == number) {
        scan.trajectory.k = known->k;
        scan.sample_time_s = known->times_s;
        return std::move(scan);
      }
      if (number == 0) return std::move(scan);
      const auto own =
          std::make_shared<const Sampling>(Sampling{number, scan.trajectory.k, scan.sample_time_s});
      lock.lock();
      if (process_ == process) sampling_ = own;
      return std::move(scan);
    } catch (const Interrupted&) {
      lock.lock();
      if (process_ == process) process_.reset(), sampling_.reset();
      throw;
    }
  }

  std::string path_;
  ReadOptions options_;
  std::mutex mutex_;
  std::shared_ptr<ReaderProcess> process_;
  std::shared_ptr<const Sampling> sampling_;  ///< that the process has sent last
  ScanSummary summary_;
  bool side_by_side_ = false;
};

std::unique_ptr<ScanFile> open_scan(const std::string& path, const ReadOptions& options) {
  if (!is_on()) return open_scan_here(path, options);
  const auto scan = std::make_shared<ScanInReader>(path, options);
  return std::make_unique<ScanFile>(source_of(scan, scan->reads_concurrently()));
}

/// Calls a function of Readers in a process of its own.
template <auto function>
struct InProcess;
template <class Result, class... Arguments, Result (*function)(const std::string&, Arguments...)>
struct InProcess<function> {
  static Result call(const std::string& path, Arguments... arguments) {
    if (!is_on()) return function(path, arguments...);
    ReaderProcess process({{path}});
    return process.ask<Result>(Readers::number_of<function>(), path, arguments...);
  }
};

Sentences copy_in_process(const std::string& from, const ReadOptions& options, const std::string& temporary,
                          const std::string& path) {
  if (!is_on()) return copy_ismrmrd_here(from, options, temporary, path);
  ReaderProcess process({{from}, {temporary}});
  return process.ask<Sentences>(Readers::number_of<&copy_ismrmrd_here>(), from, options, temporary, path);
}

template <auto... functions>
void replace(ReaderList<functions...>) {
  ((Replacement<functions>::call = &InProcess<functions>::call), ...);
}

}  // namespace

void register_readers() {
  replace(Readers{});
  Replacement<& copy_ismrmrd_here>::call = &copy_in_process;
  Replacement<& open_scan_here>::call = &open_scan;
}

}  // namespace fhd::io::reader
