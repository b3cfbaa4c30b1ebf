#include "recon/array/device_team.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "recon/array/device_cuda.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

constexpr std::size_t most_ranks = 64;

/// One rank's part of a sum.
struct Part {
  void* values = nullptr;
  std::int64_t count = 0;
};

/// Elements [first, last) of all ranks become their sum: neighbours in pairs, then pairs of pairs. Nothing here
/// throws: the others read this rank's memory meanwhile.
template <class T>
void sum_on_host(const std::vector<Part>& parts, std::int64_t first, std::int64_t last) noexcept {
  const std::size_t ranks = parts.size();
  std::array<T*, most_ranks> of{};
  for (std::size_t rank = 0; rank < ranks; ++rank) of[rank] = static_cast<T*>(parts[rank].values);
  for (std::size_t step = 1; step < ranks; step *= 2)
    for (std::size_t rank = 0; rank + step < ranks; rank += 2 * step)
      for (std::int64_t i = first; i < last; ++i) of[rank][i] += of[rank + step][i];
  for (std::size_t rank = 1; rank < ranks; ++rank) std::copy(of[0] + first, of[0] + last, of[rank] + first);
}

/// Adds arrays on devices in the order of the ranks, on the device of `mine`.
template <class T>
void sum_by_copies(const std::vector<Part>& parts, const std::vector<Device>& devices, Device mine,
                   std::int64_t first, std::int64_t last) {
  if (first == last) return;
  const auto of = [&](std::size_t rank) { return static_cast<Complex<T>*>(parts[rank].values) + first; };
  const auto bytes = static_cast<std::size_t>(last - first) * sizeof(Complex<T>);
  Array<Complex<T>> total(Shape{last - first}, mine), part(Shape{last - first}, mine);
  copy_bytes(total.data(), mine, of(0), devices[0], bytes);
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    copy_bytes(part.data(), mine, of(rank), devices[rank], bytes);
    add_scaled(total, T(1), part);
  }
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    copy_bytes(of(rank), devices[rank], total.data(), mine, bytes);
  device::synchronize(mine);
}

}  // namespace

/// State that the ranks share.
class DeviceTeam::Meeting {
 public:
  explicit Meeting(std::vector<Device> devices) : devices_(std::move(devices)), parts_(devices_.size()) {
    if (devices_.empty() || devices_.size() > most_ranks)
      throw Error("devices of a team", "1 ... " + std::to_string(most_ranks),
                  std::to_string(devices_.size()));
    if constexpr (built_with_cuda)
      for (const Device device : devices_)
        if (device.is_cuda()) device::cuda::share_memory(device);
  }

  const std::vector<Device>& devices() const { return devices_; }
  int size() const { return static_cast<int>(devices_.size()); }

  void run(const std::function<void(int rank)>& work) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = nullptr;
      waiting_ = ended_ = 0;
    }
    const auto guarded = [&](int rank) {
      const Device mine = devices_[static_cast<std::size_t>(rank)];
      try {
        const CurrentDevice current(mine);
        work(rank);
        device::synchronize(mine);  // another thread may be this rank in the next run
        const std::lock_guard lock(mutex_);
        ++ended_;
      } catch (...) {
        fail(std::current_exception());
      }
      changed_.notify_all();
    };
    {
      std::vector<std::jthread> others;
      try {
        for (int rank = 1; rank < size(); ++rank) others.emplace_back(guarded, rank);
      } catch (...) {  // no more threads
        fail(std::current_exception());
        changed_.notify_all();
      }
      guarded(0);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  template <class T>
  void sum(int rank, T* values, std::int64_t count) {
    together(rank, {values, count},
             [&](std::int64_t first, std::int64_t last) { sum_on_host<T>(parts_, first, last); });
  }
  template <class T>
  void sum_on_device(int rank, Complex<T>* values, std::int64_t count) {
    const Device mine = devices_[static_cast<std::size_t>(rank)];
    device::synchronize(mine);  // others read the values
    together(rank, {values, count}, [&](std::int64_t first, std::int64_t last) {
      sum_by_copies<T>(parts_, devices_, mine, first, last);
    });
  }

 private:
  /// The first one counts.
  void fail(std::exception_ptr failure) noexcept {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }

  /// work(the rank's share of the elements) while all ranks are here: no one's memory goes away.
  template <class Work>
  void together(int rank, Part part, const Work& work) {
    parts_[static_cast<std::size_t>(rank)] = part;
    meet();
    std::exception_ptr failure;
    try {
      for (const auto& other : parts_)
        if (other.count != part.count)
          throw Error("a sum over devices", std::to_string(part.count) + " values of each",
                      std::to_string(other.count) + " of one");
      work(part.count * rank / size(), part.count * (rank + 1) / size());
    } catch (...) {
      failure = std::current_exception();
    }
    meet();
    if (failure) std::rethrow_exception(failure);
  }

  /// Until all ranks are here. Throws Error where one of them will not come.
  void meet() {
    std::unique_lock lock(mutex_);
    const auto meeting = meeting_;
    if (!failure_ && ended_ == 0 && ++waiting_ == size()) {
      waiting_ = 0;
      ++meeting_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return meeting_ != meeting || failure_ || ended_ > 0; });
    if (meeting_ != meeting) return;
    if (failure_) throw Error("a team of devices", "", "another device of the team failed");
    throw Error("a team of devices", "the same steps of each", "one that ended while others wait for it",
                "use one device, and report it");
  }

  std::vector<Device> devices_;
  std::vector<Part> parts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  int waiting_ = 0, ended_ = 0;
  std::int64_t meeting_ = 0;
};

class DeviceTeam::Rank final : public ProcessGroup {
 public:
  Rank(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }
  void sum(float* values, std::int64_t count) const override { meeting_->sum(rank_, values, count); }
  void sum(double* values, std::int64_t count) const override { meeting_->sum(rank_, values, count); }
  void sum_on_device(Complex<float>* values, std::int64_t count, Device) const override {
    meeting_->sum_on_device(rank_, values, count);
  }
  void sum_on_device(Complex<double>* values, std::int64_t count, Device) const override {
    meeting_->sum_on_device(rank_, values, count);
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

DeviceTeam::DeviceTeam(std::vector<Device> devices)
    : meeting_(std::make_shared<Meeting>(std::move(devices))) {}
DeviceTeam::~DeviceTeam() = default;
int DeviceTeam::size() const { return meeting_->size(); }
Device DeviceTeam::device(int rank) const { return meeting_->devices()[static_cast<std::size_t>(rank)]; }
std::shared_ptr<const ProcessGroup> DeviceTeam::group(int rank) const {
  return std::make_shared<Rank>(meeting_, rank);
}

void DeviceTeam::run(const std::function<void(int rank)>& work) const { meeting_->run(work); }

}  // namespace fhd
