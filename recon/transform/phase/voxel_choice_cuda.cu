#include "recon/array/pointwise_cuda.cuh"
#include "recon/transform/phase/voxel_choice.hpp"

FHD_POINTWISE_KERNEL(fhd::CopyVoxels<float>)
FHD_POINTWISE_KERNEL(fhd::CopyVoxels<double>)
