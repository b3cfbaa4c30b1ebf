#pragma once
// A multi-coil scan of a phantom, with the images that it should show.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "data/coils.hpp"
#include "data/off_resonance.hpp"
#include "data/phantom.hpp"
#include "data/trajectory.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::data {

enum class PhantomKind { shepp_logan, resolution, anatomy, sodium };
/// In 2 or 3 dimensions.
Phantom phantom_of(PhantomKind kind, int dimensions);

/// Decay of two components in closed form: f exp(-fast t) + (1 - f) exp(-slow t) of tissue, exp(-slow t) of fluid.
struct TwoComponents {
  double fraction = 0.6, fast_per_s = 0, slow_per_s = 0;
};

struct SimulationSettings {
  PhantomKind phantom = PhantomKind::shepp_logan;  ///< 2D when the matrix has one voxel along z
  /// > 0: so many 2D slices, sections through the 3D phantom and coils from the lowest up, slice floor(N/2) at height 0;
  /// phantom and coils are as large along z as the FOV is along x. 0: one slice of the 2D phantom.
  std::int64_t slice_count = 0;
  double slice_spacing_mm = 0;    ///< from one middle to the next; 0: the thickness of slices, fov_mm[2]
  double object_scale = 1;        ///< of the phantom, 0.1 ... 2: above 1.08 the head exceeds the FOV along y
  TrajectorySettings trajectory;  ///< with the matrix and the FOV
  int coil_count = 8;             ///< 1 ... 32
  /// Mean over the object (ideal image above 1 % of its largest value) of |rho| RSS(r) / sigma: the signal-to-noise ratio of
  /// the optimally combined image of a fully sampled Cartesian scan with this noise per sample. RSS is the root sum of
  /// squares of the sensitivities; sigma the standard deviation of the real part (and of the imaginary part) of the noise
  /// in one coil's image. Without a value: no noise.
  std::optional<double> snr = 30;
  std::uint64_t seed = 1;             ///< of the noise
  std::int64_t repetition_count = 1;  ///< of the same object and trajectory, each with noise of its own
  std::int64_t noise_samples = 0;     ///< of noise readouts, per coil
  /// > 0: moving_phantom in the place of `phantom`, at the time of every readout, and true images of frames of so many.
  std::int64_t readouts_per_frame = 0;
  /// > 0: breathing_phantom in the place of `phantom`, with so many breaths, and true images of `bins`.
  double breaths = 0;
  std::int64_t bins = 4;  ///< of equally many readouts, from expired to inspired
  bool with_maps = true;  ///< whether the scan has the sensitivity maps of its coils
  double field_hz = 0;    ///< off-resonance up to so much (WaveField), >= 0; 3D where slices are
  /// Changes the positions and adds the fields of each slice, which has no values yet; null: all phases are k . r and
  /// off-resonance.
  std::function<void(Scan&)> add_fields{};
  double decay_per_s = 0;                         ///< R up to so much (decay_of)
  std::optional<TwoComponents> two_components{};  ///< in place of decay_per_s
  /// Times from the excitation to the centre of k-space; empty: one echo, excited as each readout begins.
  std::vector<double> echo_times_s{};
};

struct Simulation {
  Scan scan;  ///< with sample times, and sensitivity maps and noise readouts where they were asked for
  /// K-space values like those of `scan`, without the first: of further repetitions, or echoes.
  std::vector<Array<Complex<float>>> further_repetitions;
  /// For each echo, how much later than those of `scan` the times of its samples are; {0} for one without a time.
  std::vector<double> echo_shifts_s{};
  Array<float> field_map;  ///< rad/s, [z][y][x]; empty where the field is even
  Array<float> decay;      ///< R, 1/s, [z][y][x]; empty where there is none
  std::optional<SecondDecay> second_decay{};
  std::int64_t readout_count = 0, readout_length = 0;
  double dwell_s = 0;
  double undersampling = 1;             ///< as the trajectory came out
  double noise_standard_deviation = 0;  ///< of the real part and of the imaginary part of each sample
  Image band_limited;  ///< what a fully sampled scan of these voxels shows (band_limited_image)
  /// The images of every frame, at the middle of its time, or of every bin, at its mean depth of breath; then
  /// band_limited and ideal are those of the middle of the scan, or of half a breath.
  std::vector<Image> frames;
  std::vector<double> depths;  ///< of breath, of each readout; empty where there is none
  Image ideal;                 ///< the phantom itself, averaged over each voxel (ideal_image)
};

/// Simulates d_c(m) = voxel_count integral S_c(r) rho(r) exp(-i 2 pi k_m . r) dr + noise. The scan states the positions as
/// designed, where gradients are delayed. Throws Error when the settings contradict each other, or ask for several slices.
Simulation simulate(const SimulationSettings& settings);
/// Simulates every slice: thin sections, all with noise of one standard deviation, from the SNR over the objects of all
/// slices. Throws Error where a slice lies outside of the object, too.
std::vector<Simulation> simulate_slices(const SimulationSettings& settings);

/// Adds complex Gaussian noise of this standard deviation per real and imaginary part, the numbers `first`,
/// `first` + 1, ... of a seed (recon/array/random_numbers.hpp).
void add_noise(Array<Complex<float>>& values, double standard_deviation, std::uint64_t seed,
               std::int64_t first = 0);

}  // namespace fhd::data
