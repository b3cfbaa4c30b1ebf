#pragma once
// cuFFT, opened at run time, and its plans. Linked in, it would add its machine code for every GPU to the program
// (280 MB in CUDA 13); as a needed shared library it would keep the program from starting where CUDA is not
// installed. For .cu files only.
#include <cufft.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/device_cuda.hpp"

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
  std::int64_t stride = 1, distance = 1;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Identifies a plan.
struct PlanKey {
  std::vector<long long> sizes;  ///< 1 ... 3 axes, slowest first
  Layout in, out;
  std::int64_t batch = 1;
  bool in_double = false;
  int device = 0;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

struct Handle {
  explicit Handle(const PlanKey& key);
  /// A failure has no one to tell: it was reported by the work that caused it.
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cufftHandle plan{};
  std::size_t work_bytes = 0;
  int device = 0;
};

/// The calling thread's, which keeps the latest: cuFFT takes 0.7 ms for one, and scans of a batch take the same.
std::shared_ptr<const Handle> handle_of(const PlanKey& key);

/// Complex transforms on `device`, unnormalised. A plan owns no memory: its user gives it a work area. It is used by the
/// thread that made it.
template <class T>
class Plan {
 public:
  /// `sizes`: 1 ... 3 axes, slowest first.
  Plan(std::vector<long long> sizes, Layout in, Layout out, std::int64_t batch, Device device)
      : handle_(handle_of({std::move(sizes), in, out, batch, sizeof(T) == 8, device.number()})) {}

  std::size_t work_bytes() const { return handle_->work_bytes; }
  /// `direction` is CUFFT_FORWARD (exponent -1) or CUFFT_INVERSE; `in` may be `out`. `work` has at least work_bytes()
  /// bytes, is never null, and is kept until the transform is done.
  void execute(const Complex<T>* in, Complex<T>* out, int direction, void* work,
               CUstream_st* stream = device::cuda::default_stream()) const {
    const cufftHandle plan = handle_->plan;  // others may have used it since
    check(library().set_work_area(plan, work), "setting a work area");
    check(library().set_stream(plan, stream), "choosing a stream");
    auto* from = const_cast<Complex<T>*>(in);  // cuFFT keeps the input of complex transforms out of place
    if constexpr (sizeof(T) == 4)
      check(library().execute_c2c(plan, reinterpret_cast<cufftComplex*>(from),
                                  reinterpret_cast<cufftComplex*>(out), direction),
            "executing a plan");
    else
      check(library().execute_z2z(plan, reinterpret_cast<cufftDoubleComplex*>(from),
                                  reinterpret_cast<cufftDoubleComplex*>(out), direction),
            "executing a plan");
  }

 private:
  std::shared_ptr<const Handle> handle_;
};

}  // namespace fhd::cufft
