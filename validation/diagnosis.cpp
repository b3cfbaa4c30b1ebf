#include "validation/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/result/nifti.hpp"
#include "recon/coils/noise.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/memory_plan.hpp"
#include "recon/solve/terms/anatomical_prior.hpp"

namespace fhd {
namespace {

constexpr const char* axis_names[] = {"x", "y", "z"};

/// Collects findings of one volume.
class Findings {
 public:
  void add(Severity severity, std::string topic, std::string what, std::string remedy = {}) {
    list.push_back({severity, std::move(topic), std::move(what), std::move(remedy)});
  }
  std::vector<Finding> list;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// "0", "0 and 3", "0, 1, 2 and 5 more"
std::string listed(const std::vector<std::int64_t>& indices) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, indices.size()); ++i)
    text += (i == 0                                              ? ""
             : i + 1 == indices.size() && indices.size() <= most ? " and "
                                                                 : ", ") +
            std::to_string(indices[i]);
  if (indices.size() > most) text += fmt::format(" and {} more", indices.size() - most);
  return text;
}

/// A sentence of the file's summary, or an Error's line, whose part behind the last "; " (outside of
/// parentheses) tells what to do.
Finding finding_of(Severity severity, std::string topic, const std::string& line) {
  int depth = 0;
  for (std::size_t i = line.size(); i-- > 1;) {
    if (line[i] == ')') ++depth;
    if (line[i] == '(') --depth;
    if (depth == 0 && line[i - 1] == ';' && line[i] == ' ')
      return {severity, std::move(topic), line.substr(0, i - 1), line.substr(i + 1)};
  }
  return {severity, std::move(topic), line, {}};
}

/// sum_c |d_c(m)|^2, [sample].
std::vector<double> energies(const KSpace& kspace) {
  const auto samples = kspace.sample_count();
  std::vector<double> energy(static_cast<std::size_t>(samples));
  for (std::int64_t coil = 0; coil < kspace.coil_count(); ++coil)
    for (std::int64_t m = 0; m < samples; ++m)
      energy[static_cast<std::size_t>(m)] += norm(Complex<double>(kspace.values[coil * samples + m]));
  return energy;
}

/// sqrt(sum_axis (2 k / N)^2): 1 at the middle of a face of k-space. Axes of one voxel do not count.
double normalised_radius(const Scan& scan, std::int64_t m) {
  const auto samples = scan.trajectory.sample_count();
  double square = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (const int n = scan.geometry.matrix_size[axis]; n > 1)
      square += std::pow(2 * scan.trajectory.k[axis * samples + m] / n, 2);
  return std::sqrt(square);
}

double distance(const Scan& scan, std::int64_t a, std::int64_t b) {
  const auto samples = scan.trajectory.sample_count();
  double square = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (scan.geometry.matrix_size[axis] > 1)
      square += std::pow(scan.trajectory.k[axis * samples + a] - scan.trajectory.k[axis * samples + b], 2);
  return std::sqrt(square);
}

// --- Geometry
// ---------------------------------------------------------------------------------------------------------------

void check_geometry(const Geometry& geometry, Findings& findings) {
  double smallest = INFINITY, largest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (geometry.matrix_size[axis] == 1 || geometry.fov_mm[axis] == 0) continue;
    const double voxel = geometry.fov_mm[axis] / geometry.matrix_size[axis];
    smallest = std::min(smallest, voxel);
    largest = std::max(largest, voxel);
  }
  if (largest == 0) return;  // an unknown FOV is said elsewhere
  // Human MRI lies between 0.1 mm (microscopy at 7 T and above) and 20 mm (spectroscopic imaging).
  if (smallest < 0.1 || largest > 20)
    findings.add(
        Severity::warning, "geometry",
        fmt::format("Voxels of {:.3g} to {:.3g} mm are unusual: the FOV may be in another unit than mm.",
                    smallest, largest),
        "--fov-mm X,Y,Z states it");
  else if (largest > 2.5 * smallest)
    findings.add(
        Severity::note, "geometry",
        fmt::format("Voxels are {:.3g} mm long on one axis and {:.3g} mm on another.", smallest, largest),
        "if that is not meant: --fov-mm or --matrix");
  const auto& a = geometry.read_direction;
  const auto& b = geometry.phase_direction;
  const auto& c = geometry.slice_direction;
  const double determinant = a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
                             a[2] * (b[0] * c[1] - b[1] * c[0]);
  if (determinant < 0)
    findings.add(Severity::note, "geometry",
                 "The read, phase and slice directions form a left-handed system; the NIfTI affine keeps it.",
                 "if the image is mirrored: turn one direction in the file");
}

// --- Trajectory
// ---------------------------------------------------------------------------------------------------------------

struct Extent {
  double lowest = 0, highest = 0;
  double magnitude() const { return std::max(-lowest, highest); }
};

std::array<Extent, 3> extents_of(const Trajectory& trajectory) {
  std::array<Extent, 3> extents;
  const auto samples = trajectory.sample_count();
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) {
      extents[axis].lowest = std::min(extents[axis].lowest, trajectory.k[axis * samples + m]);
      extents[axis].highest = std::max(extents[axis].highest, trajectory.k[axis * samples + m]);
    }
  return extents;
}

