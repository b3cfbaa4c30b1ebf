#include "app/run/corrected_scan.hpp"

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "io/scan/girf_file.hpp"
#include "recon/trajectory/gradient_response.hpp"
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
        "the trajectory was corrected for gradient delays of {} (uncertain by {:.2g}), with which the centre "
        "of "
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

/// A volume, and what becomes of it where its readouts, and those of its calibration, start there.
struct Correction {
  std::function<Scan(io::ScanFile&, std::int64_t slice, std::int64_t repetition)> read;
  std::function<Scan(Scan, const ReadoutStarts&, const ReadoutStarts& of_calibration, BeyondMatrix)> correct;
};

class CorrectedScan final : public io::ScanFile {
 public:
  CorrectedScan(std::shared_ptr<io::ScanFile> file, Correction correction, BeyondMatrix leaves)
      : file_(std::move(file)),
        correction_(std::move(correction)),
        leaves_(leaves),
        summary_(file_->summary()) {}
  const io::ScanSummary& summary() const override { return summary_; }
  bool reads_side_by_side() const override { return file_->reads_side_by_side(); }
  /// A file whose content decides the images, too.
  void add_piece(const std::string& what, const std::string& path) {
    summary_.outside_pieces.emplace_back(what, path);
  }

  Scan read(std::int64_t slice, std::int64_t repetition) override {
    Scan scan = correction_.read(*file_, slice, repetition);
    const auto starts = starts_of(scan, *file_);
    const auto of_calibration =
        scan.calibration ? validation::readout_starts(scan.calibration->trajectory) : ReadoutStarts{};
    const auto all = scan.trajectory.sample_count();
    scan = correction_.correct(std::move(scan), starts, of_calibration, leaves_);
    const auto left = scan.trajectory.sample_count();
    const bool whole = left == all || (leaves_ == BeyondMatrix::columns && readout_length(starts) > 0);
    std::atomic_ref(summary_.readout_length) = whole ? file_->summary().readout_length * left / all : 0;
    return scan;
  }

 private:
  std::shared_ptr<io::ScanFile> file_;
  Correction correction_;
  BeyondMatrix leaves_;
  io::ScanSummary summary_;
};

std::unique_ptr<io::ScanFile> with_delays_of(const std::shared_ptr<io::ScanFile>& file,
                                             const std::shared_ptr<DelaysOfScan>& of_scan,
                                             BeyondMatrix leaves) {
  const auto read = [of_scan](io::ScanFile& source, std::int64_t slice, std::int64_t repetition) {
    static_cast<void>(of_scan->delays());  // found when they are asked for first
    return of_scan->read(source, slice, repetition);
  };
  const auto correct = [of_scan](Scan scan, const ReadoutStarts& starts, const ReadoutStarts& of_calibration,
                                 BeyondMatrix beyond) {
    scan.remarks.push_back(of_scan->remark());
    return with_delays(std::move(scan), starts, of_scan->delays(), of_calibration, beyond);
  };
  return std::make_unique<CorrectedScan>(file, Correction{read, correct}, leaves);
}

std::unique_ptr<io::ScanFile> with_girf(std::unique_ptr<io::ScanFile> file, const std::string& path,
                                        BeyondMatrix leaves) {
  if (path.empty()) return file;
  const auto response = std::make_shared<const GradientResponse>(io::read_gradient_response(path));
  const auto read = [](io::ScanFile& source, std::int64_t slice, std::int64_t repetition) {
    return source.read(slice, repetition);
  };
  const bool assumed = !file->summary().states_directions;
  const auto correct = [response, assumed](Scan scan, const ReadoutStarts& starts,
                                           const ReadoutStarts& of_calibration, BeyondMatrix beyond) {
    if (assumed)
      scan.remarks.emplace_back(
          "the scan does not tell the directions of its axes: its x, y and z were taken for those of the "
          "gradient "
          "response");
    return with_response(std::move(scan), starts, *response, of_calibration, beyond);
  };
  auto corrected = std::make_unique<CorrectedScan>(std::shared_ptr<io::ScanFile>(std::move(file)),
                                                   Correction{read, correct}, leaves);
  corrected->add_piece("gradient response", path);
  return corrected;
}

}  // namespace

std::unique_ptr<io::ScanFile> with_trajectory_correction(std::unique_ptr<io::ScanFile> file,
                                                         const TrajectoryCorrection& correction,
                                                         BeyondMatrix leaves) {
  file = with_girf(std::move(file), correction.girf, leaves);
  if (correction.kind == TrajectoryCorrection::Kind::off) return file;
  const std::shared_ptr<io::ScanFile> shared = std::move(file);
  return with_delays_of(shared, std::make_shared<DelaysOfScan>(shared, correction), leaves);
}

std::vector<std::unique_ptr<io::ScanFile>> with_trajectory_correction(
    std::vector<std::unique_ptr<io::ScanFile>> files, const TrajectoryCorrection& correction) {
  std::shared_ptr<DelaysOfScan> delays;
  for (auto& file : files) {
    file = with_girf(std::move(file), correction.girf, BeyondMatrix::samples);
    if (correction.kind == TrajectoryCorrection::Kind::off) continue;
    const std::shared_ptr<io::ScanFile> shared = std::move(file);
    if (!delays) delays = std::make_shared<DelaysOfScan>(shared, correction);
    file = with_delays_of(shared, delays, BeyondMatrix::samples);
  }
  return files;
}

}  // namespace fhd::app
