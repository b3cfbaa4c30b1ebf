#include "recon/coils/maps.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "recon/array/linear_algebra.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/coils/compression.hpp"
#include "recon/coils/eigenvector_kernels_cpu.hpp"
#include "recon/encoding/sense.hpp"

namespace fhd {
namespace {

using Offset = std::array<int, 3>;
constexpr int fewest_planes = 10;  ///< of a matrix whose neighbourhoods extend along z

/// A Hermitian matrix of coils at every position r (fractions of the FOV):
///
///     G_cc'(r) = sum_D h_cc'(D) exp(-i 2 pi D . r),   |D_axis| <= degree_axis, c <= c'
struct MatrixField {
  int coils = 0;
  std::array<int, 3> degree{};
  Array<Complex<float>> coefficients;  ///< h, [pair][z][y][x]; D = index - degree

  MatrixField(int coil_count, std::array<int, 3> degrees)
      : coils(coil_count),
        degree(degrees),
        coefficients({pair_count(), 2 * degree[2] + 1, 2 * degree[1] + 1, 2 * degree[0] + 1}) {}
  std::int64_t pair_count() const { return std::int64_t{coils} * (coils + 1) / 2; }
  std::int64_t pair(int c, int d) const {
    return std::int64_t{c} * coils - std::int64_t{c} * (c - 1) / 2 + d - c;
  }
  Complex<float>& at(int c, int d, const Offset& difference) {
    std::int64_t index = pair(c, d);
    for (int axis = 2; axis >= 0; --axis)
      index = index * (2 * degree[axis] + 1) + difference[axis] + degree[axis];
    return coefficients[index];
  }
};

/// Integer offsets with sum (offset / radius)^2 <= 1.
std::vector<Offset> ball(const std::array<double, 3>& radius) {
  std::vector<Offset> offsets;
  const auto reach = [&](int axis) { return static_cast<int>(std::floor(radius[axis])); };
  for (int z = -reach(2); z <= reach(2); ++z)
    for (int y = -reach(1); y <= reach(1); ++y)
      for (int x = -reach(0); x <= reach(0); ++x) {
        const Offset offset{x, y, z};
        double square = 0;
        for (int axis = 0; axis < 3; ++axis)
          if (offset[axis] != 0) square += std::pow(offset[axis] / radius[axis], 2);
        if (square <= 1 + 1e-9) offsets.push_back(offset);
      }
  return offsets;
}

std::array<double, 3> as_radius(const std::array<int, 3>& radius) {
  return {static_cast<double>(radius[0]), static_cast<double>(radius[1]), static_cast<double>(radius[2])};
}

/// Neighbourhoods reach at most 0.4 of the calibration region's radius.
std::array<double, 3> kernel_radius(const CalibrationRegion& region, double wanted) {
  std::array<double, 3> radius;
  for (int axis = 0; axis < 3; ++axis)
    radius[axis] = std::min(wanted, std::max(1.0, 0.4 * region.radius[axis]));
  for (int axis = 0; axis < 3; ++axis)
    if (region.radius[axis] == 0) radius[axis] = 0;
  return radius;
}

/// Index of position k in one coil of the region.
std::int64_t index_of(const CalibrationRegion& region, const Offset& k) {
  const auto n = region.matrix_size();
  return (std::int64_t{k[2] + n[2] / 2} * n[1] + k[1] + n[1] / 2) * n[0] + k[0] + n[0] / 2;
}

/// ESPIRiT. Neighbourhoods y_b = (y_c(b + a)), c over coils and a over offsets, lie in a subspace with the
/// projector P: y_c(k) = sum over c', a' of P[(c, a), (c', a')] y_c'(k - a + a'), for every a. Its mean over
/// the K offsets a is, in image space, m(r) = G(r) m(r) with
///
///     G_cc'(r) = 1/K sum_{a, a'} P[(c, a), (c', a')] exp(-i 2 pi (a' - a) . r)
///
/// (equations 18 ff.): sensitivities are eigenvectors of G to the eigenvalue 1.
MatrixField espirit_field(const CalibrationRegion& region, double wanted_radius, double signal_threshold) {
  const auto radius = kernel_radius(region, wanted_radius);
  const auto offsets = ball(radius);
  const int coils = static_cast<int>(region.kspace.extent(0)), count = static_cast<int>(offsets.size());
  std::vector<std::int64_t> centres;  // of neighbourhoods inside the region
  for (const Offset& b : ball(as_radius(region.radius))) {
    bool inside = true;
    for (const Offset& a : offsets) {
      double square = 0;
      for (int axis = 0; axis < 3; ++axis)
        if (region.radius[axis] > 0)
          square += std::pow(static_cast<double>(b[axis] + a[axis]) / region.radius[axis], 2);
      inside = inside && square <= 1 + 1e-9;
    }
    if (inside) centres.push_back(index_of(region, b));
  }
  const auto blocks = static_cast<std::int64_t>(centres.size());
  const std::int64_t voxels = region.kspace.size() / coils, origin = index_of(region, {});
  Array<Complex<float>> neighbourhoods({std::int64_t{coils} * count, blocks});
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < neighbourhoods.extent(0); ++row) {
    const std::int64_t shift =
        row / count * voxels + index_of(region, offsets[static_cast<std::size_t>(row % count)]) - origin;
    for (std::int64_t b = 0; b < blocks; ++b)
      neighbourhoods.data()[row * blocks + b] =
          region.kspace.data()[centres[static_cast<std::size_t>(b)] + shift];
  }

