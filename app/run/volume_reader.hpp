#pragma once
// Reads the volumes of a scan ahead of their reconstruction, by threads of its own, into a queue of bounded length; by
// several threads where volumes are small and the file allows it.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd::app {

struct VolumeNumber {
  std::int64_t repetition, slice;
};

/// A value that the first thread that asks makes, while the others wait.
template <class T>
class Once {
 public:
  template <class Make>
  const T& get(const Make& make) {
    std::call_once(made_, [&] { value_ = make(); });
    return value_;
  }

 private:
  std::once_flag made_;
  T value_;
};

/// The repetitions of one slice that share their positions. Coils are prepared and maps found once for all, in a reference:
/// the mean of some that are spread over the series, because the first volume may be dark. Repetitions whose maps are found
/// from all of them (series_maps.hpp) are a series at positions of their own; its reference is the first.
struct SliceSeries {
  explicit SliceSeries(Scan of, std::optional<Scan> first_volume = {})
      : reference(std::move(of)), first(std::move(first_volume)) {}
  /// Returns whether a volume has the positions, matrix, coils and maps of the series, or its matrix and calibration.
  bool holds(const Scan& volume) const;
  const Scan reference;
  const std::optional<Scan> first;  ///< volume, where the reference is a mean
  Once<std::shared_ptr<const Preparation>> preparation{};
  Once<std::vector<Message>> warnings{};  ///< of the positions
};

/// Returns a volume with its samples in the order of `reference`, where it has the same readouts backwards (echoes of a
/// bipolar gradient); otherwise as it is.
Scan in_order_of(const Scan& reference, Scan volume);

struct ReadVolume {
  std::size_t number = 0;  ///< in the order of the results
  Scan scan;
  std::shared_ptr<SliceSeries> series{};  ///< null: by itself
  bool is_first = false;  ///< of the series: its report has what was done once, and it has maps of its own
};

class VolumeReader {
 public:
  /// Starts to read `volumes`, in the order of the results. takes_series(scan): whether a scan is reconstructed together
  /// with others like it. is_done(number): whether nobody needs a volume; the reference of its series stays the same.
  /// Nobody else uses `file` while the reader lives.
  VolumeReader(io::ScanFile& file, std::vector<VolumeNumber> volumes,
               std::function<bool(const Scan&)> takes_series,
               std::function<bool(std::size_t number)> is_done = {});
  ~VolumeReader();
  VolumeReader(const VolumeReader&) = delete;
  VolumeReader& operator=(const VolumeReader&) = delete;

  /// Waits until there is a volume. Throws what reading threw.
  void wait_for_first();
  /// Waits for the next volumes and returns them: at_once(series) of one series, else one; none at the end. Any thread may
  /// call it. Throws what reading threw.
  std::vector<ReadVolume> next(const std::function<std::int64_t(SliceSeries&)>& at_once);

 private:
  void read_all();
  bool read_slice(const std::vector<std::size_t>& numbers);
  std::shared_ptr<SliceSeries> series_of(const std::vector<std::size_t>& numbers,
                                         std::map<std::size_t, Scan>& known);
  Scan read(std::size_t number);
  template <class Enough>
  void wait_until(std::unique_lock<std::mutex>& lock, const Enough& enough);

  io::ScanFile& file_;
  std::vector<VolumeNumber> volumes_;
  std::function<bool(const Scan&)> takes_series_;
  std::vector<bool> done_;
  const std::size_t reader_count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ReadVolume> queue_;
  std::size_t wanted_ = 2;  ///< volumes that may wait
  bool ended_ = false;
  std::atomic<bool> stopped_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace fhd::app
