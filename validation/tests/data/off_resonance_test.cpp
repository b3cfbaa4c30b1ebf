// Scans in a field, against points whose phase is known.
#include "data/off_resonance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "data/simulate.hpp"

namespace fhd::data {
namespace {

using std::numbers::pi;

TEST(OffResonance, bessel_functions_are_those_of_the_standard_library) {
  for (const double x : {0.0, 1e-3, 0.5, 3.7, 20.0, 61.3}) {
    std::vector<double> values(40);
    bessel_functions(x, values);
    for (int order = 0; order < 40; ++order)
      EXPECT_NEAR(values[static_cast<std::size_t>(order)], std::cyl_bessel_j(double(order), x), 1e-13)
          << x << " " << order;
    std::vector<double> mirrored(40);
    bessel_functions(-x, mirrored);
    for (std::size_t order = 0; order < 40; ++order)
      EXPECT_EQ(mirrored[order], (order % 2 == 0 ? 1 : -1) * values[order]);
  }
}

TEST(OffResonance, turns_a_point_by_the_map_at_its_place) {
  constexpr double size = 1e-4;
  const Vector3 place{0.21, -0.13, 0};
  const Phantom point(2, {{PhantomPart::Form::box, place, {size, size, 0}, 0, 1}});
  const WaveField field{90};
  const double omega =
      2 * pi * 90 *
      std::cos(2 * pi * (field.frequency[0] * place[0] + field.frequency[1] * place[1]) + field.phase_rad);
  Trajectory trajectory{Array<double>({3, 4})};
  const double k[] = {0, 5.5, -17, 3, 0, 2, 9, -30};
  std::copy(k, k + 8, trajectory.k.data());
  Array<double> times({4});
  times[0] = 1e-3, times[1] = 7e-3, times[2] = 0, times[3] = 21e-3;
  const CoilArray coils(2, 3);
  const auto samples = sampled_in_field({point, coils}, field, trajectory, times, 3, 1);
  std::vector<Complex<double>> sensitivity(3);
  coils.sensitivities(place, sensitivity);
  for (std::int64_t coil = 0; coil < 3; ++coil)
    for (std::int64_t m = 0; m < 4; ++m) {
      const double angle = -(2 * pi * (k[m] * place[0] + k[4 + m] * place[1]) + omega * times[m]);
      const auto expected =
          4 * size * size *
          (Complex<double>(std::cos(angle), std::sin(angle)) * sensitivity[static_cast<std::size_t>(coil)]);
      // The box is 2e-4 FOV wide: k of 30 cycles/FOV turns its edges by 0.02 rad, evenly to both sides.
      EXPECT_LE(abs(Complex<double>(samples[coil * 4 + m]) - expected), 1e-3 * abs(expected));
    }
}

TEST(OffResonance, a_section_has_the_map_of_its_plane) {
  const WaveField field{70};
  const auto whole = map_of(field, {6, 5, 8});
  for (int z = 0; z < 8; ++z) {
    const auto plane = map_of(field.section((z - 4) / 8.0), {6, 5, 1});
    for (std::int64_t p = 0; p < 30; ++p)  // 440 rad/s in single precision
      EXPECT_NEAR(plane[p], whole[z * 30 + p], 1e-4) << z << " " << p;
  }
}

TEST(OffResonance, map_has_its_voxels_where_images_have_theirs) {
  const WaveField field{70};
  const auto map = map_of(field, {6, 5, 1});
  const double x = (4 - 3) / 6.0, y = (1 - 2) / 5.0;
  EXPECT_NEAR(
      map[1 * 6 + 4],
      2 * pi * 70 * std::cos(2 * pi * (field.frequency[0] * x + field.frequency[1] * y) + field.phase_rad),
      1e-3);
}

TEST(OffResonance, echoes_are_later_by_their_times) {
  SimulationSettings settings;
  settings.trajectory.matrix_size = {16, 16, 1};
  settings.trajectory.readout_count = 8;
  settings.coil_count = 2;
  settings.snr.reset();
  settings.field_hz = 50;
  settings.echo_times_s = {2e-3, 5e-3};
  const auto simulation = simulate(settings);
  ASSERT_EQ(simulation.further_repetitions.size(), 1u);
  ASSERT_EQ(simulation.echo_shifts_s.size(), 2u);
  EXPECT_NEAR(simulation.echo_shifts_s[1] - simulation.echo_shifts_s[0], 3e-3, 1e-12);
  EXPECT_EQ(simulation.field_map.size(), 16 * 16);
  settings.echo_times_s = {1e-6, 5e-3};  // before a readout reaches the centre
  EXPECT_THROW(simulate(settings), Error);
  settings.echo_times_s = {2e-3, 5e-3};
  settings.repetition_count = 2;
  EXPECT_THROW(simulate(settings), Error);
}

}  // namespace
}  // namespace fhd::data