  // Singular values of the neighbourhoods are roots of the eigenvalues.
  auto eigen = hermitian_eigen(converted<Complex<float>>(sum_of_outer_products(neighbourhoods)));
  const std::int64_t n = eigen.values.size();
  const float middle = eigen.values[std::min(n, blocks) / 2];
  const double least = std::max(signal_threshold * signal_threshold * eigen.values[0], 4.0 * middle);
  std::int64_t rank = 0;
  while (rank < n && eigen.values[rank] > least) ++rank;
  Array<Complex<float>> signal({n, rank});
  for (std::int64_t i = 0; i < rank; ++i)
    for (std::int64_t j = 0; j < n; ++j) signal[j * rank + i] = eigen.vectors[i * n + j];
  const auto projector = sum_of_outer_products(signal);

  std::array<int, 3> degree;
  for (int axis = 0; axis < 3; ++axis) degree[axis] = 2 * static_cast<int>(std::floor(radius[axis]));
  MatrixField field(coils, degree);
  for (int c = 0; c < coils; ++c)
    for (int d = c; d < coils; ++d)
      for (int a = 0; a < count; ++a)
        for (int b = 0; b < count; ++b) {
          Offset difference;
          for (int axis = 0; axis < 3; ++axis) difference[axis] = offsets[b][axis] - offsets[a][axis];
          field.at(c, d, difference) += Complex<float>(
              (1.0 / count) * projector[(std::int64_t{c} * count + a) * n + std::int64_t{d} * count + b]);
        }
  return field;
}

/// The region's k-space times 1/2 + 1/2 cos(pi |k| / radius), 0 beyond the radius: images of it do not ring.
Array<Complex<float>> windowed(const CalibrationRegion& region) {
  const std::int64_t coils = region.kspace.extent(0), voxels = region.kspace.size() / coils;
  Array<Complex<float>> result(region.kspace.shape());
  for (const Offset& k : ball(as_radius(region.radius))) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (region.radius[axis] > 0) square += std::pow(static_cast<double>(k[axis]) / region.radius[axis], 2);
    const auto weight = static_cast<float>(0.5 + 0.5 * std::cos(std::numbers::pi * std::sqrt(square)));
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const std::int64_t at = coil * voxels + index_of(region, k);
      result[at] = weight * region.kspace[at];
    }
  }
  return result;
}

/// The local covariance of low-resolution images m_c(r), m_c(r) conj(m_c'(r)) smoothed by a positive window:
///
///     h_cc'(D) = taper(D) sum_q y_c(q) conj(y_c'(q + D)),   taper = product of 1 - |D| / (degree + 1)
///
/// y being the windowed region.
MatrixField adaptive_field(const CalibrationRegion& region, double wanted_radius) {
  const auto radius = kernel_radius(region, wanted_radius);
  const int coils = static_cast<int>(region.kspace.extent(0));
  const auto positions = ball(as_radius(region.radius));
  const std::int64_t voxels = region.kspace.size() / coils;
  const Array<Complex<float>> weighted = windowed(region);
  std::array<int, 3> degree;
  for (int axis = 0; axis < 3; ++axis) degree[axis] = static_cast<int>(std::lround(2 * radius[axis]));
  MatrixField field(coils, degree);
  const auto differences = ball(as_radius(degree));
  const auto n = region.matrix_size();
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const Offset& difference = differences[i];
    float taper = 1;
    for (int axis = 0; axis < 3; ++axis)
      taper *= 1 - static_cast<float>(std::abs(difference[axis])) / static_cast<float>(degree[axis] + 1);
    for (const Offset& q : positions) {
      Offset shifted;
      bool inside = true;
      for (int axis = 0; axis < 3; ++axis) {
        shifted[axis] = q[axis] + difference[axis];
        inside = inside && std::abs(shifted[axis]) <= (n[axis] - 1) / 2;
      }
      if (!inside) continue;
      const std::int64_t from = index_of(region, q), to = index_of(region, shifted);
      for (int c = 0; c < coils; ++c) {
        const Complex<float> y = taper * weighted.data()[c * voxels + from];
        for (int d = c; d < coils; ++d)
          field.at(c, d, difference) += y * conj(weighted.data()[d * voxels + to]);
      }
    }
  }
  return field;
}

