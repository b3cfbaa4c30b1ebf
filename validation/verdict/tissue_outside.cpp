#include "validation/verdict/tissue_outside.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/array/linear_algebra.hpp"

namespace fhd::validation {
namespace {

/// lambda over the mean eigenvalue, outside: tissue that samples hardly tell apart stays dark.
constexpr double damping_outside = 1e-4, damping_inside = 1e-5;
/// Tissue outside is no brighter than what lies inside; mistakes that look like it make it brighter.
constexpr double most_brightness = 1;
/// Share of the values that must be more than the unknowns.
constexpr double least_freedom = 0.1;

bool is_outside(const SmallGrid& grid, Index voxel) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (std::abs(grid.position(voxel, axis)) > 0.5) return true;
  return false;
}

/// Returns the mean energy of the image at both ends of an axis.
double brightness_at_ends(const SmallGrid& grid, const Matrix& image, std::size_t axis) {
  const double end = (grid.n[axis] - 1) / 2.0;
  double sum = 0, count = 0;
  for (Index p = 0; p < image.size(); ++p) {
    const double at = grid.position(p, axis) * grid.n[axis] + grid.n[axis] / 2 - end;
    if (std::abs(at) < end) continue;
    sum += norm(image[p]), ++count;
  }
  return count > 0 ? sum / count : 0;
}

/// Returns the grid of the same voxels that is half as wide again, in 3D by a third along axes whose ends are bright.
SmallGrid wider(const SmallGrid& grid, const Matrix& image) {
  constexpr double bright = 0.25;  // of the brightest end
  const bool is_3d = grid.n[2] > 1;
  std::array<double, 3> ends{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (grid.n[axis] >= 8) ends[axis] = brightness_at_ends(grid, image, axis);
  const double most = *std::max_element(ends.begin(), ends.end());
  SmallGrid wide = grid;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!(ends[axis] > 0) || (is_3d && ends[axis] < bright * most)) continue;
    wide.n[axis] += 2 * static_cast<int>(std::lround(grid.n[axis] * (is_3d ? 1. / 6 : 0.25)));
    wide.field[axis] = static_cast<double>(wide.n[axis]) / grid.n[axis];
  }
  return wide;
}

/// Returns the samples with a wide grid. Maps beyond the FOV are those at its border.
CentralSamples widened(const CentralSamples& s, const SmallGrid& grid) {
  CentralSamples wide = s;
  wide.grid = grid;
  const Index from = s.grid.count(), to = grid.count(), coils = s.maps.extent(0);
  wide.maps = Matrix({coils, to});
  wide.field.resize(s.field.empty() ? 0 : static_cast<std::size_t>(to));
  for (Index q = 0; q < to; ++q) {
    const Index at = nearest_voxel(grid, q, s.grid.n);
    for (Index coil = 0; coil < coils; ++coil) wide.maps[coil * to + q] = s.maps[coil * from + at];
    if (!wide.field.empty()) wide.field[static_cast<std::size_t>(q)] = s.field[static_cast<std::size_t>(at)];
  }
  return wide;
}

/// Fills share and brightness from the energies outside and inside, both of as many images.
void weigh(double outside, double inside, double voxels_outside, double voxels_inside, TissueOutside& found) {
  found.energy_share = outside / (inside + outside);
  found.brightness = outside / voxels_outside / (inside / voxels_inside);
}

/// One image outside for all coils.
std::optional<TissueOutside> of_all_coils(const CentreModel& own, const Matrix& r, const SmallGrid& grid) {
  const CentralSamples& s = own.samples();
  const auto wide = widened(s, grid);
  const CentreModel model(wide, r, Pattern(s.group_count()));
  if (!model.is_regular() || model.freedom() < least_freedom * static_cast<double>(r.size())) return {};
  TissueOutside found{model.misfit(), own.freedom() - model.freedom()};
  double outside = 0, voxels = 0;
  for (Index p = 0; p < grid.count(); ++p)
    if (is_outside(grid, p)) outside += norm(model.image()[p]), ++voxels;
  weigh(outside, energy(own.image()), voxels, static_cast<double>(s.grid.count()), found);
  return found;
}

