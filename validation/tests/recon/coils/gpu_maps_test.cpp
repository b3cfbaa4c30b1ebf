// Sensitivity maps found with the help of a GPU: those of the CPU, the same bits in every run, within the memory
// that was planned, and without a GPU's memory all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "data/simulate.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/coils/maps.hpp"
#include "recon/coils/matrix_field.hpp"
#include "recon/pipeline/outside_fov.hpp"
#include "recon/pipeline/prepare.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using data::TrajectoryKind;
using Maps = Array<Complex<float>>;

struct Case {
  TrajectoryKind kind;
  std::array<int, 3> matrix_size;
  int coils;
  std::int64_t readouts = 0;
  std::string text() const {
    return std::string(data::name_of(kind)) + " " + std::to_string(matrix_size[0]) + "x" +
           std::to_string(matrix_size[1]) + "x" + std::to_string(matrix_size[2]) + ", " +
           std::to_string(coils) + " coils";
  }
  /// Without maps.
  Scan scan() const {
    data::SimulationSettings settings;
    settings.trajectory.kind = kind;
    settings.trajectory.matrix_size = matrix_size;
    settings.trajectory.fov_mm = {240, 240, matrix_size[2] == 1 ? 5.0 : 240.0};
    settings.trajectory.readout_count = readouts;
    settings.coil_count = coils;
    Scan made = data::simulate(settings).scan;
    made.sensitivity_maps.reset();
    return made;
  }
};

/// Odd and even, planes, a thin slab (slice by slice), volumes that are solved on the GPU.
std::vector<Case> cases() {
  return {{TrajectoryKind::radial, {64, 64, 1}, 2},
          {TrajectoryKind::radial, {63, 65, 1}, 5},
          {TrajectoryKind::radial, {128, 128, 1}, 8},
          {TrajectoryKind::spiral, {97, 96, 1}, 12},
          {TrajectoryKind::variable_density_spiral, {96, 96, 1}, 16},
          {TrajectoryKind::stack_of_stars, {32, 32, 6}, 4},
          {TrajectoryKind::golden_means_radial_3d, {32, 30, 33}, 5, 900},
          {TrajectoryKind::golden_means_radial_3d, {40, 40, 40}, 12, 1200},
          {TrajectoryKind::golden_means_radial_3d, {36, 35, 34}, 1, 900}};
}

bool has_map(const Maps& maps, std::int64_t p) {
  const std::int64_t coils = maps.extent(0), voxels = maps.size() / coils;
  for (std::int64_t c = 0; c < coils; ++c)
    if (!(maps[c * voxels + p] == Complex<float>())) return true;
  return false;
}

/// Voxels with a map on one side alone: their eigenvalue, or signal beside the noise, is within rounding of a threshold.
std::int64_t on_one_side(const Maps& maps, const Maps& other) {
  std::int64_t count = 0;
  for (std::int64_t p = 0; p < maps.size() / maps.extent(0); ++p)
    count += has_map(maps, p) != has_map(other, p);
  return count;
}
/// One in ten thousand, and one: thresholds cut where values change by a per cent from voxel to voxel, rounding by 1e-4 of that.
std::int64_t within_rounding_of_thresholds(const Maps& maps) {
  return maps.size() / maps.extent(0) / 10000 + 1;
}

/// |S S^H - S' S'^H| / |S S^H| over the voxels with both maps or none: what an image depends on but for its phase.
double projector_difference(const Maps& maps, const Maps& other) {
  const std::int64_t coils = maps.extent(0), voxels = maps.size() / coils;
  double difference = 0, size = 0;
  for (std::int64_t p = 0; p < voxels; ++p)
    for (std::int64_t c = 0; c < coils && has_map(maps, p) == has_map(other, p); ++c)
      for (std::int64_t d = 0; d < coils; ++d) {
        const auto product = [&](const Maps& s) {
          return Complex<double>(s[c * voxels + p]) * conj(Complex<double>(s[d * voxels + p]));
        };
        difference += norm(product(maps) - product(other));
        size += norm(product(maps));
      }
  return std::sqrt(difference / size);
}

