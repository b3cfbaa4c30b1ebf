#pragma once
// The checks of the input doctor, a file per subject, and what they share. Each adds what it finds; the
// thresholds stand beside each check.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::doctor {

struct Findings {
  void add(Severity severity, std::string code, std::string text, std::string remedy = {}) {
    list.push_back({std::move(code), severity, std::move(text), std::move(remedy)});
  }
  std::vector<Message> list;
};

// --- Checks of one volume; `readout_length` is 0 where unknown

void check_geometry(const Geometry& geometry, Findings& findings);
void check_extent(const Scan& scan, Findings& findings);
/// Checks whether the object is longer than the FOV; where a reconstruction has `looked`, only what it cannot see.
void check_outside_fov(const Scan& scan, const SampledPositions& positions, bool looked, Findings& findings);
void check_density(const Scan& scan, std::int64_t readout_length, Findings& findings);
/// `energy`: sum |d|^2 of each coil.
void check_coils(const Scan& scan, const std::vector<double>& energy, const SampledPositions& positions,
                 Findings& findings);
/// Checks the noise readouts. `dead`: coils without a value, ascending.
void check_noise(const Scan& scan, const SampledPositions& positions, const std::vector<std::int64_t>& dead,
                 Findings& findings);
/// Returns whether coils and samples are transposed: as told, the centre of k-space is not three times as strong as its edge, and
/// read the other way round it is thirty times as strong. An image has 10^3 and more, values in another order have about 1:
/// thirty is the geometric mean.
bool is_transposed(const Scan& scan);
/// Checks that the energy lies at the centre of k-space. `energy`: see energies.
void check_signal(const Scan& scan, const std::vector<double>& energy, const SampledPositions& positions,
                  Findings& findings);
inline constexpr auto floats_in_words =
    "the floats of the samples are read from the second one on: each sample holds an imaginary part, and the "
    "real part of "
    "the next sample as its imaginary part";
/// Returns what a converter made of the numbers of a scan, with its code: samples rounded to multiples of one step
/// ("rounded"), positions rounded ("rounded_positions"), floats read from the second on ("floats"), readouts that are
/// Fourier transformed already ("transformed"). Its share is 1: no object explains it. `readout_length`: 0 where unknown.
std::optional<Finding> mistake_of_format(const Scan& scan, std::int64_t readout_length);
void check_format_of_positions(const Scan& scan, Findings& findings);
/// `energy`: sum over coils of |d|^2, [sample].
void check_format_of_samples(const Scan& scan, const std::vector<double>& energy, std::int64_t readout_length,
                             Findings& findings);
void check_spikes(const Scan& scan, const SampledPositions& positions, Findings& findings);
void check_clipping(const Scan& scan, Findings& findings);
void check_readouts(const Scan& scan, const std::vector<double>& energy, std::int64_t readout_length,
                    Findings& findings);
void check_maps(const Scan& scan, Findings& findings);
void check_sample_times(const Scan& scan, std::int64_t readout_length, Findings& findings);
void check_field_map(const Scan& scan, Findings& findings);
/// Estimates gradient delays and adds one finding; takes seconds for a 3D scan.
void check_delays(const Scan& scan, std::int64_t readout_length, Findings& findings);

// --- Checks of the file

/// Checks whether a trajectory that leaves the matrix fits it with x and y exchanged.
void check_swapped_axes(const std::string& path, const DiagnosisSettings& settings,
                        const io::ScanSummary& summary, Findings& findings);
/// Checks whether slices share a place or are unequally spaced.
void check_positions(const std::vector<Geometry>& slices, Findings& findings);
/// Compares the memory that a reconstruction takes with that of the machine. The volumes of the file can be read.
void check_memory(io::ScanFile& file, const DiagnosisSettings& settings, Findings& findings);
void check_prior(const Volume& prior, const Geometry& geometry, Findings& findings);

// --- Measures

constexpr const char* axis_names[] = {"x", "y", "z"};

/// Returns the median, the upper one of two; 0 for no values.
double median(std::vector<double> values);
/// Returns "0", "0 and 3", "0, 1, 2 and 5 more".
std::string listed(const std::vector<std::int64_t>& indices);
/// Returns "" for one, else "s".
const char* plural(std::int64_t count);
struct Energies {
  std::vector<double> of_sample, of_coil;  ///< sum over coils of |d|^2, [sample]; over samples, [coil]
};
Energies energies_of(const KSpace& kspace);
/// Returns Energies::of_sample.
std::vector<double> energies(const KSpace& kspace);
/// Returns sqrt(sum_axis (2 k / N)^2): 1 at the middle of a face of k-space. Axes of one voxel do not count.
double normalised_radius(const Scan& scan, std::int64_t m);
/// Returns it for all samples.
std::vector<double> normalised_radii(const Scan& scan);
/// Returns the distance of two samples, cycles/FOV. Axes of one voxel do not count.
double distance(const Scan& scan, std::int64_t a, std::int64_t b);

/// Samples at the limit of a receiver: more of one largest value (of real or imaginary part, or magnitude, coil by coil) than of
/// the values below it.
struct Clipping {
  std::int64_t count = 0, coils = 0, first_coil = 0;
  double share = 0;         ///< of all samples
  double energy_share = 0;  ///< of sum |d|^2, that is sure to lie in them
};
Clipping clipping_of(const KSpace& kspace);

/// Coils without a signal, where others have one: the centre of k-space is no stronger than its edge.
struct CoilsOfNoise {
  std::vector<std::int64_t> coils;
  double noise = 0;  ///< of the noisiest, over that of the others
  std::string text;  ///< one sentence without a full stop
};
CoilsOfNoise coils_of_noise(const Scan& scan, const CentreAndEdge& places);
inline CoilsOfNoise coils_of_noise(const Scan& scan) {
  return coils_of_noise(scan, CentreAndEdge(normalised_radii(scan)));
}

/// The range of k along one axis, cycles/FOV.
struct Extent {
  double lowest = 0, highest = 0;
  double magnitude() const { return std::max(-lowest, highest); }
};
std::array<Extent, 3> extents_of(const Trajectory& trajectory);

}  // namespace fhd::doctor
