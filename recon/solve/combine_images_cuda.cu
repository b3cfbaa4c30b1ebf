#include "recon/array/pointwise_cuda.cuh"
#include "recon/solve/combine_images.hpp"

FHD_POINTWISE_KERNEL(fhd::CombineImages<float>)
FHD_POINTWISE_KERNEL(fhd::CombineImages<double>)