/// The fewest voxels whose edge of k-space contains |k|.
int matrix_for(double k) { return std::max(1, static_cast<int>(std::ceil(2 * k / 1.005))); }

void check_extent(const Scan& scan, Findings& findings) {
  const auto extents = extents_of(scan.trajectory);
  auto suggested = scan.geometry.matrix_size;
  std::vector<std::string> short_axes;
  double least_fill = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = scan.geometry.matrix_size[axis];
    if (n == 1) continue;
    const double reach = extents[axis].magnitude(), fill = reach / (n / 2.0);
    // The outermost Cartesian line lies at (N/2 - 1) / (N/2) at least: 0.8 leaves room for N >= 10. Spirals
    // and spokes that stop short of the edge by design reach 0.9.
    if (fill < 0.8) {
      suggested[axis] = matrix_for(reach);
      if (reach == 0) {
        findings.add(Severity::warning, "extent",
                     fmt::format("k along {} is 0 everywhere, though the matrix has {} voxels there.",
                                 axis_names[axis], n),
                     fmt::format("--matrix with 1 along {}", axis_names[axis]));
        continue;
      }
      least_fill = std::min(least_fill, fill);
      short_axes.push_back(fmt::format("{:.4g} of {:g} along {}", reach, n / 2.0, axis_names[axis]));
    }
    const double shorter = std::min(-extents[axis].lowest, extents[axis].highest);
    if (reach > 2 && shorter < 0.5 * reach)
      findings.add(
          Severity::note, "extent",
          fmt::format("k along {} runs from {:.4g} to {:.4g}: one side of k-space is missing (partial "
                      "Fourier), and the image is reconstructed without it.",
                      axis_names[axis], extents[axis].lowest, extents[axis].highest));
  }
  if (!short_axes.empty())
    findings.add(
        Severity::warning, "extent",
        fmt::format("The trajectory stays far inside k-space of this matrix ({} cycles/FOV): the image is "
                    "blurred to that resolution.",
                    fmt::join(short_axes, ", ")),
        fmt::format("--matrix {}{}", fmt::join(suggested, ","),
                    least_fill < 0.35 ? ", or another --trajectory-unit" : ""));
}

void check_density(const Scan& scan, std::int64_t readout_length, Findings& findings) {
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  const auto voxels = scan.geometry.voxel_count();
  if (samples * coils < voxels)
    findings.add(
        Severity::warning, "density",
        fmt::format(
            "{} voxels are sought from {} samples of {} coil{}: fewer values than unknowns, so lambda "
            "decides what the data leave open.",
            voxels, samples, coils, coils == 1 ? "" : "s"),
        "a smaller --matrix, a larger --lambda, or --regularizer roughness");
  const auto density = sampling_density(scan.trajectory, scan.geometry.matrix_size);
  if (!density) return;
  std::vector<std::string> spacings;
  for (int axis = 0; axis < 3; ++axis)
    if (scan.geometry.matrix_size[axis] > 1)
      spacings.push_back(fmt::format("{:.2f} along {}", density->spacing[axis], axis_names[axis]));
  const auto text = fmt::format("{:.2f} in all; mean distance of sampled cells of k-space {}",
                                density->undersampling, fmt::join(spacings, ", "));
  // Rounding to cells leaves a few holes in k-space that is fully sampled.
  if (density->undersampling < 1.3)
    findings.add(Severity::ok, "density", "k-space is sampled without gaps: undersampling " + text + ".");
  else if (density->undersampling <= static_cast<double>(coils))
    findings.add(Severity::note, "density",
                 "k-space is undersampled: " + text + ". Sensitivity maps and lambda fill the gaps.");
  else
    findings.add(Severity::warning, "density",
                 fmt::format("k-space is undersampled more than {} coil{} can unfold: {}.", coils,
                             coils == 1 ? "" : "s", text),
                 "expect streaks or aliases; --regularizer roughness, --prior or a smaller --matrix helps");

  // Positions that occur again, beyond one (the centre of k-space) for each readout.
  std::vector<std::array<std::int64_t, 3>> positions(static_cast<std::size_t>(samples));
  for (std::int64_t m = 0; m < samples; ++m)
    for (int axis = 0; axis < 3; ++axis)
      positions[static_cast<std::size_t>(m)][axis] =
          scan.geometry.matrix_size[axis] == 1 ? 0
                                               : std::llround(scan.trajectory.k[axis * samples + m] * 1e5);
  std::sort(positions.begin(), positions.end());
  const auto distinct = std::unique(positions.begin(), positions.end()) - positions.begin();
  const auto readouts = readout_length > 0 ? samples / readout_length : 0;
  const auto repeated = samples - distinct;
  if (distinct == 1 && samples > 1)
    findings.add(Severity::problem, "trajectory", "All samples lie at one k-space position.",
                 "write the true trajectory into the file");
  else if (repeated > readouts + samples / 10)
    findings.add(
        Severity::note, "trajectory",
        fmt::format("{} of {} samples lie where another one does; they are averaged.", repeated, samples));
}

