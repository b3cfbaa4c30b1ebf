// Trajectories of every kind that this program designs, written in every unit and form that converters use: the unit
// is told, or asked for, but never taken wrong.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>

#include "data/coils.hpp"
#include "data/simulate.hpp"
#include "data/trajectory.hpp"
#include "io/scan/mrd/volume_assembler.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::mrd {
namespace {

using data::TrajectoryKind;

enum class Form { two_axes, three_axes, weight_as_third_axis, zero_as_third_axis };

/// A converter's way to write a trajectory.
struct Writing {
  TrajectoryUnit unit = TrajectoryUnit::cycles_per_fov;
  double extent = 1;  ///< of the edge that k reaches
  Form form = Form::three_axes;
  std::string stated_unit;
};

struct Space {
  std::array<int, 3> matrix_size;
  std::array<double, 3> fov_mm;
};

/// A phantom's k-space in readouts, without a file.
class Measurement {
 public:
  Measurement(TrajectoryKind kind, const Space& space, double extent, int coils = 2)
      : space_(space), extent_(extent), coils_(coils) {
    data::TrajectorySettings settings;
    settings.kind = kind;
    settings.matrix_size = space.matrix_size;
    settings.fov_mm = space.fov_mm;
    design_ = data::design_trajectory(settings);
    const int dimensions = space.matrix_size[2] > 1 ? 3 : 2;
    const data::CoilKSpace kspace(data::Phantom::shepp_logan(dimensions), data::CoilArray(dimensions, coils));
    const auto samples = design_.trajectory.sample_count();
    values_ = Array<Complex<float>>({coils, samples});
#pragma omp parallel for schedule(static)
    for (std::int64_t m = 0; m < samples; ++m) {
      std::vector<Complex<double>> at(static_cast<std::size_t>(coils));
      kspace.values(position(m), at);
      for (int coil = 0; coil < coils; ++coil)
        values_[coil * samples + m] = Complex<float>(Complex<double>(at[static_cast<std::size_t>(coil)]));
    }
    double energy = 0;
    for (const auto& value : values_) energy += norm(Complex<double>(value));
    data::add_noise(values_, 0.05 * std::sqrt(energy / static_cast<double>(values_.size())), 1);
  }

  /// Reads it as it would be written, in a space of its own or the given one.
  ScanSummary read(const Writing& writing, std::array<double, 3>& k_of_last_sample,
                   const Header& header) const {
    Header own = header;
    own.trajectory_unit = writing.stated_unit;
    const auto length = design_.readout_length;
    const auto per_plane = space_.matrix_size[2] > 1 ? design_.readout_count / space_.matrix_size[2] : 1;
    std::vector<SharedReadout> readouts;
    for (std::int64_t r = 0; r < design_.readout_count; ++r) {
      OwnedReadout readout;
      readout.head.number_of_samples = static_cast<std::uint16_t>(length);
      readout.head.active_channels = static_cast<std::uint16_t>(coils_);
      readout.head.trajectory_dimensions = writing.form == Form::two_axes ? 2 : 3;
      readout.head.idx.kspace_encode_step_2 = static_cast<std::uint16_t>(is_stack() ? r / per_plane : 0);
      readout.trajectory = written_positions(writing, r);
      for (int coil = 0; coil < coils_; ++coil)
        for (std::int64_t s = 0; s < length; ++s) {
          const auto value = values_[coil * design_.trajectory.sample_count() + r * length + s];
          readout.values.insert(readout.values.end(), {value.re, value.im});
        }
      readouts.push_back(std::make_shared<const OwnedReadout>(std::move(readout)));
    }
    const ReadoutScan written(own, {}, {"scan", "header", "readouts"}, readouts);
    const auto scan = written.read(0, 0);
    const auto samples = scan.trajectory.sample_count();
    for (int axis = 0; axis < 3; ++axis) k_of_last_sample[axis] = scan.trajectory.k[(axis + 1) * samples - 1];
    return written.summary();
  }

