#include "validation/verdict/energies.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "recon/array/for_processors.hpp"

namespace fhd::validation {
namespace {

using Value = std::complex<double>;

/// Returns the volume of k-space, in voxels (1 cycle/FOV along every axis of more than one voxel), inside the
/// ellipsoid of this normalised radius, cut at the box |k| <= N/2.
double cells_within(double radius, const std::array<int, 3>& matrix_size) {
  constexpr double unit_ball[] = {1, 2, std::numbers::pi, 4 * std::numbers::pi / 3};
  int axes = 0;
  double box = 1;
  for (const int n : matrix_size)
    if (n > 1) ++axes, box *= n;
  return std::min(box, unit_ball[axes] * std::pow(radius / 2, axes) * box);
}

std::uint8_t shell_at(const Trajectory& trajectory, const std::array<int, 3>& matrix_size, Index m) {
  double square = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1)
      square += std::pow(
          2 * trajectory.k[static_cast<Index>(axis) * trajectory.sample_count() + m] / matrix_size[axis], 2);
  const double radius = std::sqrt(square);
  std::uint8_t shell = 0;
  for (std::size_t i = 0; i + 1 < shell_radii.size(); ++i) shell += shell_radii[i] < radius;
  return shell;
}

using Shells = std::array<Energies, shell_radii.size()>;

/// Sums up `count` samples d * scale and what is predicted of them.
template <class Data>
[[gnu::always_inline]] inline Energies sums_of(Index count, double scale, const Data* d,
                                               const Complex<float>* p) {
  double data = 0, rest = 0, prediction = 0, re = 0, im = 0;
#pragma omp simd reduction(+ : data, rest, prediction, re, im)
  for (Index j = 0; j < count; ++j) {
    const double d_re = scale * static_cast<double>(d[j].re), d_im = scale * static_cast<double>(d[j].im),
                 p_re = static_cast<double>(p[j].re), p_im = static_cast<double>(p[j].im), r_re = d_re - p_re,
                 r_im = d_im - p_im;
    data += d_re * d_re + d_im * d_im;
    rest += r_re * r_re + r_im * r_im;
    prediction += p_re * p_re + p_im * p_im;
    re += p_re * r_re + p_im * r_im;
    im += p_re * r_im - p_im * r_re;
  }
  return {data, rest, prediction, static_cast<double>(count), {re, im}};
}

/// <p, v>, <v, r> and |v|^2 of some samples, v those of another image.
struct ShrinkageProducts {
  Value pv, vr;
  double vv = 0;
  ShrinkageProducts& operator+=(const ShrinkageProducts& other) {
    pv += other.pv, vr += other.vr, vv += other.vv;
    return *this;
  }
};

template <class Data>
[[gnu::always_inline]] inline ShrinkageProducts products_with(Index count, double scale, const Data* d,
                                                              const Complex<float>* p,
                                                              const Complex<float>* v) {
  double pv_re = 0, pv_im = 0, vr_re = 0, vr_im = 0, vv = 0;
#pragma omp simd reduction(+ : pv_re, pv_im, vr_re, vr_im, vv)
  for (Index j = 0; j < count; ++j) {
    const double p_re = static_cast<double>(p[j].re), p_im = static_cast<double>(p[j].im),
                 v_re = static_cast<double>(v[j].re), v_im = static_cast<double>(v[j].im),
                 r_re = scale * static_cast<double>(d[j].re) - p_re,
                 r_im = scale * static_cast<double>(d[j].im) - p_im;
    pv_re += p_re * v_re + p_im * v_im;
    pv_im += p_re * v_im - p_im * v_re;
    vr_re += v_re * r_re + v_im * r_im;
    vr_im += v_re * r_im - v_im * r_re;
    vv += v_re * v_re + v_im * v_im;
  }
  return {{pv_re, pv_im}, {vr_re, vr_im}, vv};
}

FHD_FOR_PROCESSORS Energies energies_of_run(Index count, double scale, const Complex<float>* d,
                                            const Complex<float>* p) {
  return sums_of(count, scale, d, p);
}
FHD_FOR_PROCESSORS Energies energies_of_run(Index count, double scale, const Complex<double>* d,
                                            const Complex<float>* p) {
  return sums_of(count, scale, d, p);
}

FHD_FOR_PROCESSORS ShrinkageProducts products_of_run(Index count, double scale, const Complex<float>* d,
                                                     const Complex<float>* p, const Complex<float>* v) {
  return products_with(count, scale, d, p, v);
}
FHD_FOR_PROCESSORS ShrinkageProducts products_of_run(Index count, double scale, const Complex<double>* d,
                                                     const Complex<float>* p, const Complex<float>* v) {
  return products_with(count, scale, d, p, v);
}

/// Adds |values|^2.
FHD_FOR_PROCESSORS void add_squares(Index count, const Complex<float>* values, double* sums) {
#pragma omp simd
  for (Index j = 0; j < count; ++j) {
    const double re = static_cast<double>(values[j].re), im = static_cast<double>(values[j].im);
    sums[j] += re * re + im * im;
  }
}

/// Returns work(samples of a coil, their prediction) for those of a run.
template <class Work>
auto with_run(const VerifierInput<float>& e, Index coil, const SampleShells::Run& run, const Work& work) {
  const Index begin = coil * e.trajectory.sample_count() + run.begin;
  const auto* predicted = e.predicted.data() + begin;
  return e.samples_in_double ? work(e.samples_in_double + begin, predicted)
                             : work(e.samples + begin, predicted);
}

}  // namespace

