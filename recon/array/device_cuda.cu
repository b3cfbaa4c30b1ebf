#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <string>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::device {
namespace {

constexpr int oldest_compute_major = 8;  // the oldest machine code in this program: CMAKE_CUDA_ARCHITECTURES
std::string use_cpu() {
  return "use " + option_words("device", "cpu") + ", or " + option_words("device", "auto") +
         " to fall back to it";
}

std::string reason_of(cudaError_t status) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  switch (status) {
    case cudaErrorInsufficientDriver:
      if (driver == 0) return "no NVIDIA driver is installed";
      return "the NVIDIA driver is too old: it serves CUDA " + version_text(driver) +
             ", this program needs CUDA " + version_text(runtime);
    case cudaErrorNoDevice:
      return "the NVIDIA driver finds no device";
    default:
      return cudaGetErrorString(status);
  }
}

Description describe(int number) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, number), "reading the properties of a CUDA device");
  Description d;
  d.device = Device::cuda(number);
  d.name = properties.name;
  d.memory_bytes = properties.totalGlobalMem;
  d.compute_major = properties.major;
  d.compute_minor = properties.minor;
  d.multiprocessor_count = properties.multiProcessorCount;
  check(cudaDriverGetVersion(&d.driver_version), "reading the version of the CUDA driver");
  check(cudaRuntimeGetVersion(&d.runtime_version), "reading the version of the CUDA runtime");
  return d;
}

// Where an exception may already be on its way.
void ignore(cudaError_t) noexcept {}

/// Returns whether a device has been started in this process: making one current that has not would start it, which
/// takes 0.2 s and 0.5 GB of its memory.
bool is_started(int number) noexcept {
  using GetState = CUresult(CUdevice, unsigned*, int*);
  static const auto get_state = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
    return driver ? reinterpret_cast<GetState*>(dlsym(driver, "cuDevicePrimaryCtxGetState")) : nullptr;
  }();
  unsigned flags = 0;
  int active = 0;
  return get_state && get_state(number, &flags, &active) == CUDA_SUCCESS && active != 0;
}

/// Zero where the device is not there.
int attribute_of(Device device, cudaDeviceAttr attribute) noexcept {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, device.number()) == cudaSuccess) return value;
  cudaGetLastError();
  return 0;
}

std::atomic<std::int64_t> failing_call = 0, calls = 0;

}  // namespace

void fail_call(std::int64_t number) {
  calls = 0;
  failing_call = number;
}
std::int64_t checked_calls() { return calls; }
bool call_fails() noexcept {
  const std::int64_t failing = failing_call;
  return failing > 0 && ++calls == failing;
}

void check(cudaError_t status, std::string_view what) {
  if (call_fails()) status = cudaErrorUnknown;
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that can be recovered from is not reported twice
  if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice)
    throw DeviceError(Field{"device", "cuda"}, "", reason_of(status), use_cpu());
  throw DeviceError("CUDA device: " + std::string(what), "", cudaGetErrorString(status),
                    "run again; if it stays, use " + option_words("device", "cpu") + " and report it");
}

namespace cuda {

Inventory inventory() {
  Inventory result;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    result.reason = reason_of(status);
    return result;
  }
  try {
    for (int number = 0; number < count; ++number) {
      Description d = describe(number);
      if (d.compute_major >= oldest_compute_major)
        result.devices.push_back(std::move(d));
      else
        result.reason =
            d.name + " is older than compute capability " + std::to_string(oldest_compute_major) + ".0";
    }
  } catch (const Error& error) {
    result.reason = error.what();
  }
  if (!result.devices.empty())
    result.reason.clear();
  else if (result.reason.empty())
    result.reason = "the NVIDIA driver finds no device";
  return result;
}

Description start(Device device) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "counting the CUDA devices");
  const std::string subject = "--device cuda:" + std::to_string(device.number());
  if (device.is_cpu() || device.number() >= count)
    throw Error(subject,
                count == 1 ? "cuda:0, the only device of this machine"
                           : "cuda:0 ... cuda:" + std::to_string(count - 1),
                std::to_string(device.number()), "name a device that this machine has");
  Description d = describe(device.number());
  if (d.compute_major < oldest_compute_major)
    throw Error(subject, "compute capability " + std::to_string(oldest_compute_major) + ".0 or newer",
                d.name + " with " + std::to_string(d.compute_major) + "." + std::to_string(d.compute_minor),
                use_cpu());
  check(cudaSetDevice(device.number()), "starting " + d.name);
  check(cudaFree(nullptr), "starting " + d.name);
  return d;
}

void synchronize(Device device) {
  const CurrentDevice current(device);
  check(cudaStreamSynchronize(default_stream()), "waiting for the device");
}
CUstream_st* default_stream() noexcept { return cudaStreamPerThread; }

int multiprocessor_count(Device device) noexcept {
  return attribute_of(device, cudaDevAttrMultiProcessorCount);
}
std::size_t shared_bytes_of_block(Device device) noexcept {
  return static_cast<std::size_t>(attribute_of(device, cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

int exchange_current(int number) {
  int before = 0;
  check(cudaGetDevice(&before), "asking for the current device");
  if (before == number) return -1;
  check(cudaSetDevice(number), "changing the current device");
  return before;
}
void restore_current(int number) noexcept {
  if (is_started(number)) ignore(cudaSetDevice(number));
}

}  // namespace cuda

void Release::operator()(CUstream_st* stream) const noexcept { ignore(cudaStreamDestroy(stream)); }
void Release::operator()(CUevent_st* event) const noexcept { ignore(cudaEventDestroy(event)); }

Stream::Stream() {
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream");
  handle_.reset(made);
}
void Stream::wait(const Event& event) const {
  check(cudaStreamWaitEvent(get(), event.get(), 0), "ordering two streams");
}
void Stream::synchronize() const { check(cudaStreamSynchronize(get()), "waiting for a stream"); }

Event::Event(Timing timing) {
  cudaEvent_t made = nullptr;
  check(cudaEventCreateWithFlags(&made, timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming),
        "making an event");
  handle_.reset(made);
}
void Event::record() { check(cudaEventRecord(get(), cuda::default_stream()), "recording an event"); }
void Event::record(const Stream& stream) {
  check(cudaEventRecord(get(), stream.get()), "recording an event");
}
void Event::synchronize() const { check(cudaEventSynchronize(get()), "waiting for an event"); }
void Event::hold_default_stream() const {
  check(cudaStreamWaitEvent(cuda::default_stream(), get(), 0), "ordering two streams");
}
double Event::ms_since(const Event& start) const {
  synchronize();
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start.get(), get()), "timing");
  return ms;
}

}  // namespace fhd::device