  Header header() const {
    Header header;
    header.encoded_matrix = header.recon_matrix = space_.matrix_size;
    header.encoded_fov_mm = header.recon_fov_mm = space_.fov_mm;
    header.trajectory = "other";
    return header;
  }
  /// Returns the value of a sample in cycles/FOV.
  std::array<double, 3> position(std::int64_t m) const {
    std::array<double, 3> k{};
    for (int axis = 0; axis < 3; ++axis)
      k[axis] = extent_ * design_.trajectory.k[axis * design_.trajectory.sample_count() + m];
    return k;
  }
  std::int64_t sample_count() const { return design_.trajectory.sample_count(); }
  /// Returns whether every readout lies in one plane of k_z.
  bool is_stack() const {
    const auto* last = design_.trajectory.k.data() + design_.trajectory.k.size() - design_.readout_length;
    return space_.matrix_size[2] > 1 && last[0] == last[design_.readout_length - 1];
  }

 private:
  /// [sample][axis]
  std::vector<float> written_positions(const Writing& writing, std::int64_t readout) const {
    const auto scale = scale_to_cycles_per_fov(writing.unit, {geometry()}, "");
    std::vector<float> written;
    for (std::int64_t s = 0; s < design_.readout_length; ++s) {
      const auto at = position(readout * design_.readout_length + s);
      for (int axis = 0; axis < 2; ++axis) written.push_back(static_cast<float>(at[axis] / scale[axis]));
      if (writing.form == Form::three_axes) written.push_back(static_cast<float>(at[2] / scale[2]));
      if (writing.form == Form::zero_as_third_axis) written.push_back(0);
      if (writing.form == Form::weight_as_third_axis)
        written.push_back(static_cast<float>(0.01 + std::hypot(at[0], at[1]) / space_.matrix_size[0]));
    }
    return written;
  }
  Geometry geometry() const {
    Geometry geometry;
    geometry.matrix_size = space_.matrix_size;
    geometry.fov_mm = space_.fov_mm;
    return geometry;
  }