std::shared_ptr<const SampleShells> shells_of(const Trajectory& trajectory,
                                              const std::array<int, 3>& matrix_size,
                                              const std::vector<Index>& starts) {
  auto made = std::make_shared<SampleShells>();
  const Index samples = trajectory.sample_count();
  auto& shells = made->of_sample;
  shells.resize(static_cast<std::size_t>(samples));
  for (Index m = 0; m < samples; ++m)
    shells[static_cast<std::size_t>(m)] = shell_at(trajectory, matrix_size, m);
  made->readout_count = starts.size() - 1;
  for (std::size_t j = 0; j < made->readout_count; ++j)
    for (Index m = starts[j], end = starts[j + 1]; m < end;) {
      const auto begin = m;
      const auto shell = shells[static_cast<std::size_t>(m)];
      while (m < end && shells[static_cast<std::size_t>(m)] == shell) ++m;
      made->runs.push_back({begin, m, j, shell});
    }
  for (std::size_t s = 0; s < shell_radii.size(); ++s)
    made->cells[s] = cells_within(shell_radii[s], matrix_size) -
                     (s > 0 ? cells_within(shell_radii[s - 1], matrix_size) : 0);
  return made;
}

EnergyTable energies_of(const VerifierInput<float>& e, std::shared_ptr<const SampleShells> samples) {
  EnergyTable table;
  table.samples = std::move(samples);
  table.coils.resize(static_cast<std::size_t>(e.coil_count));
  table.readouts.resize(table.samples->readout_count);
  std::vector<Shells> of_shells(table.coils.size());
  std::vector<std::vector<Energies>> of_readouts(table.coils.size(),
                                                 std::vector<Energies>(table.readouts.size()));
#pragma omp parallel for schedule(static)
  for (Index coil = 0; coil < e.coil_count; ++coil) {
    const auto c = static_cast<std::size_t>(coil);
    for (const auto& run : table.samples->runs) {
      const Energies energies = with_run(e, coil, run, [&](const auto* d, const auto* p) {
        return energies_of_run(run.end - run.begin, e.sample_scale, d, p);
      });
      of_shells[c][run.shell] += energies;
      of_readouts[c][run.readout] += energies;
    }
  }
  for (std::size_t c = 0; c < table.coils.size(); ++c) {
    for (std::size_t j = 0; j < table.readouts.size(); ++j) table.readouts[j] += of_readouts[c][j];
    for (std::size_t s = 0; s < shell_radii.size(); ++s)
      table.coils[c] += of_shells[c][s], table.shells[s] += of_shells[c][s];
    table.total += table.coils[c];
  }
  table.coil_shells = std::move(of_shells);
  for (std::size_t s = 0; s < shell_radii.size(); ++s)
    table.freedom[s] = table.shells[s].count - std::min(table.samples->cells[s], table.shells[s].count);
  return table;
}

void take_off_shrinkage(const VerifierInput<float>& e, EnergyTable& table) {
  const Index voxels = Index{e.matrix_size[0]} * e.matrix_size[1] * e.matrix_size[2],
              samples = e.trajectory.sample_count();
  std::vector<double> seen(static_cast<std::size_t>(e.image.size()));
  const auto add_set = [&](const Complex<float>* maps, Index first) {
    for (Index coil = 0; coil < e.coil_count; ++coil)
      add_squares(voxels, maps + coil * voxels, seen.data() + first);
  };
  add_set(e.maps, 0);
  if (e.second_maps != nullptr) add_set(e.second_maps, voxels);
  const double most = *std::max_element(seen.begin(), seen.end());
  Array<Complex<float>> taken_off(e.image.shape());
  for (Index p = 0; p < taken_off.size(); ++p) {
    const auto factor = static_cast<float>(most / std::max(seen[static_cast<std::size_t>(p)], 1e-3 * most));
    const auto& rho = e.image.data()[p];
    taken_off.data()[p] = {factor * rho.re, factor * rho.im};
  }
  const auto taken = e.encode(taken_off);
  std::vector<std::array<ShrinkageProducts, shell_radii.size()>> of_coils(table.coils.size());
#pragma omp parallel for schedule(static)
  for (Index coil = 0; coil < e.coil_count; ++coil)
    for (const auto& run : table.samples->runs)
      of_coils[static_cast<std::size_t>(coil)][run.shell] +=
          with_run(e, coil, run, [&](const auto* d, const auto* p) {
            return products_of_run(run.end - run.begin, e.sample_scale, d, p,
                                   taken.data() + coil * samples + run.begin);
          });
  std::array<ShrinkageProducts, shell_radii.size()> of_shells;
  for (const auto& of_coil : of_coils)
    for (std::size_t s = 0; s < shell_radii.size(); ++s) of_shells[s] += of_coil[s];
  for (std::size_t s = 0; s < shell_radii.size(); ++s) {
    auto& shell = table.shells[s];
    const auto& [pv, vr, vv] = of_shells[s];
    if (shell.prediction <= 0 || vv <= 0) continue;
    const double left = vv - std::norm(pv) / shell.prediction;
    const Value onto = vr - std::conj(pv) / shell.prediction * shell.product;
    shell.shrinkage =
        std::norm(shell.product) / shell.prediction + (left > 1e-9 * vv ? std::norm(onto) / left : 0);
  }
}

}  // namespace fhd::validation