// --- Where the energy is
// ---------------------------------------------------------------------------------------------------------------

void check_energy(const Scan& scan, const std::vector<double>& energy, std::int64_t readout_length,
                  Findings& findings) {
  const auto samples = scan.kspace.sample_count();
  double inner = 0, outer = 0;
  std::int64_t inner_count = 0, outer_count = 0;
  for (std::int64_t m = 0; m < samples; ++m) {
    const double e = energy[static_cast<std::size_t>(m)], radius = normalised_radius(scan, m);
    if (radius < 0.2) inner += e, ++inner_count;
    if (radius > 0.5) outer += e, ++outer_count;
  }
  if (inner_count == 0) {
    findings.add(Severity::warning, "centre",
                 "No sample lies near the centre of k-space, which holds the contrast of the image.",
                 "check --trajectory-unit, or whether the file's k-space is centred");
    return;
  }
  const double ratio = outer_count == 0 || outer == 0 ? INFINITY
                                                      : (inner / static_cast<double>(inner_count)) /
                                                            (outer / static_cast<double>(outer_count));
  // An image of a thing has 10^3 and more; noise alone has 1.
  if (ratio < 2) {
    findings.add(
        Severity::warning, "centre",
        fmt::format("The centre of k-space holds no more energy per sample than its edge (ratio {:.2g}): "
                    "noise only, or the trajectory does not belong to these values (order, unit, axes).",
                    ratio),
        "check the order of samples, --trajectory-unit, and that the file holds a signal");
    return;
  }
  const auto strongest_sample = std::max_element(energy.begin(), energy.end()) - energy.begin();
  // Field inhomogeneity and readout phase move the peak by a few cycles/FOV; a tenth of the edge is no longer
  // that.
  if (normalised_radius(scan, strongest_sample) > 0.2) {
    std::array<double, 3> at{};
    for (int axis = 0; axis < 3; ++axis) at[axis] = scan.trajectory.k[axis * samples + strongest_sample];
    findings.add(
        Severity::warning, "centre",
        fmt::format(
            "The strongest sample lies at k = ({:.3g}, {:.3g}, {:.3g}) cycles/FOV, not at the centre.", at[0],
            at[1], at[2]),
        "a spike, a shifted or mirrored axis, or a wrong order of samples in the file");
  } else {
    findings.add(
        Severity::ok, "centre",
        fmt::format("The energy is at the centre of k-space ({:.2g} times that of the edge).", ratio));
  }
  if (const auto shift = readout_shift(scan, readout_length); shift && std::abs(*shift) > 0.5)
    findings.add(
        Severity::warning, "centre",
        fmt::format("Readouts through the centre have their energy {:.2g} cycles/FOV {} k = 0, whatever "
                    "their direction: the trajectory is delayed against the data.",
                    std::abs(*shift), *shift > 0 ? "behind" : "before"),
        fmt::format("shift the trajectory by {:.2g} cycles/FOV along its readouts", -*shift));
}

// --- Coils and readouts
// ---------------------------------------------------------------------------------------------------------------

void check_coils(const Scan& scan, Findings& findings) {
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  std::vector<double> power(static_cast<std::size_t>(coils));
  std::vector<std::int64_t> dead, faint;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    for (std::int64_t m = 0; m < samples; ++m)
      power[static_cast<std::size_t>(coil)] += norm(Complex<double>(scan.kspace.values[coil * samples + m]));
    if (power[static_cast<std::size_t>(coil)] == 0) dead.push_back(coil);
  }
  const double middle = median(power);
  for (std::int64_t coil = 0; coil < coils; ++coil)
    if (const double p = power[static_cast<std::size_t>(coil)]; p > 0 && p < 1e-6 * middle)
      faint.push_back(coil);
  if (static_cast<std::int64_t>(dead.size()) == coils) {
    findings.add(Severity::problem, "coils", "All k-space values are zero.",
                 "write the measured values into the file");
    return;
  }
  if (!dead.empty())
    findings.add(Severity::warning, "coils",
                 fmt::format("Coil {} (from 0) holds only zeros and is left out.", listed(dead)),
                 "check the coil's plug, or remove it from the file");
  if (!faint.empty())
    findings.add(
        Severity::warning, "coils",
        fmt::format("Coil {} (from 0) has less than a thousandth of the others' amplitude: not connected?",
                    listed(faint)),
        "remove it from the file");
  if (coils == 1) return;

  if (scan.noise && scan.noise->extent(1) < 2 * coils)
    findings.add(
        Severity::warning, "noise",
        fmt::format("{} noise samples are too few for the correlations of {} coils: coils are scaled only.",
                    scan.noise->extent(1), coils),
        "add noise readouts, or --whiten off");
  else if (scan.noise)
    findings.add(
        Severity::ok, "noise",
        fmt::format("{} noise samples: the {} coils are whitened by them.", scan.noise->extent(1), coils));
  else
    findings.add(Severity::note, "noise", "There are no noise readouts: coils are not whitened.",
                 "--whiten edge takes the noise from the edge of k-space");
  const auto covariance =
      scan.noise ? noise_covariance(*scan.noise)
                 : edge_noise_covariance(scan.trajectory, scan.geometry.matrix_size, scan.kspace.values);
  double least = INFINITY, most = 0;
  std::int64_t least_coil = 0, most_coil = 0;
  std::vector<std::int64_t> silent;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    if (std::binary_search(dead.begin(), dead.end(), coil)) continue;
    const double deviation = std::sqrt(std::max(0.0, covariance.values[coil * coils + coil].re));
    if (scan.noise && deviation == 0) silent.push_back(coil);
    if (deviation > 0 && deviation < least) least = deviation, least_coil = coil;
    if (deviation > most) most = deviation, most_coil = coil;
  }
  if (!silent.empty())
    findings.add(Severity::warning, "noise",
                 fmt::format("The noise readouts of coil {} (from 0) hold only zeros: nothing is whitened.",
                             listed(silent)),
                 "--whiten off, or remove the noise readouts from the file");
  if (most > 3 * least)
    findings.add(
        Severity::note, "noise",
        fmt::format("Noise of the coils differs by a factor {:.2g} (coil {} least, coil {} most, {}).",
                    most / least, least_coil, most_coil,
                    scan.noise ? "noise readouts" : "edge of k-space, which may hold signal"),
        scan.noise ? "" : "--whiten edge weighs them accordingly");
}