  Space space_;
  double extent_;
  int coils_;
  data::DesignedTrajectory design_;
  Array<Complex<float>> values_;
};

constexpr std::array units{TrajectoryUnit::cycles_per_fov, TrajectoryUnit::cycles_per_voxel,
                           TrajectoryUnit::radians_per_voxel, TrajectoryUnit::cycles_per_metre,
                           TrajectoryUnit::kmax};

struct Tally {
  int right = 0, asked = 0, wrong = 0;
};

/// All forms in which a trajectory can be written without losing k_z, in all units.
void read_all_forms(const Measurement& measurement, bool is_2d, double extent, const std::string& name,
                    Tally& tally) {
  for (const auto form : {Form::two_axes, Form::three_axes, Form::weight_as_third_axis})
    for (const auto unit : units) {
      if (form != Form::three_axes && !is_2d && !measurement.is_stack()) continue;
      std::array<double, 3> found{};
      const auto expected = measurement.position(measurement.sample_count() - 1);
      try {
        measurement.read({unit, extent, form, {}}, found, measurement.header());
      } catch (const Error& error) {
        ++tally.asked;
        std::printf("asked: %s, %s: %s\n", name.c_str(), std::string(name_of(unit)).c_str(), error.what());
        continue;
      }
      double error = 0;
      for (int axis = 0; axis < 2; ++axis) error = std::max(error, std::abs(found[axis] - expected[axis]));
      // If the trajectory has no k_z, partitions are counted in steps of 1 cycle/FOV.
      if (!is_2d)
        error = std::max(error, std::abs(found[2] - expected[2] / (form == Form::three_axes ? 1 : extent)));
      const bool right = error <= 1e-3;
      ++(right ? tally.right : tally.wrong);
      EXPECT_TRUE(right) << name << ", " << name_of(unit) << ", form " << static_cast<int>(form) << ": "
                         << found[0] << ", " << found[1] << ", " << found[2] << " for " << expected[0] << ", "
                         << expected[1] << ", " << expected[2];
    }
}

TEST(UnitInference, is_never_wrong_over_all_generators_units_extents_and_forms) {
  const Space planes[]{{{48, 48, 1}, {240, 240, 5}}, {{64, 48, 1}, {220, 165, 5}}},
      volumes[]{{{16, 16, 10}, {240, 240, 96}}, {{24, 18, 16}, {300, 225, 80}}};
  Tally all;
  for (const auto kind : data::trajectory_kinds)
    for (const bool is_2d : {true, false}) {
      const int dimensions = data::dimensions_of(kind);
      if (dimensions != 0 && dimensions != (is_2d ? 2 : 3)) continue;
      for (const auto& space : is_2d ? planes : volumes)
        for (const double extent : {1.0, 0.6}) {
          const Measurement measurement(kind, space, extent, is_2d ? 2 : 1);
          read_all_forms(measurement, is_2d, extent,
                         std::string(data::name_of(kind)) + " " + std::to_string(space.matrix_size[0]) +
                             " at " + std::to_string(extent),
                         all);
        }
    }
  std::printf("%d right, %d asked, %d wrong\n", all.right, all.asked, all.wrong);
  EXPECT_EQ(all.wrong, 0);
  EXPECT_LE(all.asked, 0.06 * (all.right + all.asked + all.wrong));
  EXPECT_GE(all.right + all.asked + all.wrong, 500);  // 26 forms of 5 units, 2 extents and 2 spaces
}

/// The positions in cycles of a reconstructed FOV of half the encoded one along x.
TEST(UnitInference, tells_the_encoded_fov_from_the_reconstructed_one) {
  const Space shown{{64, 64, 1}, {240, 240, 5}};
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::spiral}) {
    const Measurement measurement(kind, shown, 1);
    const auto expected = measurement.position(measurement.sample_count() - 1);
    for (const bool both : {false, true})
      for (const char* stated : {"", "cycles/FOV"}) {
        auto header = measurement.header();
        header.encoded_matrix = {128, both ? 128 : 64, 1};
        header.encoded_fov_mm = {480, both ? 480.0 : 240, 5};
        std::array<double, 3> found{};
        Writing writing;
        writing.stated_unit = stated;
        const auto summary = measurement.read(writing, found, header);
        EXPECT_NEAR(found[0], 2 * expected[0], 1e-4) << stated;
        EXPECT_NEAR(found[1], (both ? 2 : 1) * expected[1], 1e-4) << stated;
        EXPECT_TRUE(says(summary.inferred, "cycles/reconFOV"));
        EXPECT_TRUE(
            says(summary.inferred, both ? "in cycles/FOV it reaches 50 %" : "50 %, 100 % along x, y"));
      }
  }
}

/// An encoded FOV of twice the length whose k-space is sampled to its edge is nothing to infer.
TEST(UnitInference, keeps_the_encoded_fov_where_k_fills_its_space) {
  const Space encoded{{128, 64, 1}, {480, 240, 5}};
  const Measurement measurement(TrajectoryKind::cartesian, encoded, 1);
  auto header = measurement.header();
  header.recon_matrix = {64, 64, 1};
  header.recon_fov_mm = {240, 240, 5};
  const auto expected = measurement.position(measurement.sample_count() - 1);
  for (const char* stated : {"", "cycles/FOV"}) {
    std::array<double, 3> found{};
    Writing writing;
    writing.stated_unit = stated;
    measurement.read(writing, found, header);
    EXPECT_NEAR(found[0], expected[0], 1e-4) << stated;
  }
}

/// A FOV of 0.6 m: 1/m would reach 60 % of the edge, but make the object longer than the FOV.
TEST(UnitInference, asks_the_data_where_the_extent_leaves_it_open) {
  const Space wide{{64, 64, 1}, {600, 600, 5}};
  EXPECT_CONTAINS(error_of([&] {
                    Geometry geometry;
                    geometry.matrix_size = wide.matrix_size;
                    geometry.fov_mm = wide.fov_mm;
                    infer_trajectory_unit({{32, 32, 0}, {}}, {geometry}, "scan");
                  }),
                  "--trajectory-unit cycles/FOV or --trajectory-unit 1/m");
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::spiral}) {
    const Measurement measurement(kind, wide, 1);
    std::array<double, 3> found{};
    measurement.read({}, found, measurement.header());
    EXPECT_NEAR(found[0], measurement.position(measurement.sample_count() - 1)[0], 1e-4);
  }
}

