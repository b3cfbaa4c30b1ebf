#pragma once
// A cuFFT plan that owns no memory: its user gives it a work area. For .cu files only.
#include <utility>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/cufft_library.hpp"

namespace fhd::cufft {

/// Where the elements of a batch of FFTs lie: neighbours along the fastest axis `stride` apart, transforms
/// `distance`.
struct Layout {
  std::int64_t stride, distance;
};

/// Complex transforms of the device that was current when the plan was made, unnormalised.
template <class T>
class Plan {
 public:
  /// `sizes`: 1 ... 3 axes, slowest first.
  Plan(std::vector<long long> sizes, Layout in, Layout out, std::int64_t batch, Device device)
      : device_(device) {
    const CurrentDevice guard(device_);
    check(library().create(&handle_), "making a plan");
    created_ = true;
    try {
      check(library().set_auto_allocation(handle_, 0), "making a plan");
      check(library().make_plan_many(handle_, static_cast<int>(sizes.size()), sizes.data(), sizes.data(),
                                     in.stride, in.distance, sizes.data(), out.stride, out.distance,
                                     sizeof(T) == 4 ? CUFFT_C2C : CUFFT_Z2Z, batch, &work_bytes_),
            "making a plan");
    } catch (...) {
      library().destroy(handle_);
      throw;
    }
  }
  Plan(Plan&& other) noexcept
      : handle_(other.handle_),
        created_(std::exchange(other.created_, false)),
        work_bytes_(other.work_bytes_),
        device_(other.device_) {}
  Plan& operator=(Plan&&) = delete;
  ~Plan() {
    if (!created_) return;
    const CurrentDevice guard(device_);
    library().destroy(handle_);
  }

  std::size_t work_bytes() const { return work_bytes_; }
  /// At least work_bytes() bytes and never null; kept by the caller until the last transform is done.
  void use_work_area(void* work) const {
    check(library().set_work_area(handle_, work), "setting a work area");
  }
  /// `direction` is CUFFT_FORWARD (exponent -1) or CUFFT_INVERSE; `in` may be `out`.
  void execute(const Complex<T>* in, Complex<T>* out, int direction, CUstream_st* stream = nullptr) const {
    check(library().set_stream(handle_, stream), "choosing a stream");
    auto* from = const_cast<Complex<T>*>(in);  // cuFFT keeps the input of complex transforms out of place
    if constexpr (sizeof(T) == 4)
      check(library().execute_c2c(handle_, reinterpret_cast<cufftComplex*>(from),
                                  reinterpret_cast<cufftComplex*>(out), direction),
            "executing a plan");
    else
      check(library().execute_z2z(handle_, reinterpret_cast<cufftDoubleComplex*>(from),
                                  reinterpret_cast<cufftDoubleComplex*>(out), direction),
            "executing a plan");
  }

 private:
  cufftHandle handle_ = 0;
  bool created_ = false;
  std::size_t work_bytes_ = 0;
  Device device_;
};

}  // namespace fhd::cufft
