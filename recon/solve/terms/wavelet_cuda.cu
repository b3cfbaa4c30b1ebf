#include "recon/array/pointwise_cuda.cuh"
#include "recon/solve/terms/wavelet_functors.hpp"

#define FHD_WAVELET_KERNELS(T)                \
  FHD_POINTWISE_KERNEL(fhd::SplitAxis<T>)     \
  FHD_POINTWISE_KERNEL(fhd::JoinAxis<T>)      \
  FHD_POINTWISE_KERNEL(fhd::CopyCorner<T>)    \
  FHD_POINTWISE_KERNEL(fhd::ShiftImage<T>)    \
  FHD_POINTWISE_KERNEL(fhd::AddUnshifted<T>)  \
  FHD_POINTWISE_KERNEL(fhd::ShrinkDetails<T>) \
  FHD_POINTWISE_KERNEL(fhd::RootsOfDetails<T>)
FHD_WAVELET_KERNELS(float)
FHD_WAVELET_KERNELS(double)
#undef FHD_WAVELET_KERNELS