/// exp(-i 2 pi D r) of the voxels of one axis, [D + degree][voxel].
struct AxisPhases {
  int terms;
  std::int64_t stride;
  std::vector<float> cosine, sine;

  AxisPhases(int degree, int voxels, std::int64_t padded)
      : terms(2 * degree + 1), stride(padded), cosine(terms * padded), sine(terms * padded) {
    for (int t = 0; t < terms; ++t)
      for (int n = 0; n < voxels; ++n) {
        const double angle = -2 * std::numbers::pi * (t - degree) * static_cast<double>(n - voxels / 2) /
                             static_cast<double>(voxels);
        cosine[t * stride + n] = static_cast<float>(std::cos(angle));
        sine[t * stride + n] = static_cast<float>(std::sin(angle));
      }
  }
  Complex<float> at(int term, std::int64_t voxel) const {
    return {cosine[term * stride + voxel], sine[term * stride + voxel]};
  }
};

/// The largest eigenvalues [z][y][x] of a field and their eigenvectors [coil][z][y][x], unit vectors v with
/// sum_c conj(reference_c) v_c real and not negative. Eigenvectors to eigenvalues below `least` may be
/// anything. The voxels of `planes` from `first_plane` on of arrays of more planes are written.
void dominant_eigenvectors(const MatrixField& field, const std::vector<Complex<float>>& reference,
                           std::array<int, 3> matrix_size, float least, std::int64_t first_plane,
                           Array<Complex<float>>& vectors, Array<float>& values) {
  const auto [nx, ny, nz] = matrix_size;
  const int coils = field.coils;
  const std::int64_t padded =
      (nx + eigenvector_cpu::lanes - 1) / eigenvector_cpu::lanes * eigenvector_cpu::lanes;
  const AxisPhases along_x(field.degree[0], nx, padded), along_y(field.degree[1], ny, ny),
      along_z(field.degree[2], nz, nz);
  const std::int64_t pairs = field.pair_count(), row_terms = pairs * along_x.terms,
                     plane_terms = row_terms * along_y.terms, volume = values.size();
  constexpr int rows_together = 16;
  const int units_in_plane = (ny + rows_together - 1) / rows_together;
#pragma omp parallel
  {
    std::vector<Complex<float>> plane(static_cast<std::size_t>(plane_terms));
    std::vector<float> real(static_cast<std::size_t>(row_terms)), imag(static_cast<std::size_t>(row_terms)),
        work(static_cast<std::size_t>(eigenvector_cpu::work_size(coils))),
        value(static_cast<std::size_t>(padded)), v_real(static_cast<std::size_t>(coils * padded)),
        v_imag(static_cast<std::size_t>(coils * padded));
#pragma omp for schedule(dynamic)
    for (int unit = 0; unit < nz * units_in_plane; ++unit) {
      const int z = unit / units_in_plane, first_y = unit % units_in_plane * rows_together;
      const std::int64_t per_plane = std::int64_t{along_y.terms} * along_x.terms;
      for (std::int64_t pair = 0; pair < pairs; ++pair)
        for (std::int64_t i = 0; i < per_plane; ++i) {
          Complex<float> sum;
          for (int t = 0; t < along_z.terms; ++t)
            sum += along_z.at(t, z) * field.coefficients.data()[(pair * along_z.terms + t) * per_plane + i];
          plane[static_cast<std::size_t>(pair * per_plane + i)] = sum;
        }
      for (int y = first_y; y < std::min(ny, first_y + rows_together); ++y) {
        for (std::int64_t pair = 0; pair < pairs; ++pair)
          for (int i = 0; i < along_x.terms; ++i) {
            Complex<float> sum;
            for (int t = 0; t < along_y.terms; ++t)
              sum += along_y.at(t, y) *
                     plane[static_cast<std::size_t>((pair * along_y.terms + t) * along_x.terms + i)];
            real[static_cast<std::size_t>(pair * along_x.terms + i)] = sum.re;
            imag[static_cast<std::size_t>(pair * along_x.terms + i)] = sum.im;
          }
        const eigenvector_cpu::Row row{coils,  along_x.terms,         real.data(),         imag.data(),
                                       padded, along_x.cosine.data(), along_x.sine.data(), least};
        eigenvector_cpu::dominant_eigenvectors(row, work.data(), value.data(), v_real.data(), v_imag.data());
        const std::int64_t at = ((first_plane + z) * ny + y) * nx;
        for (int x = 0; x < nx; ++x) {
          Complex<float> projection;
          for (int c = 0; c < coils; ++c)
            projection += conj(reference[static_cast<std::size_t>(c)]) *
                          Complex<float>(v_real[static_cast<std::size_t>(c * padded + x)],
                                         v_imag[static_cast<std::size_t>(c * padded + x)]);
          const float magnitude = std::sqrt(norm(projection));
          const Complex<float> turn = magnitude > 0 ? (1 / magnitude) * conj(projection) : Complex<float>(1);
          for (int c = 0; c < coils; ++c)
            vectors.data()[c * volume + at + x] =
                turn * Complex<float>(v_real[static_cast<std::size_t>(c * padded + x)],
                                      v_imag[static_cast<std::size_t>(c * padded + x)]);
          values.data()[at + x] = value[static_cast<std::size_t>(x)];
        }
      }
    }
  }
}