/// Isolated samples ten times as large as both neighbours, at a radius where the signal is smooth on the
/// scale of a sample, and ten times as large as samples of that radius usually are.
void check_spikes(const Scan& scan, Findings& findings) {
  constexpr int bands = 32;
  constexpr double factor = 100;  // of energies
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  std::vector<int> band(static_cast<std::size_t>(samples));
  for (std::int64_t m = 0; m < samples; ++m)
    band[static_cast<std::size_t>(m)] =
        std::min(bands - 1, static_cast<int>(normalised_radius(scan, m) * bands / 1.8));
  std::int64_t count = 0, first_coil = 0, first_sample = 0;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    const auto* values = scan.kspace.values.data() + coil * samples;
    const auto energy = [&](std::int64_t m) { return norm(Complex<double>(values[m])); };
    std::vector<std::vector<double>> of_band(bands);
    for (std::int64_t m = 0; m < samples; ++m)
      of_band[band[static_cast<std::size_t>(m)]].push_back(energy(m));
    std::vector<double> usual;
    for (auto& one : of_band) usual.push_back(median(std::move(one)));
    for (std::int64_t m = 1; m + 1 < samples; ++m) {
      const double e = energy(m);
      if (e <= factor * usual[band[static_cast<std::size_t>(m)]] || e <= factor * energy(m - 1) ||
          e <= factor * energy(m + 1) || normalised_radius(scan, m) < 0.1)
        continue;
      if (distance(scan, m, m - 1) > 2 || distance(scan, m, m + 1) > 2) continue;  // not one smooth readout
      if (count++ == 0) first_coil = coil, first_sample = m;
    }
  }
  if (count > 0)
    findings.add(
        Severity::warning, "spikes",
        fmt::format(
            "{} sample{} stand{} out tenfold from their neighbours (first: coil {}, sample {}): spikes "
            "become stripes in the image.",
            count, count == 1 ? "" : "s", count == 1 ? "s" : "", first_coil, first_sample),
        "remove those readouts, or replace the values by the mean of their neighbours");
}

void check_readouts(const Scan& scan, const std::vector<double>& energy, std::int64_t length,
                    Findings& findings) {
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  const auto zeros = std::count(energy.begin(), energy.end(), 0.0);
  if (zeros == samples) return;
  if (length < 2 || samples % length != 0) {
    if (zeros > samples / 100)
      findings.add(
          Severity::warning, "readouts",
          fmt::format("{} of {} samples are exactly zero in every coil; they count as measured zeros.", zeros,
                      samples),
          "remove samples that were not measured from the file");
    return;
  }
  const auto readouts = samples / length;
  std::vector<std::int64_t> empty, constant;
  std::unordered_map<std::size_t, std::int64_t> known;  // hash of a readout's values -> its first sample
  const auto bytes_of = [&](std::int64_t coil, std::int64_t first) {
    return std::string_view(reinterpret_cast<const char*>(scan.kspace.values.data() + coil * samples + first),
                            sizeof(Complex<float>) * static_cast<std::size_t>(length));
  };
  std::vector<std::int64_t> copies;
  for (std::int64_t readout = 0; readout < readouts; ++readout) {
    const auto begin = readout * length;
    bool all_zero = true, all_equal = true;
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const auto* values = scan.kspace.values.data() + coil * samples + begin;
      for (std::int64_t s = 0; s < length; ++s) {
        all_zero = all_zero && values[s].re == 0 && values[s].im == 0;
        all_equal = all_equal && values[s].re == values[0].re && values[s].im == values[0].im;
      }
    }
    if (all_zero) {
      empty.push_back(readout);
      continue;
    }
    if (all_equal) constant.push_back(readout);
    std::size_t hash = 0;
    for (std::int64_t coil = 0; coil < coils; ++coil)
      hash = hash * 31 + std::hash<std::string_view>{}(bytes_of(coil, begin));
    const auto [at, is_new] = known.emplace(hash, begin);
    const auto is_copy = [&] {
      for (std::int64_t coil = 0; coil < coils; ++coil)
        if (bytes_of(coil, begin) != bytes_of(coil, at->second)) return false;
      return true;
    };
    if (!is_new && distance(scan, begin, at->second) > 1e-6 && is_copy()) copies.push_back(readout);
  }
  if (!empty.empty())
    findings.add(Severity::warning, "readouts",
                 fmt::format("{} of {} readouts hold only zeros (first: {}); they count as measured zeros.",
                             empty.size(), readouts, empty.front()),
                 "remove readouts that were not measured from the file");
  else if (zeros > samples / 100)
    findings.add(Severity::warning, "readouts",
                 fmt::format("{} of {} samples are exactly zero in every coil; they count as measured zeros.",
                             zeros, samples),
                 "remove samples that were not measured from the file");
  if (!constant.empty())
    findings.add(Severity::warning, "readouts",
                 fmt::format("Every sample has the same value in {} of {} readouts (first: {}).",
                             constant.size(), readouts, constant.front()),
                 "remove them from the file");
  if (!copies.empty())
    findings.add(
        Severity::warning, "readouts",
        fmt::format("{} of {} readouts repeat the values of another one at other k-space positions (first: "
                    "{}).",
                    copies.size(), readouts, copies.front()),
        "check how the file was written: a stuck buffer, or a trajectory of other readouts");
}

