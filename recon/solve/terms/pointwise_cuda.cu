#include "recon/array/pointwise_cuda.cuh"
#include "recon/solve/terms/difference_functors.hpp"
#include "recon/solve/terms/wavelet_functors.hpp"

#define FHD_TERM_KERNELS(T)                                    \
  FHD_POINTWISE_KERNEL(fhd::AddRoughness<T>)                   \
  FHD_POINTWISE_KERNEL(fhd::AddWeighted<T>)                    \
  FHD_POINTWISE_KERNEL(fhd::TakeGradient<T>)                   \
  FHD_POINTWISE_KERNEL(fhd::AddGradientTransposed<T>)          \
  FHD_POINTWISE_KERNEL(fhd::TakeSymmetricGradient<T>)          \
  FHD_POINTWISE_KERNEL(fhd::AddSymmetricGradientTransposed<T>) \
  FHD_POINTWISE_KERNEL(fhd::ShrinkVectors<T>)                  \
  FHD_POINTWISE_KERNEL(fhd::RootsOfVectors<T>)                 \
  FHD_POINTWISE_KERNEL(fhd::TakeTimeDifferences<T>)            \
  FHD_POINTWISE_KERNEL(fhd::AddTimeDifferencesTransposed<T>)   \
  FHD_POINTWISE_KERNEL(fhd::AddSecondTimeDifferences<T>)       \
  FHD_POINTWISE_KERNEL(fhd::SplitAxis<T>)                      \
  FHD_POINTWISE_KERNEL(fhd::JoinAxis<T>)                       \
  FHD_POINTWISE_KERNEL(fhd::CopyCorner<T>)                     \
  FHD_POINTWISE_KERNEL(fhd::ShiftImage<T>)                     \
  FHD_POINTWISE_KERNEL(fhd::AddUnshifted<T>)                   \
  FHD_POINTWISE_KERNEL(fhd::ShrinkDetails<T>)                  \
  FHD_POINTWISE_KERNEL(fhd::RootsOfDetails<T>)
FHD_TERM_KERNELS(float)
FHD_TERM_KERNELS(double)