/// Returns the scan with values that are rounded otherwise: maps follow that where there is no signal, and where a
/// group of voxels is iterated once more or once less.
Scan rounded_otherwise(Scan scan) {
  const auto noise = tests::random_values<float>(scan.kspace.values.shape(), 5);
  for (std::int64_t i = 0; i < noise.size(); ++i) {
    auto& d = scan.kspace.values[i];
    d = {d.re * (1 + 3e-7f * noise[i].re), d.im * (1 + 3e-7f * noise[i].im)};
  }
  return scan;
}

/// The rank of a subspace jumps where an eigenvalue lies at its threshold, and with another number of threads products
/// of matrices are rounded otherwise: both devices work with the same few.
class GpuMaps : public tests::GpuTest {
  const ThreadLimit limit_{4};
};

/// A field whose matrices are nearly of rank one, and whose Hermitian symmetry is that of h(-D) = h(D)^H.
MatrixField nearly_rank_one(int coils, std::array<int, 3> degree) {
  MatrixField field(coils, degree);
  const auto vector = tests::random_values<float>({coils}, 3);
  const auto rest = tests::random_values<float>(field.coefficients.shape(), 4);
  const float small = 0.02f * static_cast<float>(coils) / static_cast<float>(rest.size());
  for (std::int64_t i = 0; i < rest.size(); ++i) field.coefficients[i] = small * rest[i];
  for (int c = 0; c < coils; ++c)
    for (int d = c; d < coils; ++d) field.at(c, d, {0, 0, 0}) += vector[c] * conj(vector[d]);
  // The diagonal is real: h_cc(-D) = conj h_cc(D).
  for (int c = 0; c < coils; ++c)
    for (int z = -degree[2]; z <= degree[2]; ++z)
      for (int y = -degree[1]; y <= degree[1]; ++y)
        for (int x = -degree[0]; x <= degree[0]; ++x)
          field.at(c, c, {-x, -y, -z}) = conj(field.at(c, c, {x, y, z}));
  for (int c = 0; c < coils; ++c) field.at(c, c, {0, 0, 0}).im = 0;
  return field;
}

TEST_F(GpuMaps, eigenvectors_are_the_cpus_for_any_number_of_coils_and_odd_sizes) {
  struct Field {
    int coils;
    std::array<int, 3> matrix_size, degree;
  };
  // 24 coils ask for more than the usual shared memory; 64 for more than there is, and are left to the CPU.
  for (const auto& [coils, n, degree] :
       {Field{1, {33, 17, 1}, {6, 6, 0}}, Field{2, {16, 16, 5}, {4, 4, 4}}, Field{5, {31, 15, 9}, {4, 4, 4}},
        Field{8, {100, 37, 1}, {6, 6, 0}}, Field{12, {20, 18, 11}, {4, 4, 4}},
        Field{16, {47, 33, 1}, {6, 6, 0}}, Field{24, {19, 9, 3}, {4, 3, 2}}, Field{64, {17, 3, 2}, {2, 1, 1}},
        Field{3, {1, 1, 1}, {0, 0, 0}}, Field{4, {1, 9, 1}, {0, 3, 0}}}) {
    const auto field = nearly_rank_one(coils, degree);
    const auto reference =
        tests::random_values<float>({coils, std::min(n[2], 3), std::min(n[1], 4), std::min(n[0], 5)}, 6);
    // Makes arrays of two planes more than the field; every seventh voxel, and a whole row, are not wanted.
    Array<std::uint8_t> mask({n[2] + 2, n[1], n[0]});
    for (std::int64_t p = 0; p < mask.size(); ++p) mask[p] = p % 7 != 3 && p / n[0] % n[1] != 2;
    Maps here({coils, n[2] + 2, n[1], n[0]}), there(here.shape()), again(here.shape());
    const EigenvectorRequest request{n, mask, reference, 0.01f};
    dominant_eigenvectors(field, request, 1, Device::cpu(), here);
    dominant_eigenvectors(field, request, 1, Device::cuda(), there);
    dominant_eigenvectors(field, request, 1, Device::cuda(), again);
    const double difference =
        metrics::relative_l2(converted<Complex<double>>(there), converted<Complex<double>>(here));
    ASSERT_GT(tests::length(here), 0) << "nothing was found";
    EXPECT_LE(difference, 1e-4)
        << coils;  // 1e-6 of rounding; some groups of voxels may stop an iteration apart
    EXPECT_TRUE(tests::identical(there, again)) << coils;
  }
}

