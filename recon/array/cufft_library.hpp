#pragma once
// cuFFT, opened at run time. Linked in, it would add its machine code for every GPU to the program (280 MB in
// CUDA 13); as a needed shared library it would keep the program from starting where CUDA is not installed.
// For .cu files only.
#include <cufft.h>

#include <string_view>

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

}  // namespace fhd::cufft
