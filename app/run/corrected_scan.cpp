#include "app/run/corrected_scan.hpp"

#include <fmt/format.h>

#include <functional>
#include <mutex>
#include <utility>

#include "io/scan/companion_files.hpp"
#include "recon/trajectory/gradient_response.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::app {
namespace {

using Corrected = std::function<Scan(Scan, const ReadoutStarts&, const ReadoutStarts& of_calibration)>;

/// Adds a correction that knows where the readouts of a volume, and of its calibration, start.
void add_correction(io::ScanFile& file, BeyondMatrix leaves, Corrected corrected) {
  file.add([corrected = std::move(corrected), leaves](Scan& scan, io::VolumeContext& context) {
    const auto starts = validation::readout_starts(scan.trajectory, context.readout_length);
    const auto of_calibration =
        scan.calibration ? validation::readout_starts(scan.calibration->trajectory) : ReadoutStarts{};
    const auto all = scan.trajectory.sample_count();
    scan = corrected(std::move(scan), starts, of_calibration);
    const auto left = scan.trajectory.sample_count();
    const bool whole = left == all || (leaves == BeyondMatrix::columns && readout_length(starts) > 0);
    context.readout_length = whole ? context.readout_length * left / all : 0;
  });
}

/// Gives the gradient delays of a scan: as the user gave them, or found when they are asked for first, in the first
/// repetition of the middle slice.
class DelaysOfScan {
 public:
  DelaysOfScan(io::ScanFile file, const TrajectoryCorrection& correction)
      : file_(std::move(file)), correction_(correction) {}

  const GradientDelays& delays() {
    std::call_once(decided_, [&] { decide(); });
    return delays_;
  }
  /// Returns the sentence for the report.
  const std::string& remark() const { return remark_; }

 private:
  void decide() {
    const auto& geometry = file_.summary().geometry;
    if (correction_.kind == TrajectoryCorrection::Kind::given) {
      delays_ = GradientDelays::along_axes(correction_.delay_samples);
      remark_ = fmt::format("the trajectory was corrected for gradient delays of {}, as given",
                            in_words(delays_, geometry));
      return;
    }
    const auto scan = file_.read(file_.summary().slice_count / 2, 0);
    const auto found =
        estimate_delays(scan, validation::readout_starts(scan.trajectory, file_.summary().readout_length));
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

  io::ScanFile file_;  ///< without the correction for delays
  TrajectoryCorrection correction_;
  std::once_flag decided_;
  GradientDelays delays_;
  std::string remark_;
};

void add_delays(io::ScanFile& file, const std::shared_ptr<DelaysOfScan>& of_scan, BeyondMatrix leaves) {
  add_correction(
      file, leaves,
      [of_scan, leaves](Scan scan, const ReadoutStarts& starts, const ReadoutStarts& of_calibration) {
        const auto& delays = of_scan->delays();
        scan.messages.push_back({codes::delays, Severity::note, of_scan->remark()});
        return with_delays(std::move(scan), starts, delays, of_calibration, leaves);
      });
}

void add_girf(io::ScanFile& file, const std::string& path, BeyondMatrix leaves) {
  if (path.empty()) return;
  const auto response = std::make_shared<const GradientResponse>(io::read_gradient_response(path));
  const bool assumed = !file.summary().states_directions;
  add_correction(
      file, leaves, [=](Scan scan, const ReadoutStarts& starts, const ReadoutStarts& of_calibration) {
        if (assumed)
          scan.messages.push_back(
              {"gradient_response", Severity::note,
               "the scan does not tell the directions of its axes: its x, y and z were taken for those "
               "of the "
               "gradient "
               "response"});
        return with_response(std::move(scan), starts, *response, of_calibration, leaves);
      });
  file.editable_summary().outside_pieces.emplace_back("gradient response", path);
}

}  // namespace

std::unique_ptr<io::ScanFile> with_trajectory_correction(std::unique_ptr<io::ScanFile> file,
                                                         const TrajectoryCorrection& correction,
                                                         BeyondMatrix leaves) {
  add_girf(*file, correction.girf, leaves);
  if (correction.kind != TrajectoryCorrection::Kind::off)
    add_delays(*file, std::make_shared<DelaysOfScan>(*file, correction), leaves);
  return file;
}

std::vector<std::unique_ptr<io::ScanFile>> with_trajectory_correction(
    std::vector<std::unique_ptr<io::ScanFile>> files, const TrajectoryCorrection& correction) {
  std::shared_ptr<DelaysOfScan> delays;
  for (auto& file : files) {
    add_girf(*file, correction.girf, BeyondMatrix::samples);
    if (correction.kind == TrajectoryCorrection::Kind::off) continue;
    if (!delays) delays = std::make_shared<DelaysOfScan>(*file, correction);
    add_delays(*file, delays, BeyondMatrix::samples);
  }
  return files;
}

}  // namespace fhd::app
