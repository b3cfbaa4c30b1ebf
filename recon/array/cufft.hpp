#pragma once
// cuFFT, opened at run time, and its plans. Linked in, it would add its machine code for every GPU to the program
// (280 MB in CUDA 13); as a needed shared library it would keep the program from starting where CUDA is not
// installed. For .cu files only.
#include <cufft.h>

#include <memory>
#include <string_view>
#include <vector>

#include "recon/array/array.hpp"

namespace fhd::cufft {

/// The functions that are used, with the types of cufft.h.
struct Library {
  decltype(&cufftCreate) create;
  decltype(&cufftDestroy) destroy;
  decltype(&cufftMakePlanMany64) make_plan_many;
  decltype(&cufftSetAutoAllocation) set_auto_allocation;
  decltype(&cufftSetWorkArea) set_work_area;
  decltype(&cufftSetStream) set_stream;
  decltype(&cufftExecC2C) execute_c2c;
  decltype(&cufftExecZ2Z) execute_z2z;
};

/// Opens the library at the first call. Throws Error when it is not there or lacks a function.
const Library& library();

/// Throws Error unless `status` is success. `what` names the work.
void check(cufftResult status, std::string_view what);

/// Where the elements of a batch of FFTs lie: neighbours along the fastest axis `stride` apart, transforms
/// `distance`.
struct Layout {
  std::int64_t stride, distance;
};

/// Of a plan of `device`. A failure has no one to tell: it was reported by the work that caused it.
struct Destroy {
  Device device;
  void operator()(cufftHandle* plan) const noexcept;
};

/// Complex transforms on `device`, unnormalised. A plan owns no memory: its user gives it a work area.
template <class T>
class Plan {
 public:
  /// `sizes`: 1 ... 3 axes, slowest first.
  Plan(std::vector<long long> sizes, Layout in, Layout out, std::int64_t batch, Device device) {
    const CurrentDevice guard(device);
    auto made = std::make_unique<cufftHandle>();
    check(library().create(made.get()), "making a plan");
    handle_ = {made.release(), Destroy{device}};
    check(library().set_auto_allocation(*handle_, 0), "making a plan");
    check(library().make_plan_many(*handle_, static_cast<int>(sizes.size()), sizes.data(), sizes.data(),
                                   in.stride, in.distance, sizes.data(), out.stride, out.distance,
                                   sizeof(T) == 4 ? CUFFT_C2C : CUFFT_Z2Z, batch, &work_bytes_),
          "making a plan");
  }

  std::size_t work_bytes() const { return work_bytes_; }
  /// At least work_bytes() bytes and never null; kept by the caller until the last transform is done.
  void use_work_area(void* work) const {
    check(library().set_work_area(*handle_, work), "setting a work area");
  }
  /// `direction` is CUFFT_FORWARD (exponent -1) or CUFFT_INVERSE; `in` may be `out`.
  void execute(const Complex<T>* in, Complex<T>* out, int direction, CUstream_st* stream = nullptr) const {
    check(library().set_stream(*handle_, stream), "choosing a stream");
    auto* from = const_cast<Complex<T>*>(in);  // cuFFT keeps the input of complex transforms out of place
    if constexpr (sizeof(T) == 4)
      check(library().execute_c2c(*handle_, reinterpret_cast<cufftComplex*>(from),
                                  reinterpret_cast<cufftComplex*>(out), direction),
            "executing a plan");
    else
      check(library().execute_z2z(*handle_, reinterpret_cast<cufftDoubleComplex*>(from),
                                  reinterpret_cast<cufftDoubleComplex*>(out), direction),
            "executing a plan");
  }

 private:
  std::unique_ptr<cufftHandle, Destroy> handle_;
  std::size_t work_bytes_ = 0;
};

}  // namespace fhd::cufft
