#include "validation/verdict/centre_misfit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "recon/array/interruption.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/verdict/energies.hpp"
#include "validation/verdict/readouts.hpp"
#include "validation/verdict/verdict.hpp"

namespace fhd::validation {
namespace {

/// Makes a verdict without changes of the model: whether there are more values than unknowns.
class ResidualVerifier final : public Verifier {
 public:
  Certificate verify(const VerifierInput<float>&) const override { return {}; }
  Certificate verify(const VerifierInput<double>&) const override { return {}; }
  std::vector<Verdict> judge(const std::vector<VerifierInput<float>>& inputs, Kept&) const override {
    auto without = inputs.front();
    without.encode = {};
    const auto starts = readout_starts(without.trajectory);
    auto table = energies_of(without, shells_of(without.trajectory, without.matrix_size, starts));
    return {weigh(without, table)};
  }
};

/// Takes every second, third ... run of successive samples, if there are more than `enough`.
void thin_out(std::vector<Index>& kept, Index enough) {
  const Index stride = static_cast<Index>(kept.size()) / enough + 1;
  if (stride == 1) return;
  std::vector<Index> some;
  Index run = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i > 0 && kept[i] != kept[i - 1] + 1) ++run;
    if (run % stride == 0) some.push_back(kept[i]);
  }
  kept = std::move(some);
}

/// Returns the samples within `radius` cycles/FOV along every axis, for a matrix a quarter wider than they need: the
/// largest frequencies of a small matrix repeat. Of many samples it takes about `enough`.
Scan centre_of(const Scan& scan, int radius, Index enough) {
  Scan centre;
  const Index all = scan.trajectory.sample_count(), coils = scan.kspace.coil_count();
  centre.geometry = scan.geometry;
  std::array<double, 3> limit{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int n = scan.geometry.matrix_size[axis], small = std::min(n, 2 * (radius + radius / 4));
    centre.geometry.matrix_size[axis] = small;
    limit[axis] = small < n ? radius : std::numeric_limits<double>::infinity();
    if (small == n && n > 1) limit[axis] = 0.5 * n;
  }
  std::vector<Index> kept;
  for (Index m = 0; m < all; ++m) {
    bool inside = true;
    for (std::size_t axis = 0; axis < 3; ++axis)
      inside = inside && std::abs(scan.trajectory.k[static_cast<Index>(axis) * all + m]) <= limit[axis];
    if (inside) kept.push_back(m);
  }
  thin_out(kept, enough);
  const auto count = static_cast<Index>(kept.size());
  if (count == 0) throw Error("k-space", "samples near its centre", "none");
  centre.trajectory.k = Array<double>(Shape{3, count});
  centre.kspace.values = Array<Complex<float>>(Shape{coils, count});
  for (Index i = 0; i < count; ++i) {
    const Index m = kept[static_cast<std::size_t>(i)];
    for (Index axis = 0; axis < 3; ++axis)
      centre.trajectory.k[axis * count + i] = scan.trajectory.k[axis * all + m];
    for (Index coil = 0; coil < coils; ++coil)
      centre.kspace.values[coil * count + i] = scan.kspace.values[coil * all + m];
  }
  centre.noise = scan.noise;
  return centre;
}

/// Returns maps [coil][z][y][x] at the voxels of a smaller matrix over the same FOV, each the nearest one.
SensitivityMaps nearest_maps(const SensitivityMaps& maps, const std::array<int, 3>& to) {
  SensitivityMaps small{Array<Complex<float>>(Shape{maps.values.extent(0), to[2], to[1], to[0]})};
  const std::array<int, 3> from{static_cast<int>(maps.values.extent(3)),
                                static_cast<int>(maps.values.extent(2)),
                                static_cast<int>(maps.values.extent(1))};
  const SmallGrid grid{to, {1, 1, 1}};
  const Index voxels = Index{from[0]} * from[1] * from[2];
  for (Index i = 0; i < small.values.size(); ++i)
    small.values[i] = maps.values[i / grid.count() * voxels + nearest_voxel(grid, i % grid.count(), from)];
  return small;
}

constexpr Index most_coils = 4;

}  // namespace

double misfit_of_centre(const Scan& scan, const CoilSettings& coils, CentreSize size) {
  static const auto verifier = std::make_shared<ResidualVerifier>();
  try {
    const bool is_3d = scan.geometry.matrix_size[2] > 1;
    const bool is_small = size == CentreSize::small;
    Scan centre = centre_of(scan, is_small ? 4 : is_3d ? 6 : 10, is_small ? 4'000 : 10'000);
    if (scan.sensitivity_maps)
      centre.sensitivity_maps = nearest_maps(*scan.sensitivity_maps, centre.geometry.matrix_size);
    centre.calibration = scan.calibration;
    LeastSquares method;
    method.transform = {TransformKind::gridded, 1e-3};
    method.iterations = 12;
    Settings settings{method, Precision::single_precision, coils};
    settings.coils.allow_folding = true;
    settings.outside_fov = OutsideFov::off;
    if (scan.kspace.coil_count() > most_coils) settings.coils.compression = VirtualCoils{most_coils};
    const auto result =
        reconstruct(centre, settings, Execution{Device::cpu(), is_3d ? 0 : 1}, Services{nullptr, verifier});
    const auto& verdict = result.report.verdict;
    return verdict && verdict->tested > 0.3 ? result.report.data_residual
                                            : std::numeric_limits<double>::infinity();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return std::numeric_limits<double>::infinity();
  }
}

}  // namespace fhd::validation
