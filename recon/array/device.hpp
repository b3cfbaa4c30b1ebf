#pragma once
// The CUDA devices of this machine, and move-only handles to what lives on them. Free of CUDA headers.
//
// One convention orders the work on a device: kernels and copies of a thread run on that thread's default stream
// (CUDA's "per-thread default stream"), one after the other; a Stream is for what overlaps them (uploads), and is
// ordered against them by Events. Neither devices nor threads wait for each other: a thread that hands arrays of a GPU to
// another calls synchronize() before.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct CUstream_st;
struct CUevent_st;

namespace fhd {

#ifndef FHD_HAS_CUDA
#error "FHD_HAS_CUDA is 0 or 1: CMakeLists.txt"
#endif
/// Entry points of the CUDA side are named only inside `if constexpr (built_with_cuda)`: no stubs.
inline constexpr bool built_with_cuda = FHD_HAS_CUDA == 1;
/// Throws Error: a build without CUDA cannot work on a GPU.
[[noreturn]] void refuse_cuda();

/// Where arrays live and work on them runs: the CPU, or one CUDA device of this machine. A value.
class Device {
 public:
  constexpr Device() = default;  ///< the CPU
  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int number = 0) { return Device(number); }
  constexpr bool is_cpu() const { return number_ < 0; }
  constexpr bool is_cuda() const { return number_ >= 0; }
  constexpr int number() const { return number_; }  ///< of a CUDA device; -1: the CPU
  friend constexpr bool operator==(Device, Device) = default;

 private:
  constexpr explicit Device(int number) : number_(number) {}
  int number_ = -1;
};

/// Makes a CUDA device the current one of this thread while it lives: every entry point that launches
/// kernels or makes handles holds one; memory, copies and pointwise loops do so by themselves. Nothing for the
/// CPU.
class CurrentDevice {
 public:
  explicit CurrentDevice(Device device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = -1;  ///< to return to; -1: nothing to do
};

}  // namespace fhd

namespace fhd::device {

struct Description {
  Device device;
  std::string name;  ///< "NVIDIA H100 80GB HBM3"
  std::size_t memory_bytes = 0;
  int compute_major = 0, compute_minor = 0;  ///< compute capability
  int multiprocessor_count = 0;
  int driver_version = 0, runtime_version = 0;  ///< of CUDA: 1000 x major + 10 x minor

  /// "NVIDIA H100 80GB HBM3, 79 GiB, compute capability 9.0, driver for CUDA 13.0"
  std::string text() const;
};
/// "13.0" of a version as above.
std::string version_text(int version);

/// The devices that this program can use, and otherwise why there is none. Never throws.
struct Inventory {
  std::vector<Description> devices;
  std::string reason;  ///< empty when there is a device
};
Inventory inventory();

/// Starts a CUDA device (0.2 s for the first time) and makes it the current one of the calling thread. Throws
/// Error naming the cause: no driver, a driver too old, no device of that number, a device older than compute
/// capability 8.0.
Description start(Device device);

/// Returns whether this process has started a CUDA device.
bool any_started() noexcept;

/// Starts a CUDA device and opens what its first FFT would, 0.05 ... 0.4 s: beside other work. A thread that uses the device
/// meanwhile waits in its first call. A failure is left to the first use. Nothing for the CPU.
void warm_up(Device device) noexcept;

/// Returns the count of a CUDA device, or that of an H100 where the device is absent: plans are made for absent devices, too.
int multiprocessor_count(Device device);
/// Bytes of fast memory that a block of threads can share; likewise.
std::size_t shared_bytes_of_block(Device device);

/// Waits for the calling thread's work on the device; throws an error of it. Nothing for the CPU, and before the first use.
void synchronize(Device device);

/// Memory of a CUDA device; zeros for the CPU.
struct MemoryUse {
  std::size_t used_bytes = 0, peak_bytes = 0;  ///< of this program's arrays there
  std::size_t free_bytes = 0;  ///< what can still be had: of the device, and of limit_memory()
};
MemoryUse memory_use(Device device);
/// Sets the peak to what is used now.
void reset_peak_memory(Device device);
/// Refuses allocations beyond `bytes` in all, as if the device were smaller; 0 takes the limit away.
void limit_memory(Device device, std::size_t bytes);

// The handles below belong to the device that is current where they are made, and are used while it is. They
// are there in builds with CUDA only.

/// Frees what the handles own. A failure there has no one to tell: the next checked call reports it again.
struct Release {
  void operator()(CUstream_st* stream) const noexcept;
  void operator()(CUevent_st* event) const noexcept;
};

class Event;

/// A queue of work beside the thread's default stream, which it does not wait for.
class Stream {
 public:
  Stream();
  CUstream_st* get() const { return handle_.get(); }
  /// Work queued from now on starts after `event`.
  void wait(const Event& event) const;
  void synchronize() const;

 private:
  std::unique_ptr<CUstream_st, Release> handle_;
};

/// A point in a stream's work.
class Event {
 public:
  enum class Timing { off, on };
  explicit Event(Timing timing = Timing::off);
  void record();  ///< on the default stream
  void record(const Stream& stream);
  void synchronize() const;
  /// The default stream starts its next work after this event.
  void hold_default_stream() const;
  /// Milliseconds from `start` to this event; both with Timing::on. Waits for this event.
  double ms_since(const Event& start) const;
  CUevent_st* get() const { return handle_.get(); }

 private:
  std::unique_ptr<CUevent_st, Release> handle_;
};

}  // namespace fhd::device
