#include "app/terminal/report_lines.hpp"

#include <fmt/format.h>

namespace fhd::app {

std::string solution_line(const Report& report) {
  std::string line;
  for (const auto& stage : report.stages)
    line += fmt::format("{}{} {:.2f} s", line.empty() ? "" : ", ", stage.name, stage.seconds);
  if (!report.relative_residuals.empty())
    line += fmt::format("; {} iterations, residual {:.1e}{}, |F rho - d| / |d| = {:.3f}",
                        report.relative_residuals.size() - 1, report.relative_residuals.back(),
                        report.converged ? "" : " (stopped by --iterations)", report.data_residual);
  return line;
}

std::string certificate_line(const Certificate& c) {
  std::string line = fmt::format("F^H error {:.1e}", c.adjoint_error);
  if (c.forward_error >= 0)
    line = fmt::format("F error {:.1e}, F^H {:.1e}, F^H F {:.1e}", c.forward_error, c.adjoint_error,
                       c.normal_error);
  line += fmt::format(" (asked {:.0e}) at {} voxels", c.requested, c.voxels);
  if (c.samples > 0) line += fmt::format(" and {} samples", c.samples);
  if (c.true_residual >= 0)
    line += fmt::format("; true residual {:.1e}, adjointness {:.0e}", c.true_residual, c.adjointness);
  return line;
}

}  // namespace fhd::app
