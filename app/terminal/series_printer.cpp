#include "app/terminal/series_printer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/terminal/console.hpp"
#include "app/terminal/event_lines.hpp"

namespace fhd::app {

void SeriesPrinter::count(const Report& report) { add(report); }

void SeriesPrinter::count_earlier(const Report& report) {
  add(report);
  ++earlier_;
  begin_ = Clock::now();
}

void SeriesPrinter::add(const Report& report) {
  ++done_;
  if (!report.suspicions.empty()) ++suspicious_;
  const auto iterations = std::max<std::size_t>(report.relative_residuals.size(), 1) - 1;
  least_ = std::min(least_, iterations), most_ = std::max(most_, iterations);
  stopped_ += !report.converged;
  residual_ = std::max(residual_, report.data_residual);
  if (!report.certificate) return;
  error_ = std::max(error_, report.certificate->error());
  failed_ += !report.certificate->passed;
}

bool SeriesPrinter::says_suspicion(const std::string& sentence) {
  constexpr std::size_t most = 5;
  if (says_each()) return true;
  if (suspicions_said_ >= most || !is_new(sentence)) return false;
  ++suspicions_said_;
  return true;
}

std::string SeriesPrinter::context() const {
  const double rate = static_cast<double>(done_ - earlier_) / std::max(seconds(), 1e-9);
  const auto next = std::min(done_ + 1, total_);
  if (done_ == earlier_) return fmt::format("image {} of {}", next, total_);
  return fmt::format("image {} of {}, {:.3g} images/s, {} left", next, total_, rate,
                     clock_text(static_cast<double>(total_ - done_) / rate));
}

void SeriesPrinter::print_summary() const {
  if (says_each() || done_ == 0) return;
  const auto now = done_ - earlier_;
  const auto from_earlier = earlier_ == 0 ? "" : fmt::format(" ({} of an earlier run)", earlier_);
  say("images",
      fmt::format("{}{}: {:.2f} s, {:.4g} images/s; {} ... {} iterations{}; |F rho - d| / |d| at most {:.3f}",
                  done_, from_earlier, seconds(), static_cast<double>(now) / seconds(), least_, most_,
                  stopped_ == 0 ? "" : fmt::format(", {} stopped by --iterations", stopped_), residual_));
  say("accuracy",
      fmt::format("error at most {:.1e}{}", error_,
                  failed_ == 0 ? "" : fmt::format(", {} images less accurate than asked", failed_)));
  if (suspicious_ > 0) say("verdict", fmt::format("{} of {} images are suspicious", suspicious_, done_));
}

}  // namespace fhd::app