/// E of the voxels that are chosen, [sample][voxel], with the field map.
template <class Choose>
Matrix encoding_of(const CentralSamples& s, const SmallGrid& grid, const Choose& is_chosen) {
  const Index all = s.trajectory->sample_count();
  SmallPositions k;
  for (const Index m : s.numbers) {
    const double* told = s.trajectory->k.data() + m;
    k.push_back({told[0], told[all], told[2 * all]});
  }
  const auto whole = encoding_matrix(k, grid);
  std::vector<Index> chosen;
  for (Index q = 0; q < grid.count(); ++q)
    if (is_chosen(q)) chosen.push_back(q);
  Matrix e({s.count(), static_cast<Index>(chosen.size())});
  for (Index i = 0, at = 0; i < s.count(); ++i)
    for (const Index q : chosen) {
      e[at] = whole[i * grid.count() + q];
      if (!s.field.empty()) {
        const double phase = -s.field[static_cast<std::size_t>(nearest_voxel(grid, q, s.grid.n))] *
                             s.time_s[static_cast<std::size_t>(i)];
        e[at] = Complex<double>(std::cos(phase), std::sin(phase)) * e[at];
      }
      ++at;
    }
  return e;
}

/// An image outside for each coil, which is projected out of what is left over and of E inside.
std::optional<TissueOutside> of_each_coil(const CentreModel& own, const Matrix& r, const SmallGrid& grid) {
  const CentralSamples& s = own.samples();
  const Index voxels = s.grid.count(), coils = s.maps.extent(0);
  const auto e_out = encoding_of(s, grid, [&](Index q) { return is_outside(grid, q); });
  const auto out_adjoint = adjoint(e_out);
  const auto out = damped_factor(matrix_product(out_adjoint, e_out), damping_outside);
  if (!out) return {};
  const auto e_in = encoding_of(s, s.grid, [](Index) { return true; });
  const auto folded = matrix_product(out->inverse, out_adjoint), unfolded = adjoint(folded);
  const auto without = [&](const Matrix& a) {
    return minus(a, matrix_product(unfolded, matrix_product(folded, a)));
  };
  const auto in_adjoint = adjoint(e_in);
  auto normal = matrix_product(in_adjoint, without(e_in));
  const auto left = without(r), sums = matrix_product(in_adjoint, left);
  Matrix right({voxels, 1});
  for (Index p = 0; p < voxels; ++p)
    for (Index q = 0; q < voxels; ++q) {
      Complex<double> product;
      for (Index c = 0; c < coils; ++c) product += conj(s.maps[c * voxels + p]) * s.maps[c * voxels + q];
      normal[p * voxels + q] = product * normal[p * voxels + q];
    }
  for (Index p = 0; p < voxels; ++p)
    for (Index c = 0; c < coils; ++c) right[p] += conj(s.maps[c * voxels + p]) * sums[p * coils + c];
  const auto in = damped_factor(std::move(normal), damping_inside);
  const auto values = static_cast<double>(r.size());
  if (!in) return {};
  TissueOutside found;
  found.unknowns = static_cast<double>(coils) * out->unknowns + in->unknowns - (values - own.freedom());
  if (own.freedom() - found.unknowns < least_freedom * values) return {};
  const auto inner = matrix_product(in->inverse, right);
  found.misfit = real_product(r, left) - energy(inner);
  const auto image = matrix_product(adjoint(in->inverse), inner);
  Matrix seen({voxels, coils});
  double inside = 0;
  for (Index p = 0; p < voxels; ++p)
    for (Index c = 0; c < coils; ++c) {
      seen[p * coils + c] = s.maps[c * voxels + p] * image[p];
      inside += norm(s.maps[c * voxels + p] * own.image()[p]);
    }
  const auto rest = minus(r, matrix_product(e_in, seen));
  const auto outside = matrix_product(adjoint(out->inverse), matrix_product(folded, rest));
  weigh(energy(outside), inside, static_cast<double>(e_out.extent(1)), static_cast<double>(voxels), found);
  return found;
}

}  // namespace

std::optional<TissueOutside> tissue_outside(const CentreModel& model, const Matrix& r, bool by_coil) {
  const CentralSamples& s = model.samples();
  const auto grid = wider(s.grid, model.image());
  if (grid.count() == s.grid.count()) return {};
  std::optional<TissueOutside> best;
  const double price = energy(r) / model.freedom();  // what a random unknown explains
  const auto weigh_up = [&](const std::optional<TissueOutside>& found) {
    const auto left = [&](const TissueOutside& of) { return of.misfit + price * of.unknowns; };
    if (found && found->brightness < most_brightness && (!best || left(*found) < left(*best))) best = found;
  };
  weigh_up(of_all_coils(model, r, grid));
  if (by_coil && s.grid.n[2] == 1 && s.maps.extent(0) > 1) weigh_up(of_each_coil(model, r, grid));
  return best;
}

}  // namespace fhd::validation