// --- Maps
// ---------------------------------------------------------------------------------------------------------------

void check_maps(const Scan& scan, Findings& findings) {
  const auto coils = scan.kspace.coil_count();
  if (!scan.sensitivity_maps) {
    if (coils > 1)
      findings.add(
          Severity::note, "maps",
          fmt::format("There are no sensitivity maps: they are found from the {} coils (ESPIRiT).", coils),
          "--coils adaptive or none chooses another way");
    return;
  }
  const auto& values = scan.sensitivity_maps->values;
  const auto voxels = scan.geometry.voxel_count();
  std::vector<double> square(static_cast<std::size_t>(voxels));
  std::vector<std::int64_t> empty;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    double sum = 0;
    for (std::int64_t p = 0; p < voxels; ++p) {
      const double e = norm(Complex<double>(values[coil * voxels + p]));
      square[static_cast<std::size_t>(p)] += e;
      sum += e;
    }
    if (sum == 0) empty.push_back(coil);
  }
  if (static_cast<std::int64_t>(empty.size()) == coils) {
    findings.add(Severity::problem, "maps", "The sensitivity maps are zero everywhere.",
                 "--coils espirit or none, or write the true maps into the file");
    return;
  }
  if (!empty.empty())
    findings.add(
        Severity::warning, "maps",
        fmt::format("The sensitivity map of coil {} (from 0) is zero everywhere: its data are not used.",
                    listed(empty)),
        "--coils espirit, or write the true map into the file");
  std::vector<double> covered;
  for (const double e : square)
    if (e > 0) covered.push_back(std::sqrt(e));
  std::sort(covered.begin(), covered.end());
  const double low = covered[covered.size() / 20], high = covered[covered.size() - 1 - covered.size() / 20];
  const double masked = 100 * (1 - static_cast<double>(covered.size()) / static_cast<double>(voxels));
  if (high > 1.05 * low)
    findings.add(
        Severity::note, "maps",
        fmt::format("The sensitivity maps are not normalised: their root sum of squares runs from {:.3g} to "
                    "{:.3g}, and the image is divided by it ({:.0f} % of the voxels are masked).",
                    low, high, masked),
        "divide the maps by their root sum of squares if the image should keep the coils' shading");
  else
    findings.add(Severity::ok, "maps",
                 fmt::format("Sensitivity maps are there and normalised ({:.0f} % of the voxels are masked).",
                             masked));
}

void check_off_resonance(const Scan& scan, std::int64_t readout_length, Findings& findings) {
  if (scan.sample_time_s) {
    const auto& t = *scan.sample_time_s;
    const auto [first, last] = std::minmax_element(t.begin(), t.end());
    bool backwards = false;
    for (std::int64_t m = 1; readout_length > 1 && m < t.size(); ++m)
      backwards = backwards || (m % readout_length != 0 && t[m] < t[m - 1]);
    // No readout lasts seconds: T2* of tissue is below 0.1 s, of gas and fluids below 2 s.
    if (*first < 0 || *last > 10 || backwards)
      findings.add(
          Severity::warning, "times",
          fmt::format("Sample times run from {:.3g} to {:.3g} s{}: they are seconds since the excitation, of "
                      "every readout anew.",
                      *first, *last, backwards ? ", and backwards within a readout" : ""),
          "correct /sample_time_s, or leave it out");
  }
  if (!scan.field_map) return;
  if (!scan.sample_time_s) {
    findings.add(Severity::warning, "field map",
                 "There is a field map, but no sample times: off-resonance is not corrected.",
                 "write /sample_time_s (s since excitation, [sample]) into the file");
    return;
  }
  double largest = 0;
  for (const float omega : *scan.field_map) largest = std::max(largest, std::abs(static_cast<double>(omega)));
  const auto& t = *scan.sample_time_s;
  const auto [first, last] = std::minmax_element(t.begin(), t.end());
  const double turns = largest * (*last - *first) / (2 * std::numbers::pi);
  if (largest == 0)
    findings.add(Severity::note, "field map", "The field map is zero everywhere: nothing is corrected.");
  else if (turns > 100)
    findings.add(
        Severity::warning, "field map",
        fmt::format(
            "The field map reaches {:.3g} rad/s, {:.0f} turns during a readout: the unit may be wrong.",
            largest, turns),
        "/field_map is in rad/s (2 pi Hz)");
  else
    findings.add(
        Severity::ok, "field map",
        fmt::format("The field map reaches {:.3g} Hz, {:.2g} turns during a readout, and is corrected.",
                    largest / (2 * std::numbers::pi), turns));
}

