#include "recon/array/pointwise_cuda.cuh"
#include "recon/solve/real_part.hpp"

FHD_POINTWISE_KERNEL(fhd::RealPart<float>)
FHD_POINTWISE_KERNEL(fhd::RealPart<double>)