TEST_F(GpuMaps, span_what_the_cpus_span) {
  for (const auto& one : cases())
    for (const auto method : {MapMethod::espirit, MapMethod::adaptive}) {
      const Scan scan = one.scan();
      const auto here = estimate_maps(scan, method).maps.values;
      const auto find = [&] {
        return estimate_maps(scan, method, MapSetCount::one, Device::cuda()).maps.values;
      };
      const auto first = find(), there = find();
      const double rounding =
                       projector_difference(here, estimate_maps(rounded_otherwise(scan), method).maps.values),
                   difference = projector_difference(here, there);
      EXPECT_LE(difference, std::max(1e-4, 3 * rounding)) << one.text();
      EXPECT_LE(on_one_side(here, there), within_rounding_of_thresholds(here)) << one.text();
      EXPECT_LE(rounding, 1e-3) << "the case proves nothing: " << one.text();
      EXPECT_TRUE(tests::identical(first, there)) << one.text();
    }
}

TEST_F(GpuMaps, give_the_cpus_image) {
  for (const auto& one : cases()) {
    if (one.coils == 1) continue;
    const Scan scan = one.scan();
    const auto image = [&](const Scan& of, Device device) {
      Settings settings{LeastSquares{.iterations = 10, .tolerance = 0}};
      settings.coils.maps = CoilMaps::espirit;
      return converted<Complex<double>>(reconstruct(of, settings, {device}).image.values);
    };
    auto here = image(scan, Device::cpu()), there = image(scan, Device::cuda());
    std::int64_t apart = 0;  // as on_one_side: images are 0 without a map
    for (std::int64_t p = 0; p < here.size(); ++p)
      if ((norm(here[p]) == 0) != (norm(there[p]) == 0)) here[p] = there[p] = {}, ++apart;
    EXPECT_LE(apart, here.size() / 10000 + 1) << one.text();
    const double difference = metrics::relative_l2(there, here),
                 rounding = metrics::relative_l2(image(rounded_otherwise(scan), Device::cpu()), here);
    // A voxel whose map is missing leaves its signal to its neighbours.
    EXPECT_LE(difference, std::max(apart == 0 ? 1e-4 : 3e-4, 3 * rounding)) << one.text();
  }
}

TEST_F(GpuMaps, are_found_on_the_cpu_where_the_memory_is_too_short_which_a_note_says) {
  const Scan scan = cases()[1].scan();
  Settings settings;
  settings.coils.maps = CoilMaps::espirit;
  const auto prepared = [&](Device device, std::string* note) {
    RunLog log(device, {});
    const auto with_maps = prepare_coils(scan, settings, log, device);
    for (const auto& said : log.report.messages)
      if (said.code == "device") *note = said.text;
    return with_maps->sensitivity_maps->values;
  };
  std::string note;
  const auto here = prepared(Device::cpu(), &note);
  EXPECT_EQ(note, "");
  device::limit_memory(Device::cuda(), device::memory_use(Device::cuda()).used_bytes + 4096);
  const auto there = prepared(Device::cuda(), &note);
  EXPECT_NE(note.find("CUDA device memory"), std::string::npos) << note;
  EXPECT_TRUE(tests::identical(here, there));
}

TEST_F(GpuMaps, what_lies_beyond_the_field_of_view_is_what_the_cpu_sees) {
  for (const double scale : {1.0, 1.4})
    for (const auto& [kind, n] :
         {std::pair{TrajectoryKind::golden_radial, std::array{64, 63, 1}},
          std::pair{TrajectoryKind::golden_means_radial_3d, std::array{32, 32, 32}}}) {
      data::SimulationSettings settings;
      settings.trajectory.kind = kind;
      settings.trajectory.matrix_size = n;
      settings.trajectory.fov_mm = {240, 240, n[2] == 1 ? 5.0 : 240.0};
      settings.coil_count = 6;
      settings.object_scale = scale;
      const Scan scan = data::simulate(settings).scan;
      const auto resolved = resolved_field(scan);
      const auto here = object_beyond_fov(scan, resolved),
                 there = object_beyond_fov(scan, resolved, Device::cuda());
      EXPECT_EQ(here.matrix_size, there.matrix_size);
      EXPECT_NEAR(here.energy_share, there.energy_share, 1e-4);
    }
}

}  // namespace
}  // namespace fhd