// --- The file
// ---------------------------------------------------------------------------------------------------------------

void check_prior(const Volume& prior, const Geometry& geometry, Findings& findings) {
  try {
    Volume covered = prior;
    for (float& value : covered.values) value = 1;
    const auto inside = resampled(covered, geometry);
    const auto share =
        static_cast<double>(std::count_if(inside.begin(), inside.end(), [](float v) { return v > 0.5F; })) /
        static_cast<double>(inside.size());
    const auto image = resampled(prior, geometry);
    const auto [least, most] = std::minmax_element(image.begin(), image.end());
    if (*least == *most)
      findings.add(Severity::warning, "prior",
                   "The prior has one value everywhere within the scan: no edges.",
                   "give the image of the same anatomy");
    else if (share < 0.5)
      findings.add(Severity::warning, "prior",
                   fmt::format("The prior covers only {:.0f} % of the scan.", 100 * share),
                   "check both positions with 'fhd info'; outside of it W is the plain roughness");
    else
      findings.add(Severity::ok, "prior", fmt::format("The prior covers {:.0f} % of the scan.", 100 * share));
  } catch (const Error& error) {
    findings.list.push_back(finding_of(Severity::problem, "prior", error.what()));
  }
}

std::string gibibytes(double bytes) { return fmt::format("{:.2g} GiB", bytes / (1 << 30)); }

void check_memory(const io::ScanSummary& summary, std::size_t memory_bytes, Findings& findings) {
  if (memory_bytes == 0) return;
  const MemoryDemand demand{summary.geometry.matrix_size, summary.samples_per_scan, summary.coil_count,
                            summary.has_sensitivity_maps || summary.coil_count > 1, TransformKind::gridded};
  const auto plan = plan_device_memory(demand, {}, std::size_t{1} << 60);
  // On the processor the scan itself is held beside what a GPU would hold: as read, and as prepared.
  const double scan_bytes =
      static_cast<double>(summary.samples_per_scan) *
          (32.0 + 16.0 * static_cast<double>(summary.coil_count)) +
      16.0 * static_cast<double>(summary.coil_count) * static_cast<double>(summary.geometry.voxel_count());
  const double images = 8.0 * static_cast<double>(summary.geometry.voxel_count()) *
                        static_cast<double>(summary.slice_count * summary.repetition_count);
  const double needed = static_cast<double>(plan.peak_bytes()) + scan_bytes + images;
  const auto available = static_cast<double>(memory_bytes);
  const auto text = fmt::format("about {} of the machine's {}", gibibytes(needed), gibibytes(available));
  if (needed > available)
    findings.add(Severity::problem, "memory", "A reconstruction takes " + text + ".",
                 "fewer --slices or --repetitions, a smaller --matrix or --compress");
  else if (needed > 0.7 * available)
    findings.add(Severity::warning, "memory", "A reconstruction takes " + text + ".",
                 "close other programs, or take fewer --slices or --repetitions");
  else
    findings.add(Severity::ok, "memory", "A reconstruction takes " + text + ".");
}

/// Several slices at one place, or unequally spaced.
void check_positions(const io::ScanSummary& summary, const std::vector<Geometry>& slices,
                     Findings& findings) {
  const auto at_origin = [](const Geometry& g) { return g.position_mm == std::array<double, 3>{}; };
  if (slices.size() > 1 && std::all_of(slices.begin() + 1, slices.end(), [&](const Geometry& g) {
        return g.position_mm == slices.front().position_mm;
      })) {
    findings.add(
        Severity::warning, "positions",
        fmt::format("All {} slices are at one position: the NIfTI file stacks them by their thickness.",
                    slices.size()),
        "write each slice's position into the file");
    return;
  }
  if (std::all_of(slices.begin(), slices.end(), at_origin))
    findings.add(
        Severity::note, "positions",
        "The position is 0, 0, 0: the scanner's isocentre, or not stated. Images will be centred there.",
        "write position (ISMRMRD) or position_mm (fhd) into the file");
  io::ImageSeries series{1, static_cast<std::int64_t>(slices.size()), {}};
  for (const auto& geometry : slices) series.images.push_back({{}, geometry});
  if (summary.geometry.matrix_size[2] == 1 && !io::lie_on_affine(series))
    findings.add(Severity::warning, "positions",
                 "The slices are not equally spaced: the NIfTI file places them at their mean distance.",
                 "--slices chooses those that are");
}

