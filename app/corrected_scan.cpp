#include "app/corrected_scan.hpp"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "recon/trajectory/gradient_delays.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::app {
namespace {

class CorrectedScan final : public io::ScanFile {
 public:
  CorrectedScan(std::unique_ptr<io::ScanFile> file, const TrajectoryCorrection& correction)
      : file_(std::move(file)), correction_(correction) {}
  const io::ScanSummary& summary() const override { return file_->summary(); }
  bool reads_side_by_side() const override { return file_->reads_side_by_side(); }

  Scan read(std::int64_t slice, std::int64_t repetition) override {
    std::call_once(decided_, [&] { decide(); });
    Scan scan = file_->read(slice, repetition);
    scan.remarks.push_back(remark_);
    if (delays_.are_zero()) return scan;
    const auto starts = validation::readout_starts(scan.trajectory, summary().readout_length);
    return with_delays(std::move(scan), starts, delays_);
  }

 private:
  void decide() {
    const auto& geometry = summary().geometry;
    if (correction_.kind == TrajectoryCorrection::Kind::given) {
      delays_ = GradientDelays::along_axes(correction_.delay_samples);
      remark_ = fmt::format("the trajectory was corrected for gradient delays of {}, as given",
                            in_words(delays_, geometry));
      return;
    }
    const Scan scan = file_->read(summary().slice_count / 2, 0);
    const auto found =
        estimate_delays(scan, validation::readout_starts(scan.trajectory, summary().readout_length));
    if (!found.found()) {
      remark_ = "the trajectory was not corrected for gradient delays: " + found.obstacle;
      return;
    }
    delays_ = found.delays;
    remark_ = fmt::format(
        "the trajectory was corrected for gradient delays of {} (uncertain by {:.2g}), with which the centre "
        "of "
        "k-space contradicts itself by {:.2g} % and not {:.2g} %",
        in_words(delays_, geometry), found.uncertainty, 100 * found.inconsistency,
        100 * found.inconsistency_before);
  }

  std::unique_ptr<io::ScanFile> file_;
  TrajectoryCorrection correction_;
  std::once_flag decided_;
  GradientDelays delays_;
  std::string remark_;
};

}  // namespace

std::unique_ptr<io::ScanFile> with_trajectory_correction(std::unique_ptr<io::ScanFile> file,
                                                         const TrajectoryCorrection& correction) {
  if (correction.kind == TrajectoryCorrection::Kind::off) return file;
  return std::make_unique<CorrectedScan>(std::move(file), correction);
}

}  // namespace fhd::app
