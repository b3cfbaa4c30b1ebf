#pragma once
// The volumes of a scan, read ahead of those who reconstruct them: threads of their own read, as far as a bounded
// queue allows; several where volumes are small and the file lets them.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd::app {

/// Which volume of a scan.
struct VolumeNumber {
  std::int64_t repetition, slice;
};

/// The repetitions of one slice that share their positions. Coils are prepared and maps found once for all of them, in
/// the mean of some that are spread over the series: a first volume by itself may be a dark one.
class SliceSeries {
 public:
  explicit SliceSeries(Scan reference) : reference_(std::move(reference)) {}
  const Scan& reference() const { return reference_; }
  /// Whether a volume is one of them: positions, matrix, coils and maps.
  bool holds(const Scan& volume) const;
  /// What `make` gives, which the first to ask calls: the others wait.
  std::shared_ptr<const Preparation> preparation(
      const std::function<std::shared_ptr<const Preparation>(const Scan&)>& make);
  /// Warnings of the sampling that they share; likewise.
  const std::vector<Message>& warnings(const std::function<std::vector<Message>(const Scan&)>& make);

 private:
  Scan reference_;
  std::once_flag made_, judged_;
  std::shared_ptr<const Preparation> preparation_;
  std::vector<Message> warnings_;
};

/// A volume in host memory.
struct ReadVolume {
  std::size_t number = 0;  ///< in the order of the results
  Scan scan;
  std::shared_ptr<SliceSeries> series{};  ///< null: by itself
  bool is_first =
      false;  ///< of the series, in this run: it tells what was done once, and has maps of its own
};

class VolumeReader {
 public:
  /// `volumes` in the order of the results; `takes_series`: whether a scan is reconstructed with others like it.
  /// `file` is left alone by others until the reader is gone. `is_done`: which volumes nobody needs; what the series is
  /// of stays the same.
  VolumeReader(io::ScanFile& file, std::vector<VolumeNumber> volumes,
               std::function<bool(const Scan&)> takes_series,
               std::function<bool(std::size_t number)> is_done = {});
  ~VolumeReader();
  VolumeReader(const VolumeReader&) = delete;
  VolumeReader& operator=(const VolumeReader&) = delete;

  /// Until there is a volume. Throws what reading threw.
  void wait_for_first();
  /// The next volumes: of one series as many as `at_once` says of it, else one; empty at the end. Waits for them.
  /// Any thread may ask. Throws what reading threw.
  std::vector<ReadVolume> next(const std::function<std::int64_t(SliceSeries&)>& at_once);

 private:
  void read_all();
  void read_slice(const std::vector<std::size_t>& numbers);
  void read_in_turn(const std::vector<std::size_t>& numbers, const std::shared_ptr<SliceSeries>& series,
                    std::map<std::size_t, Scan>& known);
  std::shared_ptr<SliceSeries> series_of(const std::vector<std::size_t>& numbers,
                                         std::map<std::size_t, Scan>& known);
  Scan read(std::size_t number);
  bool push(ReadVolume volume, std::size_t turn);
  bool wait_for_turn(std::size_t turn);

  io::ScanFile& file_;
  std::vector<VolumeNumber> volumes_;
  std::function<bool(const Scan&)> takes_series_;
  std::vector<bool> done_;
  const int reader_count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ReadVolume> queue_;
  std::size_t wanted_ = 2;  ///< volumes that may wait
  std::size_t turn_ = 0;    ///< which volume of the slice comes into the queue next
  bool has_first_ = false;  ///< the first of its series was there
  bool ended_ = false, stopped_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace fhd::app
