#pragma once
// Figures of a report in one line.
#include <string>

#include "recon/domain/report.hpp"

namespace fhd::app {

/// Returns "Q 0.12 s, conjugate gradient 0.08 s; 12 iterations, residual 1.0e-06, |F rho - d| / |d| = 0.043".
std::string solution_line(const Report& report);
/// Returns "F error 3e-07, ..., true residual ...".
std::string certificate_line(const Certificate& certificate);

}  // namespace fhd::app
