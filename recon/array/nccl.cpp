#include "recon/array/nccl.hpp"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>

#include "recon/array/cuda_library.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/error.hpp"

namespace fhd::nccl {
namespace {

// Declarations from nccl.h.
struct Handle;
using Communicator = Handle*;
constexpr int success = 0, float32 = 7, float64 = 8, sum_of_values = 0;

struct Library {
  int (*get_version)(int*);
  int (*init_all)(Communicator*, int, const int*);
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Communicator, CUstream_st*);
  int (*destroy)(Communicator);
  int (*give_up)(Communicator);
  const char* (*error_text)(int);
};

template <class Function>
bool load(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

/// Null where it is not there.
const Library* library() {
  static const auto opened = []() -> std::unique_ptr<const Library> {
    void* handle = device::open_cuda_library({"libnccl.so.2"});
    if (handle == nullptr) return nullptr;
    auto made = std::make_unique<Library>();
    const bool whole =
        load(handle, "ncclGetVersion", made->get_version) &&
        load(handle, "ncclCommInitAll", made->init_all) && load(handle, "ncclAllReduce", made->all_reduce) &&
        load(handle, "ncclCommDestroy", made->destroy) && load(handle, "ncclCommAbort", made->give_up) &&
        load(handle, "ncclGetErrorString", made->error_text);
    if (!whole) return nullptr;
    return made;
  }();
  return opened.get();
}

std::string text_of(int version) {
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

struct Communicators::Parts {
  static CUstream_st* default_stream() {
    if constexpr (built_with_cuda)
      return device::cuda::default_stream();
    else
      refuse_cuda();
  }

  std::vector<Device> devices;
  std::vector<Communicator> of_rank;
  // Shared by those that use communicators, alone for who ends them.
  mutable std::shared_timed_mutex mutex;
  bool given_up = false;

  void sum(int rank, void* values, std::int64_t count, int type) const {
    const std::shared_lock lock(mutex);
    if (given_up) throw DeviceError("NCCL", "", "another GPU failed");
    const CurrentDevice current(devices[static_cast<std::size_t>(rank)]);
    const int status =
        library()->all_reduce(values, values, static_cast<std::size_t>(count), type, sum_of_values,
                              of_rank[static_cast<std::size_t>(rank)], default_stream());
    if (status != success)
      throw DeviceError("NCCL: summing over GPUs", "", library()->error_text(status),
                        "run again; if it stays, use one GPU and report it");
  }
};

std::unique_ptr<Communicators> Communicators::make(const std::vector<Device>& devices, std::string& why_not) {
  if (std::getenv("NCCL_NVLS_ENABLE") == nullptr) {
    why_not = "NCCL_NVLS_ENABLE is not set";
    return nullptr;
  }
  const Library* functions = library();
  if (functions == nullptr) {
    why_not = "NCCL (libnccl.so.2) is not installed";
    return nullptr;
  }
  std::unique_ptr<Communicators> made(new Communicators);
  made->parts_ = std::make_unique<Parts>();
  made->parts_->devices = devices;
  std::vector<int> numbers;
  for (const Device device : devices) numbers.push_back(device.number());
  made->parts_->of_rank.resize(devices.size());
  const CurrentDevice current(devices.front());  // and back to it: NCCL goes from one to the other
  const int status =
      functions->init_all(made->parts_->of_rank.data(), static_cast<int>(numbers.size()), numbers.data());
  if (status != success) {
    why_not = std::string("NCCL cannot start: ") + functions->error_text(status);
    made->parts_->of_rank.clear();
    return nullptr;
  }
  int version = 0;
  functions->get_version(&version);
  made->version_ = text_of(version);
  return made;
}

void Communicators::sum(int rank, float* values, std::int64_t count) const {
  parts_->sum(rank, values, count, float32);
}
void Communicators::sum(int rank, double* values, std::int64_t count) const {
  parts_->sum(rank, values, count, float64);
}

void Communicators::give_up() noexcept {
  std::unique_lock lock(parts_->mutex, std::defer_lock);
  // A call that waits for a rank that failed never gives the lock back: it is ended without.
  static_cast<void>(lock.try_lock_for(std::chrono::seconds(5)));
  if (parts_->given_up) return;
  parts_->given_up = true;
  for (const Communicator communicator : parts_->of_rank) library()->give_up(communicator);
}

bool Communicators::given_up() const {
  const std::shared_lock lock(parts_->mutex);
  return parts_->given_up;
}

Communicators::~Communicators() {
  if (parts_->given_up) return;
  for (const Communicator communicator : parts_->of_rank) library()->destroy(communicator);
}

}  // namespace fhd::nccl
