#pragma once
// Impulse responses of a gradient system, from an HDF5 file in one of two layouts:
//
//     /girf              complex [axis][frequency], H of recon/domain/gradient_response.hpp
//     /frequency_hz      [frequency], ascending, from 0 or less on
//
//     /impulse_response  real [axis][time], h in 1/s
//     /time_s            [time], ascending in even steps, negative ones before the impulse
//
// with the axes x, y and z of the magnet.
#include <string>

#include "recon/domain/gradient_response.hpp"

namespace fhd::io {

/// Reads them. Throws Error where the file has neither layout, or GradientResponse::validate refuses it.
GradientResponse read_gradient_response(const std::string& path);
/// Reads the file in this process.
GradientResponse read_gradient_response_here(const std::string& path);

}  // namespace fhd::io
