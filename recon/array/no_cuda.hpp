#pragma once
#include "recon/array/device.hpp"  // refuse_cuda()
