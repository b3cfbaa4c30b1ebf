#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <shared_mutex>
#include <string>

#include "recon/array/cufft.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/array/fft.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::cufft {
namespace {

/// Opens the library. The dynamic linker's own search comes first (the folder of the program, LD_LIBRARY_PATH, the
/// system's), then where CUDA is commonly installed. Version 11 comes with CUDA 12; what is used of it has the same
/// binary interface.
void* open_library() {
  const std::string current = "libcufft.so." + std::to_string(CUFFT_VER_MAJOR), previous = "libcufft.so.11";
  std::vector<std::string> folders{""};
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const char* folder = std::getenv(variable)) folders.push_back(std::string(folder) + "/lib64/");
  folders.push_back("/usr/local/cuda/lib64/");
  for (const auto& name : {current, previous})
    for (const auto& folder : folders)
      if (void* handle = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  throw DeviceError(
      "cuFFT", current, "no such library",
      "install it (Debian and Ubuntu: libcufft-13-0 of the CUDA repository; any system: pip install "
      "nvidia-cufft), name its folder in LD_LIBRARY_PATH, or use " +
          option_words("device", "cpu"));
}

template <class Function>
void load(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr)
    throw DeviceError("cuFFT", name, "no such function", "install cuFFT of CUDA 12 or newer");
}

Library load_library() {
  void* handle = open_library();
  Library functions;
  load(handle, "cufftCreate", functions.create);
  load(handle, "cufftDestroy", functions.destroy);
  load(handle, "cufftMakePlanMany64", functions.make_plan_many);
  load(handle, "cufftSetAutoAllocation", functions.set_auto_allocation);
  load(handle, "cufftSetWorkArea", functions.set_work_area);
  load(handle, "cufftSetStream", functions.set_stream);
  load(handle, "cufftExecC2C", functions.execute_c2c);
  load(handle, "cufftExecZ2Z", functions.execute_z2z);
  return functions;
}

}  // namespace

const Library& library() {
  static const Library functions = load_library();  // a throw leaves it for the next call to try again
  return functions;
}

Handle::Handle(const PlanKey& key) : device(key.device) {
  const CurrentDevice guard(Device::cuda(device));
  const std::shared_lock lock(
      device::state_of(Device::cuda(device)).recording);  // cuFFT may wait for the whole device
  auto sizes = key.sizes;
  check(library().create(&plan), "making a plan");
  try {
    check(library().set_auto_allocation(plan, 0), "making a plan");
    check(library().make_plan_many(plan, static_cast<int>(sizes.size()), sizes.data(), sizes.data(),
                                   key.in.stride, key.in.distance, sizes.data(), key.out.stride,
                                   key.out.distance, key.in_double ? CUFFT_Z2Z : CUFFT_C2C, key.batch,
                                   &work_bytes),
          "making a plan");
  } catch (const Error&) {
    library().destroy(plan);
    throw;
  }
}
Handle::~Handle() {
  try {
    const CurrentDevice guard(Device::cuda(device));
    const std::shared_lock lock(device::state_of(Device::cuda(device)).recording);
    library().destroy(plan);
  } catch (const Error&) {
  }
}

std::shared_ptr<const Handle> handle_of(const PlanKey& key) {
  constexpr std::size_t most = 24;
  thread_local std::deque<std::pair<PlanKey, std::shared_ptr<const Handle>>> kept;  // the latest first
  const auto found =
      std::find_if(kept.begin(), kept.end(), [&](const auto& one) { return one.first == key; });
  auto handle = found != kept.end() ? found->second : std::make_shared<const Handle>(key);
  if (found != kept.end()) kept.erase(found);
  kept.emplace_front(key, handle);
  if (kept.size() > most) kept.pop_back();
  return handle;
}

void check(cufftResult status, std::string_view what) {
  if (device::call_fails()) status = CUFFT_INTERNAL_ERROR;
  if (status == CUFFT_SUCCESS) return;
  const std::string name = "cuFFT: " + std::string(what);
  if (status == CUFFT_ALLOC_FAILED)
    throw DeviceError(name, "", "not enough device memory",
                      "use fewer coils, a smaller matrix, or " + option_words("device", "cpu"));
  throw DeviceError(name, "", "status " + std::to_string(status),
                    "run again; if it stays, use " + option_words("device", "cpu") + " and report it");
}

}  // namespace fhd::cufft

void fhd::device::cuda::warm_up(Device device) {
  const CurrentDevice current(device);
  const cufft::Plan<float> plan({64, 64}, {1, 4096}, {1, 4096}, 1, device);
}

// Transforms of a stack by one batched plan. Floor: the FFTs, two passes over the stack for images that fit the cache.
namespace fhd::device {

template <class T>
StackFft<T> make_stack_fft(const Shape& image, std::int64_t count, Device device) {
  std::vector<long long> sizes;
  for (int axis = 0; axis < 3; ++axis)
    if (image[axis] > 1) sizes.push_back(image[axis]);
  if (sizes.empty()) return [](Array<Complex<T>>&, std::int64_t, int) {};  // images of one voxel
  const CurrentDevice current(device);
  const cufft::Layout layout{1, image.size()};
  const cufft::Plan<T> plan(sizes, layout, layout, count, device);
  // Never empty: cuFFT wants an address also for a plan that needs nothing.
  const auto bytes = std::max<std::int64_t>(static_cast<std::int64_t>(plan.work_bytes()), 256);
  const auto work = std::make_shared<Array<unsigned char>>(Shape{bytes}, device);
  // The whole batch, also where some of it does not count: it lies in the buffer all the same.
  return [plan, work, device](Array<Complex<T>>& stack, std::int64_t, int sign) {
    const CurrentDevice mine(device);
    plan.execute(stack.data(), stack.data(), sign < 0 ? CUFFT_FORWARD : CUFFT_INVERSE, work->data());
  };
}
template StackFft<float> make_stack_fft<float>(const Shape&, std::int64_t, Device);
template StackFft<double> make_stack_fft<double>(const Shape&, std::int64_t, Device);

}  // namespace fhd::device