TEST(ObjectExtent, is_the_length_of_a_bar_whatever_the_unit) {
  for (const double length : {0.3, 0.9})
    for (const double unit : {1.0, 64.0, 0.24}) {
      ReadoutPart part;
      for (int s = -64; s < 64; ++s) {
        const double k = 0.5 * s, x = std::numbers::pi * k * length;
        part.k.push_back({0, k / unit, 0});
        part.values.push_back({static_cast<float>(x == 0 ? 1 : std::sin(x) / x), 0});
      }
      ObjectExtent extent;
      extent.add(part);
      const auto found = extent.lengths();
      EXPECT_EQ(found[0], 0);
      EXPECT_NEAR(found[1] / unit, length, 0.35 * length) << length << " " << unit;
    }
}

TEST(ObjectExtent, is_silent_about_noise_and_about_samples_too_far_apart) {
  for (const bool noise : {true, false}) {
    ReadoutPart part;
    part.values.resize(128);
    for (int s = -64; s < 64; ++s) part.k.push_back({2.0 * s, 0, 0});
    Array<Complex<float>> values({128});
    data::add_noise(values, 1, 3);
    for (int s = 0; s < 128; ++s) {
      const double x = std::numbers::pi * 2 * (s - 64) * 0.9;
      part.values[static_cast<std::size_t>(s)] =
          noise ? values[s] : Complex<float>{static_cast<float>(x == 0 ? 1 : std::sin(x) / x), 0};
    }
    ObjectExtent extent;
    extent.add(part);
    EXPECT_EQ(extent.lengths(), (std::array<double, 3>{0, 0, 0})) << noise;
  }
}

TEST(UnitInference, tells_a_density_weight_from_positions) {
  const Measurement stack(TrajectoryKind::stack_of_stars, {{24, 24, 12}, {240, 240, 96}}, 1);
  const auto told = [&](Form form, const std::string& part) {
    std::array<double, 3> found{};
    const auto summary = stack.read({TrajectoryUnit::cycles_per_fov, 1, form, {}}, found, stack.header());
    EXPECT_EQ(found[2], 5);  // the last of 12 partitions
    return says(summary.inferred, part);
  };
  EXPECT_TRUE(
      told(Form::weight_as_third_axis, "third axis of the trajectory is taken to be a density weight"));
  EXPECT_TRUE(told(Form::zero_as_third_axis, "third axis of the trajectory is zero"));
  EXPECT_FALSE(told(Form::three_axes, "third axis"));
}

/// Positions along z that are never negative differ from partition to partition.
TEST(TrajectoryExtent, takes_half_a_k_space_for_positions) {
  for (const bool positions : {true, false}) {
    TrajectoryExtent extent;
    extent.axis_count = 3;
    for (int step = 0; step < 4; ++step) {
      std::vector<float> k;
      for (int s = 0; s < 8; ++s)
        k.insert(k.end(), {float(s - 4), 0, positions ? float(step) : std::abs(float(s - 4))});
      ReadoutHead head{};
      head.number_of_samples = 8;
      head.trajectory_dimensions = 3;
      head.idx.kspace_encode_step_2 = static_cast<std::uint16_t>(step);
      extent.add({head, k, {}});
    }
    EXPECT_NE(extent.third_axis_is_weight(), positions);
  }
}

TEST(UnitInference, refuses_a_stated_unit_that_fills_nothing) {
  const Measurement measurement(TrajectoryKind::radial, {{64, 64, 1}, {240, 240, 5}}, 1);
  std::array<double, 3> found{};
  Writing writing;
  writing.unit = TrajectoryUnit::cycles_per_voxel;
  writing.stated_unit = "cycles/FOV";
  const auto line = error_of([&] { measurement.read(writing, found, measurement.header()); });
  EXPECT_CONTAINS(line, "--trajectory-unit cycles/voxel or --trajectory-unit cycles/FOV");
  EXPECT_CONTAINS(line, "2 % of the edge");
}

}  // namespace
}  // namespace fhd::io::mrd