/// A trajectory that leaves this matrix but fits it with x and y exchanged.
void check_swapped_axes(const std::string& path, const DiagnosisSettings& settings,
                        const io::ScanSummary& summary, Findings& findings) {
  const auto& n = summary.geometry.matrix_size;
  if (n[0] == n[1] || summary.has_sensitivity_maps || summary.has_field_map) return;
  auto options = settings.options;
  const int largest = std::max(n[0], n[1]);
  options.matrix_size = {largest, largest, n[2]};
  try {
    const auto extents = extents_of(io::open_scan(path, options)->read(0, 0).trajectory);
    const auto fits = [](double k, int voxels) { return k <= 1.005 * voxels / 2 && k >= 0.8 * voxels / 2; };
    if (fits(extents[0].magnitude(), n[1]) && fits(extents[1].magnitude(), n[0]))
      findings.add(
          Severity::problem, "extent",
          fmt::format("k reaches {:.4g} along x and {:.4g} along y for a matrix of {} x {}: x and y look "
                      "exchanged.",
                      extents[0].magnitude(), extents[1].magnitude(), n[0], n[1]),
          fmt::format("--matrix {},{},{}, or exchange the axes of the trajectory", n[1], n[0], n[2]));
  } catch (const Error&) {
    // What keeps it from being read at all is already among the findings.
  }
}

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return "ok";
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::problem:
      return "problem";
  }
  return "unknown";
}

std::optional<SamplingDensity> sampling_density(const Trajectory& trajectory,
                                                std::array<int, 3> matrix_size) {
  // One cell for each integer k from -floor(N/2) - 1 to floor(N/2) + 1.
  std::array<std::int64_t, 3> cells{};
  for (int axis = 0; axis < 3; ++axis)
    cells[axis] = matrix_size[axis] == 1 ? 1 : 2 * (matrix_size[axis] / 2 + 1) + 1;
  const std::int64_t total = cells[0] * cells[1] * cells[2];
  if (total > (std::int64_t{1} << 30)) return std::nullopt;
  constexpr std::uint8_t sampled = 1, between = 2;
  std::vector<std::uint8_t> grid(static_cast<std::size_t>(total));
  const auto samples = trajectory.sample_count();
  for (std::int64_t m = 0; m < samples; ++m) {
    std::int64_t at = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const std::int64_t half = cells[axis] / 2;
      const auto cell = cells[axis] == 1 ? 0 : std::llround(trajectory.k[axis * samples + m]) + half;
      at = at * cells[axis] + std::clamp<std::int64_t>(cell, 0, cells[axis] - 1);
    }
    grid[static_cast<std::size_t>(at)] = sampled;
  }
  SamplingDensity density;
  std::int64_t stride = 1;
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t span = 0, steps = 0;
    for (std::int64_t line = 0; line < total / cells[axis] && cells[axis] > 1; ++line) {
      const std::int64_t begin = line / stride * stride * cells[axis] + line % stride;
      std::int64_t first = -1, last = -1, count = 0;
      for (std::int64_t i = 0; i < cells[axis]; ++i)
        if (grid[static_cast<std::size_t>(begin + i * stride)] & sampled) {
          if (first < 0) first = i;
          last = i;
          ++count;
        }
      if (count < 2) continue;
      span += last - first;
      steps += count - 1;
      for (std::int64_t i = first; i <= last; ++i)
        grid[static_cast<std::size_t>(begin + i * stride)] |= between;
    }
    if (steps > 0) density.spacing[axis] = static_cast<double>(span) / static_cast<double>(steps);
    stride *= cells[axis];
  }
  const auto touched = std::count_if(grid.begin(), grid.end(), [](auto c) { return c != 0; });
  const auto visited = std::count_if(grid.begin(), grid.end(), [](auto c) { return (c & sampled) != 0; });
  if (visited > 0) density.undersampling = static_cast<double>(touched) / static_cast<double>(visited);
  return density;
}

