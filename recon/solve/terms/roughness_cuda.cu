#include "recon/array/pointwise_cuda.cuh"
#include "recon/solve/terms/roughness_functor.hpp"

FHD_POINTWISE_KERNEL(fhd::AddRoughness<float>)
FHD_POINTWISE_KERNEL(fhd::AddRoughness<double>)
FHD_POINTWISE_KERNEL(fhd::AddWeighted<float>)
FHD_POINTWISE_KERNEL(fhd::AddWeighted<double>)
