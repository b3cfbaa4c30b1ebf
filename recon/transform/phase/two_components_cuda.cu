#include "recon/array/pointwise_cuda.cuh"
#include "recon/transform/phase/two_components.hpp"

FHD_POINTWISE_KERNEL(fhd::MultiplyByShare<float>)
FHD_POINTWISE_KERNEL(fhd::MultiplyByShare<double>)