std::optional<double> readout_shift(const Scan& scan, std::int64_t readout_length) {
  constexpr std::size_t fewest = 8;
  const auto samples = scan.kspace.sample_count();
  if (readout_length < 8 || samples % readout_length != 0) return std::nullopt;
  const auto energy = energies(scan.kspace);
  const auto k = [&](std::int64_t m, int axis) {
    return scan.geometry.matrix_size[axis] == 1 ? 0.0 : scan.trajectory.k[axis * samples + m];
  };
  std::vector<double> shifts;
  for (std::int64_t begin = 0; begin < samples; begin += readout_length) {
    const auto end = begin + readout_length - 1;
    std::array<double, 3> direction{};
    double length = 0;
    for (int axis = 0; axis < 3; ++axis) {
      direction[axis] = k(end, axis) - k(begin, axis);
      length += direction[axis] * direction[axis];
    }
    length = std::sqrt(length);
    if (length < 8) continue;
    // Straight, and through the centre from side to side.
    double nearest = INFINITY, weight = 0, moment = 0, lowest = INFINITY, highest = -INFINITY;
    for (auto m = begin; m <= end; ++m) {
      double along = 0, square = 0;
      for (int axis = 0; axis < 3; ++axis) {
        along += k(m, axis) * direction[axis] / length;
        square += k(m, axis) * k(m, axis);
      }
      nearest = std::min(nearest, square);
      lowest = std::min(lowest, along);
      highest = std::max(highest, along);
      // Noise is spread evenly and would pull the mean to the middle: the peak alone counts, by |d|^4.
      const double e = energy[static_cast<std::size_t>(m)] * energy[static_cast<std::size_t>(m)];
      weight += e;
      moment += e * along;
    }
    if (nearest > 1 || -lowest < 0.3 * length || highest < 0.3 * length || weight == 0) continue;
    shifts.push_back(moment / weight);
  }
  if (shifts.size() < fewest) return std::nullopt;
  // A linear phase of the object shifts opposite directions oppositely; equal numbers of both are needed to
  // tell.
  return median(std::move(shifts));
}

std::vector<Finding> diagnose(const Scan& scan, std::int64_t readout_length) {
  Findings findings;
  check_geometry(scan.geometry, findings);
  check_extent(scan, findings);
  check_density(scan, readout_length, findings);
  check_coils(scan, findings);
  const auto energy = energies(scan.kspace);
  if (std::any_of(energy.begin(), energy.end(), [](double e) { return e > 0; })) {
    check_energy(scan, energy, readout_length, findings);
    check_spikes(scan, findings);
    check_readouts(scan, energy, readout_length, findings);
  }
  check_maps(scan, findings);
  check_off_resonance(scan, readout_length, findings);
  return std::move(findings.list);
}

std::vector<Finding> diagnose(const std::string& path, const DiagnosisSettings& settings) {
  Findings findings;
  std::unique_ptr<io::ScanFile> file;
  try {
    file = io::open_scan(path, settings.options);
  } catch (const Error& error) {
    findings.list.push_back(finding_of(Severity::problem, "file", error.what()));
    return std::move(findings.list);
  }
  const auto& summary = file->summary();
  const auto& n = summary.geometry.matrix_size;
  findings.add(
      Severity::ok, "file",
      fmt::format("{}: {} x {} x {} voxels, {} coil{}, {} samples, {} slice{}, {} repetition{}.",
                  summary.format, n[0], n[1], n[2], summary.coil_count, summary.coil_count == 1 ? "" : "s",
                  summary.samples_per_scan, summary.slice_count, summary.slice_count == 1 ? "" : "s",
                  summary.repetition_count, summary.repetition_count == 1 ? "" : "s"));
  for (const auto& [name, value] : summary.facts)
    if (name == "readouts skipped")
      findings.add(Severity::note, "readouts", "Readouts left out: " + value + ".");
  for (const auto& sentence : summary.inferred)
    findings.list.push_back(finding_of(Severity::note, "inferred", sentence));
  for (const auto& sentence : summary.missing)
    findings.list.push_back(finding_of(Severity::warning, "missing", sentence));
  check_memory(summary, settings.memory_bytes, findings);
  if (settings.prior) check_prior(*settings.prior, summary.geometry, findings);

  // Volume by volume; the same topic and severity comes once.
  const auto volumes = summary.slice_count * summary.repetition_count;
  std::vector<Geometry> slices;
  std::map<std::pair<Severity, std::string>, std::pair<std::size_t, std::int64_t>> known;  // index, volumes
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice) {
      std::vector<Finding> found;
      try {
        const auto scan = file->read(slice, repetition);
        if (repetition == 0) slices.push_back(scan.geometry);
        found = diagnose(scan, summary.readout_length);
      } catch (const Error& error) {
        found.push_back(finding_of(Severity::problem, "values", error.what()));
      }
      std::map<std::pair<Severity, std::string>, bool>
          counted;  // a volume may have two findings of one topic
      for (auto& finding : found) {
        const auto key = std::pair(finding.severity, finding.topic + finding.remedy);
        const auto at = known.find(key);
        if (at == known.end()) {
          if (volumes > 1 && finding.severity != Severity::ok)
            finding.what = fmt::format("Slice {}, repetition {}: {}", slice, repetition, finding.what);
          known[key] = {findings.list.size(), 1};
          counted[key] = true;
          findings.list.push_back(std::move(finding));
        } else if (!counted[key]) {
          ++at->second.second;
          counted[key] = true;
        }
      }
    }
  for (const auto& [key, value] : known)
    if (auto& finding = findings.list[value.first]; value.second > 1 && finding.severity != Severity::ok)
      finding.what += fmt::format(" So in {} of {} volumes.", value.second, volumes);
  if (slices.empty())
    check_swapped_axes(path, settings, summary, findings);
  else
    check_positions(summary, slices, findings);
  std::stable_sort(findings.list.begin(), findings.list.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  return std::move(findings.list);
}

}  // namespace fhd
