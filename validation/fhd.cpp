#include "validation/fhd.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>

#include "recon/pipeline/measurements.hpp"
#include "validation/certificate.hpp"
#include "validation/verdict/judgement.hpp"

namespace fhd {
namespace {

/// The beginning of an Error's subject, without the dashes, and the member that it means.
struct Member {
  std::string_view option, name;
};
constexpr Member members[] = {{"basis", "LeastSquares::basis"},
                              {"coils", "CoilSettings::maps"},
                              {"compress", "CoilSettings::compression"},
                              {"device", "Execution::device"},
                              {"iterations", "LeastSquares::iterations"},
                              {"lambda", "LeastSquares::lambda"},
                              {"map-sets", "CoilSettings::map_sets"},
                              {"method", "Settings::method"},
                              {"normal", "LeastSquares::normal"},
                              {"partial-fourier", "LeastSquares::partial_fourier"},
                              {"prior-strength", "AnatomicalPrior::strength"},
                              {"regularizer roughness", "LeastSquares::regularizer RoughnessPenalty"},
                              {"regularizer", "LeastSquares::sparse"},
                              {"tolerance", "LeastSquares::tolerance"}};

/// Names the member of the settings in place of an option of the program.
void name_member(ErrorParts& parts, const Settings& settings) {
  if (!parts.subject.starts_with("--")) return;
  const bool grids = is_method<ConventionalGridding>(settings);
  const auto rename = [&](const Member& member) {
    const auto end = 2 + member.option.size();
    if (parts.subject.compare(2, member.option.size(), member.option) != 0 ||
        (parts.subject.size() > end && parts.subject[end] != ' '))
      return false;
    parts.subject.replace(0, end, member.name);
    parts.field = member.name.substr(0, member.name.find(' '));
    return true;
  };
  if (!rename({"accuracy", grids ? "ConventionalGridding::accuracy" : "TransformSettings::accuracy"}))
    std::find_if(std::begin(members), std::end(members), rename);
}

/// Throws Error where no position is farther from the centre than k of cycles or radians per voxel can be, though the
/// matrix has room for more.
void require_cycles_per_fov(const Trajectory& trajectory, const std::array<int, 3>& matrix_size) {
  const int smallest = std::ranges::min(matrix_size, {}, [](int n) { return n == 1 ? 1 << 30 : n; });
  double largest = 0;
  for (const double k : trajectory.k) largest = std::max(largest, std::abs(k));
  const auto refuse = [&](const char* unit, const char* factor) {
    throw Error("positions", "cycles/FOV, |k| up to " + std::to_string(smallest / 2),
                "at most " + std::to_string(largest) + ", as of " + unit,
                std::string("multiply each axis by ") + factor + ", or set scan.trajectory by trajectory_of");
  };
  if (smallest >= 4 && smallest < 1 << 30 && largest > 0 && largest <= 0.5 * edge_rounding)
    refuse("cycles/voxel", "its voxels N");
  if (smallest >= 14 && smallest < 1 << 30 && largest > 0.95 * std::numbers::pi &&
      largest <= std::numbers::pi * edge_rounding)
    refuse("radians/voxel", "its voxels N / (2 pi)");
}

/// Adds what the checks of a result found.
void add_findings(Report& report) {
  for (auto& message : report.messages)
    if (message.code == no_signal) message.severity = Severity::problem;
  if (report.certificate && !report.certificate->passed)
    report.messages.push_back(
        {codes::certificate, Severity::suspicion, "the operators are less accurate than asked"});
  if (!report.verdict) return;
  const bool is_alarm = report.verdict->judgement == Verdict::Judgement::unexplained;
  if (!is_alarm && !(report.verdict->unexplained > validation::unexplained_limit)) return;
  Message suspicion{"verdict", is_alarm ? Severity::suspicion : Severity::warning, report.verdict->sentence};
  if (const auto& cause = report.verdict->cause) suspicion.remedy = validation::remedy_of_cause(*cause, {});
  report.messages.push_back(std::move(suspicion));
}

}  // namespace

const char* library_version() { return FHD_VERSION; }

Trajectory trajectory_of(const Array<double>& positions) {
  if (positions.shape().rank() != 2 || (positions.extent(1) != 2 && positions.extent(1) != 3))
    throw Error("positions", "[sample][axis] with two or three axes", positions.shape().text());
  const std::int64_t samples = positions.extent(0), axes = positions.extent(1);
  Trajectory trajectory{Array<double>({3, samples})};
  for (std::int64_t axis = 0; axis < axes; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) trajectory.k[axis * samples + m] = positions[m * axes + axis];
  return trajectory;
}

Scan scan_of(Array<Complex<float>> kspace, const Array<double>& positions,
             const std::array<int, 3>& matrix_size) {
  Scan scan;
  scan.geometry.matrix_size = matrix_size;
  scan.trajectory = trajectory_of(positions);
  scan.kspace.values = std::move(kspace);
  scan.validate("scan");
  require_cycles_per_fov(scan.trajectory, matrix_size);
  return scan;
}

Services verifying_services() { return {{}, validation::make_verifier(), {}}; }

Reconstruction reconstruct_and_verify(const Scan& scan, const Settings& settings, const Execution& execution,
                                      const ProgressCallback& progress) {
  try {
    Reconstruction result = Reconstructor(settings, execution, verifying_services())(scan, progress);
    add_findings(result.report);
    return result;
  } catch (const DeviceError&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    name_member(parts, settings);
    throw Error(std::move(parts));
  }
}

}  // namespace fhd