/// The calibration region of every plane of a thin slab: [z] regions of one plane.
std::vector<CalibrationRegion> planes_of(const CalibrationRegion& region) {
  const auto n = region.matrix_size();
  const std::int64_t coils = region.kspace.extent(0), plane = std::int64_t{n[0]} * n[1];
  std::vector<CalibrationRegion> planes;
  for (int z = 0; z < n[2]; ++z) {
    CalibrationRegion one{Array<Complex<float>>({coils, 1, n[1], n[0]}),
                          {region.radius[0], region.radius[1], 0},
                          region.sampled};
    for (int k = 0; k < n[2]; ++k) {
      const double angle = 2 * std::numbers::pi * (k - n[2] / 2) * static_cast<double>(z - n[2] / 2) / n[2];
      const auto phasor = Complex<float>(Complex<double>(std::cos(angle), std::sin(angle)));
      for (std::int64_t coil = 0; coil < coils; ++coil)
        for (std::int64_t i = 0; i < plane; ++i)
          one.kspace[coil * plane + i] += phasor * region.kspace[(coil * n[2] + k) * plane + i];
    }
    planes.push_back(std::move(one));
  }
  return planes;
}

/// 1 where maps are wanted, [z][y][x] of `matrix_size`: see MapSettings::signal_mask.
Array<std::uint8_t> signal_mask(const CalibrationRegion& region, double share,
                                std::array<int, 3> matrix_size) {
  auto images = windowed(region);
  centred_fft(images, +1);
  const auto magnitude = root_sum_of_squares(images);
  const auto n = region.matrix_size();
  const auto index = [](const Offset& at, const std::array<int, 3>& of) {
    return (std::int64_t{at[2]} * of[1] + at[1]) * of[0] + at[0];
  };
  double square = 0, fourth = 0;  // the root mean square, weighted by energy: background does not count
  for (const auto& a : magnitude) {
    const double energy = norm(Complex<double>(a));
    square += energy, fourth += energy * energy;
  }
  const double threshold = share * std::sqrt(fourth / square);

  std::array<double, 3> reach{};
  for (int axis = 0; axis < 3; ++axis)
    if (n[axis] > 1) reach[axis] = std::max(1.0, n[axis] / 16.0);
  const auto neighbours = ball(reach);
  Array<std::uint8_t> wanted(magnitude.shape());
  const auto for_each_voxel = [](const std::array<int, 3>& of, auto body) {
    for (int z = 0; z < of[2]; ++z)
      for (int y = 0; y < of[1]; ++y)
        for (int x = 0; x < of[0]; ++x) body(Offset{x, y, z});
  };
  const auto add = [&](const Offset& at, const Offset& step, Offset& to) {
    bool inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      to[axis] = at[axis] + step[axis];
      inside = inside && to[axis] >= 0 && to[axis] < n[axis];
    }
    return inside;
  };
  Offset to;
  for_each_voxel(n, [&](const Offset& at) {
    if (abs(magnitude[index(at, n)]) < threshold) return;
    for (const Offset& step : neighbours)
      if (add(at, step, to)) wanted[index(to, n)] = 1;
  });

  // Background is what the edge of the FOV along x and y reaches within a plane; holes are no background.
  Array<std::uint8_t> background(wanted.shape());
  std::vector<Offset> front;
  const auto visit = [&](const Offset& at) {
    auto& seen = background[index(at, n)];
    if (seen || wanted[index(at, n)]) return;
    seen = 1;
    front.push_back(at);
  };
  for_each_voxel(n, [&](const Offset& at) {
    if (at[0] == 0 || at[0] == n[0] - 1 || at[1] == 0 || at[1] == n[1] - 1) visit(at);
  });
  while (!front.empty()) {
    const Offset at = front.back();
    front.pop_back();
    for (const Offset& step : {Offset{1, 0, 0}, Offset{-1, 0, 0}, Offset{0, 1, 0}, Offset{0, -1, 0}})
      if (add(at, step, to)) visit(to);
  }

  Array<std::uint8_t> mask({matrix_size[2], matrix_size[1], matrix_size[0]});
  for_each_voxel(matrix_size, [&](const Offset& at) {
    Offset nearest;
    for (int axis = 0; axis < 3; ++axis) {
      const double r = static_cast<double>(at[axis] - matrix_size[axis] / 2) / matrix_size[axis];
      nearest[axis] = std::clamp(static_cast<int>(std::lround(r * n[axis])) + n[axis] / 2, 0, n[axis] - 1);
    }
    mask[index(at, matrix_size)] = !background[index(nearest, n)];
  });
  return mask;
}

