#include "app/series_printer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/console.hpp"

namespace fhd::app {

void SeriesPrinter::count(const Report& report) {
  ++done_;
  if (!report.suspicions.empty()) ++suspicious_;
}

bool SeriesPrinter::says_suspicion(const std::string& sentence) {
  constexpr std::size_t most = 5;
  if (says_each()) return true;
  if (suspicions_said_ >= most || !is_new(sentence)) return false;
  ++suspicions_said_;
  return true;
}

std::string SeriesPrinter::context() const {
  const double rate = static_cast<double>(done_) / std::max(seconds(), 1e-9);
  const auto next = std::min(done_ + 1, total_);
  if (done_ == 0) return fmt::format("image {} of {}", next, total_);
  return fmt::format("image {} of {}, {:.3g} images/s, {} left", next, total_, rate,
                     clock_text(static_cast<double>(total_ - done_) / rate));
}

void SeriesPrinter::print_summary(const std::vector<Report>& reports) const {
  if (says_each()) return;
  std::size_t least = SIZE_MAX, most = 0, stopped = 0, failed = 0;
  double residual = 0, error = 0;
  for (const auto& report : reports) {
    const auto iterations = std::max<std::size_t>(report.relative_residuals.size(), 1) - 1;
    least = std::min(least, iterations), most = std::max(most, iterations);
    stopped += !report.converged;
    residual = std::max(residual, report.data_residual);
    if (!report.certificate) continue;
    error = std::max(error, report.certificate->error());
    failed += !report.certificate->passed;
  }
  fmt::print("images    {}: {:.2f} s, {:.4g} images/s; {} ... {} iterations{}; |F rho - d| / |d| at most {:.3f}\n",
             reports.size(), seconds(), static_cast<double>(reports.size()) / seconds(), least, most,
             stopped == 0 ? "" : fmt::format(", {} stopped by --iterations", stopped), residual);
  fmt::print("accuracy  error at most {:.1e}{}\n", error,
             failed == 0 ? "" : fmt::format(", {} images less accurate than asked", failed));
  if (suspicious_ > 0) fmt::print("verdict   {} of {} images are suspicious\n", suspicious_, reports.size());
}

}  // namespace fhd::app
