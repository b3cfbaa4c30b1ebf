#include "recon/array/pointwise_cuda.cuh"
#include "recon/encoding/functors.hpp"

#define FHD_ENCODING_KERNELS(T)                                  \
  FHD_POINTWISE_KERNEL(fhd::ApplyMaps<T>)                        \
  FHD_POINTWISE_KERNEL(fhd::CombineCoils<T>)                     \
  FHD_POINTWISE_KERNEL(fhd::DivideBySquares<T>)                  \
  FHD_POINTWISE_KERNEL(fhd::RootSumOfSquares<T>)                 \
  FHD_POINTWISE_KERNEL(fhd::TurnByFields<T>)                     \
  FHD_POINTWISE_KERNEL(fhd::SumOfSquares<T>)                     \
  FHD_POINTWISE_KERNEL(fhd::ApplyScaledMaps<T>)                  \
  FHD_POINTWISE_KERNEL(fhd::MultiplySpectra<T>)                  \
  FHD_POINTWISE_KERNEL(fhd::CombineScaled<T>)                    \
  FHD_POINTWISE_KERNEL(fhd::CirculantKernel<T>)                  \
  FHD_POINTWISE_KERNEL(fhd::ScaleAndBare<T>)                     \
  FHD_POINTWISE_KERNEL(fhd::InverseSpectrum<T>)                  \
  FHD_POINTWISE_KERNEL(fhd::SumInParts<fhd::Elements<T>>)        \
  FHD_POINTWISE_KERNEL(fhd::SumInParts<fhd::WeightedSquares<T>>) \
  FHD_POINTWISE_KERNEL(fhd::MultiplyEach<T, false, false>)       \
  FHD_POINTWISE_KERNEL(fhd::MultiplyEach<T, false, true>)        \
  FHD_POINTWISE_KERNEL(fhd::MultiplyEach<T, true, false>)        \
  FHD_POINTWISE_KERNEL(fhd::MultiplyEach<T, true, true>)
FHD_POINTWISE_KERNEL(fhd::NonNegativePart)
FHD_ENCODING_KERNELS(float)
FHD_ENCODING_KERNELS(double)
#undef FHD_ENCODING_KERNELS