/// The first principal component of the coils inside the calibration region.
std::vector<Complex<float>> principal_component(const CalibrationRegion& region) {
  const std::int64_t coils = region.kspace.extent(0), voxels = region.kspace.size() / coils;
  Array<Complex<float>> samples(region.kspace);
  const auto compression = compress_to_count(std::move(samples).reshaped({coils, voxels}), 1);
  std::vector<Complex<float>> component;
  for (const auto& value : compression.matrix) component.push_back(Complex<float>(conj(value)));
  return component;
}

}  // namespace

MapEstimate estimate_maps(const Scan& scan, MapMethod method, const MapSettings& settings,
                          const ProgressCallback& progress) {
  return estimate_maps(scan.trajectory, scan.kspace.values, scan.geometry.matrix_size, method, settings,
                       progress);
}

MapEstimate estimate_maps(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                          std::array<int, 3> matrix, MapMethod method, const MapSettings& settings,
                          const ProgressCallback& progress) {
  if (kspace.shape().rank() != 2 || kspace.empty())
    throw Error("k-space", "[coil][sample] with at least one sample", kspace.shape().text());
  const std::int64_t coils = kspace.extent(0);
  const auto tell = [&](std::int64_t done) {
    if (progress) progress({"sensitivity maps", done, 3, -1});
  };
  tell(0);
  const bool volume = matrix[2] > 1;
  const int least_radius = least_calibration_radius(matrix);
  auto region =
      calibration_region(trajectory, kspace, matrix,
                         volume ? settings.calibration_radius_3d : settings.calibration_radius, least_radius);
  tell(1);
  MapEstimate estimate;
  estimate.calibration_radius = region.radius;
  estimate.calibration_sampled = region.sampled;
  estimate.maps.values = Array<Complex<float>>({coils, matrix[2], matrix[1], matrix[0]});
  auto& maps = estimate.maps.values;
  const auto reference = principal_component(region);
  Array<float> eigenvalue({matrix[2], matrix[1], matrix[0]});
  const auto field_of = [&](const CalibrationRegion& of) {
    const double radius = of.radius[2] > 0 ? settings.kernel_radius_3d : settings.kernel_radius;
    return method == MapMethod::espirit ? espirit_field(of, radius, settings.signal_threshold)
                                        : adaptive_field(of, radius);
  };
  const float least = method == MapMethod::espirit ? static_cast<float>(settings.eigenvalue_mask) : 0.0f;
  if (volume && matrix[2] < fewest_planes) {
    const auto planes = planes_of(region);
    for (std::size_t z = 0; z < planes.size(); ++z)
      dominant_eigenvectors(field_of(planes[z]), reference, {matrix[0], matrix[1], 1}, least,
                            static_cast<std::int64_t>(z), maps, eigenvalue);
  } else {
    const auto field = field_of(region);
    tell(2);
    dominant_eigenvectors(field, reference, matrix, least, 0, maps, eigenvalue);
  }

  const auto mask = signal_mask(region, settings.signal_mask, matrix);
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < eigenvalue.size(); ++p)
    if (mask.data()[p] == 0 || !(eigenvalue.data()[p] >= least))
      for (std::int64_t coil = 0; coil < coils; ++coil) maps.data()[coil * eigenvalue.size() + p] = {};
  tell(3);
  return estimate;
}

}  // namespace fhd
