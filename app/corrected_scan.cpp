#include "app/corrected_scan.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "validation/verdict/readouts.hpp"

namespace fhd::app {
namespace {

ReadoutStarts starts_of(const Scan& scan, const io::ScanFile& file) {
  return validation::readout_starts(scan.trajectory, file.summary().readout_length);
}

/// Given, or found in a file when they are asked for first.
class DelaysOfScan {
 public:
  DelaysOfScan(std::shared_ptr<io::ScanFile> file, const TrajectoryCorrection& correction)
      : file_(std::move(file)), correction_(correction), slice_(file_->summary().slice_count / 2) {}

  const GradientDelays& delays() {
    std::call_once(decided_, [&] { decide(); });
    return delays_;
  }
  /// What was decided.
  const std::string& remark() const { return remark_; }
  /// A volume of a file; what the delays were found in is not read again.
  Scan read(io::ScanFile& file, std::int64_t slice, std::int64_t repetition) {
    if (&file == file_.get() && slice == slice_ && repetition == 0) {
      const std::lock_guard lock(mutex_);
      if (auto known = std::exchange(read_, {})) return std::move(*known);
    }
    return file.read(slice, repetition);
  }

 private:
  void decide() {
    const auto& geometry = file_->summary().geometry;
    if (correction_.kind == TrajectoryCorrection::Kind::given) {
      delays_ = GradientDelays::along_axes(correction_.delay_samples);
      remark_ = fmt::format("the trajectory was corrected for gradient delays of {}, as given",
                            in_words(delays_, geometry));
      return;
    }
    read_ = file_->read(slice_, 0);
    const auto found = estimate_delays(*read_, starts_of(*read_, *file_));
    if (!found.found()) {
      remark_ = "the trajectory was not corrected for gradient delays: " + found.obstacle;
      return;
    }
    delays_ = found.delays;
    remark_ = fmt::format(
        "the trajectory was corrected for gradient delays of {} (uncertain by {:.2g}), with which the centre of "
        "k-space contradicts itself by {:.2g} % and not {:.2g} %",
        in_words(delays_, geometry), found.uncertainty, 100 * found.inconsistency,
        100 * found.inconsistency_before);
  }

  std::shared_ptr<io::ScanFile> file_;
  TrajectoryCorrection correction_;
  std::int64_t slice_;
  std::once_flag decided_;
  GradientDelays delays_;
  std::string remark_;
  std::mutex mutex_;
  std::optional<Scan> read_;
};

class CorrectedScan final : public io::ScanFile {
 public:
  CorrectedScan(std::shared_ptr<io::ScanFile> file, std::shared_ptr<DelaysOfScan> delays, BeyondMatrix leaves)
      : file_(std::move(file)), delays_(std::move(delays)), leaves_(leaves), summary_(file_->summary()) {}
  const io::ScanSummary& summary() const override { return summary_; }
  bool reads_side_by_side() const override { return file_->reads_side_by_side(); }

  Scan read(std::int64_t slice, std::int64_t repetition) override {
    const auto& delays = delays_->delays();
    Scan scan = delays_->read(*file_, slice, repetition);
    scan.remarks.push_back(delays_->remark());
    const auto starts = starts_of(scan, *file_);
    const auto of_calibration =
        scan.calibration ? validation::readout_starts(scan.calibration->trajectory) : ReadoutStarts{};
    const auto all = scan.trajectory.sample_count();
    scan = with_delays(std::move(scan), starts, delays, of_calibration, leaves_);
    const auto left = scan.trajectory.sample_count();
    const bool whole = left == all || (leaves_ == BeyondMatrix::columns && readout_length(starts) > 0);
    std::atomic_ref(summary_.readout_length) = whole ? file_->summary().readout_length * left / all : 0;
    return scan;
  }

 private:
  std::shared_ptr<io::ScanFile> file_;
  std::shared_ptr<DelaysOfScan> delays_;
  BeyondMatrix leaves_;
  io::ScanSummary summary_;
};

}  // namespace

std::unique_ptr<io::ScanFile> with_trajectory_correction(std::unique_ptr<io::ScanFile> file,
                                                         const TrajectoryCorrection& correction,
                                                         BeyondMatrix leaves) {
  if (correction.kind == TrajectoryCorrection::Kind::off) return file;
  const std::shared_ptr<io::ScanFile> shared = std::move(file);
  return std::make_unique<CorrectedScan>(shared, std::make_shared<DelaysOfScan>(shared, correction), leaves);
}

std::vector<std::unique_ptr<io::ScanFile>> with_trajectory_correction(
    std::vector<std::unique_ptr<io::ScanFile>> files, const TrajectoryCorrection& correction) {
  if (correction.kind == TrajectoryCorrection::Kind::off || files.empty()) return files;
  std::shared_ptr<DelaysOfScan> delays;
  for (auto& file : files) {
    const std::shared_ptr<io::ScanFile> shared = std::move(file);
    if (!delays) delays = std::make_shared<DelaysOfScan>(shared, correction);
    file = std::make_unique<CorrectedScan>(shared, delays, BeyondMatrix::samples);
  }
  return files;
}

}  // namespace fhd::app
