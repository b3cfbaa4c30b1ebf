#include "recon/array/pointwise_cuda.cuh"
#include "recon/solve/terms/variation_functors.hpp"

#define FHD_VARIATION_KERNELS(T)                               \
  FHD_POINTWISE_KERNEL(fhd::TakeGradient<T>)                   \
  FHD_POINTWISE_KERNEL(fhd::AddGradientTransposed<T>)          \
  FHD_POINTWISE_KERNEL(fhd::TakeSymmetricGradient<T>)          \
  FHD_POINTWISE_KERNEL(fhd::AddSymmetricGradientTransposed<T>) \
  FHD_POINTWISE_KERNEL(fhd::ShrinkVectors<T>)                  \
  FHD_POINTWISE_KERNEL(fhd::RootsOfVectors<T>)
FHD_VARIATION_KERNELS(float)
FHD_VARIATION_KERNELS(double)
#undef FHD_VARIATION_KERNELS
