#include "recon/array/pointwise_cuda.cuh"
#include "recon/solve/terms/temporal_functors.hpp"

#define FHD_TEMPORAL_KERNELS(T)                              \
  FHD_POINTWISE_KERNEL(fhd::TakeTimeDifferences<T>)          \
  FHD_POINTWISE_KERNEL(fhd::AddTimeDifferencesTransposed<T>) \
  FHD_POINTWISE_KERNEL(fhd::AddSecondTimeDifferences<T>)
FHD_TEMPORAL_KERNELS(float)
FHD_TEMPORAL_KERNELS(double)
#undef FHD_TEMPORAL_KERNELS
