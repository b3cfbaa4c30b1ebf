#include "validation/verdict/verdict.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "validation/verdict/judgement.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

using Value = std::complex<double>;
using Index = std::int64_t;

template <class T>
Value value_of(const Complex<T>& v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}

/// Outer radii of the shells: 1 at the middle of a face of k-space.
constexpr std::array<double, 6> shell_radii{1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2};

/// Voxels' worth of k-space (1 cycle/FOV along every axis of more than one voxel) inside the ellipsoid of this
/// normalised radius, which ends at the box |k| <= N/2.
double cells_within(double radius, const std::array<int, 3>& matrix_size) {
  constexpr double unit_ball[] = {1, 2, std::numbers::pi, 4 * std::numbers::pi / 3};
  int axes = 0;
  double box = 1;
  for (const int n : matrix_size)
    if (n > 1) ++axes, box *= n;
  return std::min(box, unit_ball[axes] * std::pow(radius / 2, axes) * box);
}

/// |d|^2, |r|^2, |p|^2 and <p, r> of some samples.
struct Energies {
  double data = 0, rest = 0, prediction = 0, count = 0;
  Value product;
  void add(const Value& d, const Value& p) {
    const Value r = d - p;
    data += std::norm(d), rest += std::norm(r), prediction += std::norm(p), ++count;
    product += std::conj(p) * r;
  }
  Energies& operator+=(const Energies& other) {
    data += other.data, rest += other.rest, prediction += other.prediction, count += other.count;
    product += other.product;
    return *this;
  }
  /// |r|^2 without what one factor of p explains: lambda makes the image a little darker than the data.
  double rest_of_shape() const {
    return prediction > 0 ? std::max(0.0, rest - std::norm(product) / prediction) : rest;
  }
};

/// Of one readout or one coil: <p, r> and |p|^2.
struct Gain {
  Value product;
  double prediction = 0;
};

template <class T>
class Judge {
 public:
  explicit Judge(const VerifierInput<T>& input)
      : e_(input), samples_(input.trajectory.sample_count()), coils_(input.coil_count) {}

  Verdict operator()() {
    Verdict v;
    shell_of_.resize(static_cast<std::size_t>(samples_));
    for (Index m = 0; m < samples_; ++m) shell_of_[static_cast<std::size_t>(m)] = shell(m);
    starts_ = readout_starts(e_.trajectory);
    sum_up();
    estimate_noise(v);
    weigh_shells(v);
    compare_gains(v);
    if (total_.rest > 0 && e_.encode) try_changes(v);
    look_at_image(v);
    return v;
  }

 private:
  Value data(Index coil, Index m) const {
    const Index i = coil * samples_ + m;
    return e_.sample_scale *
           (e_.samples_in_double ? value_of(e_.samples_in_double[i]) : value_of(e_.samples[i]));
  }
  Value rest(Index coil, Index m) const {
    return data(coil, m) - value_of(e_.predicted[coil * samples_ + m]);
  }
  double k(int axis, Index m) const { return e_.trajectory.k[axis * samples_ + m]; }
  bool is_long(int axis) const { return e_.matrix_size[static_cast<std::size_t>(axis)] > 1; }

  std::uint8_t shell(Index m) const {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (is_long(axis))
        square += std::pow(2 * k(axis, m) / e_.matrix_size[static_cast<std::size_t>(axis)], 2);
    const auto found = std::lower_bound(shell_radii.begin(), shell_radii.end() - 1, std::sqrt(square));
    return static_cast<std::uint8_t>(found - shell_radii.begin());
  }

  void sum_up() {
    of_coils_.resize(static_cast<std::size_t>(coils_));
    std::vector<std::array<Energies, shell_radii.size()>> of_shells(of_coils_.size());
    readout_gains_.resize(starts_.size() - 1);
    coil_gains_.resize(of_coils_.size());
    for (Index coil = 0; coil < coils_; ++coil) {
      const auto c = static_cast<std::size_t>(coil);
      for (std::size_t j = 0; j + 1 < starts_.size(); ++j) {
        Gain gain;
        for (Index m = starts_[j]; m < starts_[j + 1]; ++m) {
          const Value d = data(coil, m), p = value_of(e_.predicted[coil * samples_ + m]);
          of_shells[c][shell_of_[static_cast<std::size_t>(m)]].add(d, p);
          gain.product += std::conj(p) * (d - p);
          gain.prediction += std::norm(p);
        }
        for (Gain* to : {&readout_gains_[j], &coil_gains_[c]})
          to->product += gain.product, to->prediction += gain.prediction;
      }
      for (std::size_t s = 0; s < shell_radii.size(); ++s)
        of_coils_[c] += of_shells[c][s], shells_[s] += of_shells[c][s];
      total_ += of_coils_[c];
    }
  }

  Misfit misfit(double where, const Energies& of) const {
    return {where, of.data / positive(total_.data), std::sqrt(of.rest / positive(of.data)), 0};
  }
  static double positive(double x) { return x > 0 ? x : 1; }

  /// Values that the unknowns of a shell leave over; at most a few: it says nothing.
  double freedom(std::size_t s) const {
    const double cells = cells_within(shell_radii[s], e_.matrix_size) -
                         (s > 0 ? cells_within(shell_radii[s - 1], e_.matrix_size) : 0);
    return shells_[s].count - std::min(cells, shells_[s].count);
  }
  bool tells(std::size_t s) const {
    return freedom(s) >= std::max(32.0, (1 - 1 / 1.2) * shells_[s].count) && shells_[s].data > 0;
  }

  void estimate_noise(Verdict& v) const {
    if (e_.noise != nullptr && !e_.noise->empty()) {
      double sum = 0;
      for (const auto& n : *e_.noise) sum += std::norm(value_of(n));
      v.noise_variance = sum * e_.sample_scale * e_.sample_scale / static_cast<double>(e_.noise->size());
      v.noise_is_measured = true;
    }
    double least = std::numeric_limits<double>::infinity(), all = 0;
    for (std::size_t s = 0; s < shell_radii.size(); ++s) all += freedom(s);
    for (std::size_t s = 0; s < shell_radii.size(); ++s)
      if (tells(s) && freedom(s) > 0.1 * all)
        least = std::min(least, shells_[s].rest_of_shape() / freedom(s));
    if (least < (v.noise_is_measured ? v.noise_variance : std::numeric_limits<double>::infinity()))
      v.noise_variance = least, v.noise_is_measured = false;
  }

  void weigh_shells(Verdict& v) {
    double data = 0, above = 0, rest = 0, noise = 0, counted = 0;
    for (std::size_t s = 0; s < shell_radii.size(); ++s) {
      if (shells_[s].count == 0) continue;
      Misfit found = misfit(shell_radii[s], shells_[s]);
      if (tells(s)) {
        const double left = v.noise_variance * freedom(s), of_shape = shells_[s].rest_of_shape();
        if (left > 0) found.chi_squared = of_shape / left;
        data += shells_[s].data, rest += of_shape, noise += left, counted += shells_[s].count;
        above += std::max(0.0, of_shape - left);
      }
      v.by_radius.push_back(found);
    }
    for (std::size_t c = 0; c < of_coils_.size(); ++c) {
      v.by_coil.push_back(misfit(static_cast<double>(c), of_coils_[c]));
      if (noise > 0) v.by_coil[c].chi_squared = of_coils_[c].rest / (noise / counted * of_coils_[c].count);
    }
    v.tested = data / positive(total_.data);
    v.unexplained = std::sqrt(above / positive(data));
    v.chi_squared = noise > 0 ? rest / noise : 0;
    if (!(rest == rest)) v.unexplained = rest;  // NaN, which max passes over
  }

  /// Shares of what is above the noise.
  double share(double explained, double parameters, const Verdict& v) const {
    return std::max(0.0, explained - parameters * v.noise_variance) / positive(total_.rest);
  }

  void compare_gains(Verdict& v) const {
    double amplitude = 0, phase = 0, coils = 0, a = 0, b = 0, weight = 0, largest = 0, count = 0;
    for (const Gain& g : readout_gains_) {
      if (g.prediction <= 0) continue;
      ++count, weight += g.prediction;
      amplitude += std::pow(g.product.real(), 2) / g.prediction;
      phase += std::pow(g.product.imag(), 2) / g.prediction;
    }
    a = std::sqrt(amplitude / positive(weight)), b = std::sqrt(phase / positive(weight));
    if (count > 1) {
      v.changes.push_back({"signal of the readouts", 100 * a, "%", share(amplitude, count / 2, v)});
      v.changes.push_back(
          {"phase of the readouts", b * 180 / std::numbers::pi, "degrees", share(phase, count / 2, v)});
    }
    for (const Gain& g : coil_gains_) {
      if (g.prediction <= 0) continue;
      coils += std::norm(g.product) / g.prediction;
      largest = std::max(largest, std::abs(g.product) / g.prediction);
    }
    if (coil_gains_.size() > 1)
      v.changes.push_back({"gain of a coil", 100 * largest, "%", share(coils, 1, v)});
  }

  /// Re <v, r> and |v|^2 of v = weight(m) values(c, m).
  struct Projection {
    double onto = 0, square = 0;
  };
  template <class Weight>
  Projection project(const Array<Complex<T>>& values, const Weight& weight) const {
    Projection sum;
    for (Index coil = 0; coil < coils_; ++coil)
      for (Index m = 0; m < samples_; ++m) {
        const Value v = weight(m) * value_of(values[coil * samples_ + m]), r = rest(coil, m);
        sum.onto += v.real() * r.real() + v.imag() * r.imag();
        sum.square += std::norm(v);
      }
    return sum;
  }
  void add_change(Verdict& v, const char* what, const Projection& p, double unit_factor,
                  const char* unit) const {
    if (p.square <= 0) return;
    v.changes.push_back(
        {what, p.onto / p.square * unit_factor, unit, share(p.onto * p.onto / p.square, 1, v)});
    if (v.noise_variance > 0)
      v.changes.back().deviations = std::abs(p.onto) / std::sqrt(p.square * v.noise_variance / 2);
  }

  Array<Complex<T>> encoded(const std::function<double(Index)>& factor) const {
    Array<Complex<T>> image(e_.image.shape());
    for (Index p = 0; p < image.size(); ++p) {
      const auto f = static_cast<T>(factor(p));
      image[p] = {f * e_.image[p].re, f * e_.image[p].im};
    }
    return e_.encode(image);
  }

  void try_changes(Verdict& v) const {
    try_delays(v);
    const auto time = times();
    const Value i(0, 1);
    add_change(v, "frequency offset",
               project(e_.predicted, [&](Index m) { return -i * time[static_cast<std::size_t>(m)]; }),
               0.5 / std::numbers::pi, e_.sample_time_s ? "Hz" : "turns per readout");
    if (e_.field_map == nullptr) return;
    const auto turned = encoded([&](Index p) { return (*e_.field_map)[p]; });
    add_change(v, "field map", project(turned, [&](Index m) { return -i * (*e_.sample_time_s)[m]; }), 100,
               "%");
  }

  /// Delays of the readouts along every axis at once: sum_b <v_a, v_b> tau_b = <v_a, r>.
  void try_delays(Verdict& v) const {
    const auto steps = steps_along_readouts(e_.trajectory, starts_);
    const Value i(0, 1);
    const auto& n = e_.matrix_size;
    double explained = 0, largest = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double* step = steps.data() + axis * samples_;
      if (!is_long(axis) || std::all_of(step, step + samples_, [](double x) { return x == 0; })) continue;
      const Index stride = axis == 0 ? 1 : axis == 1 ? n[0] : Index{n[0]} * n[1];
      const int length = n[static_cast<std::size_t>(axis)];
      const auto moment =
          encoded([&](Index p) { return static_cast<double>(p / stride % length - length / 2) / length; });
      const auto found = project(moment, [&](Index m) { return -i * (2 * std::numbers::pi * step[m]); });
      if (found.square <= 0) continue;
      explained += found.onto * found.onto / found.square;
      if (std::abs(found.onto / found.square) > std::abs(largest)) largest = found.onto / found.square;
    }
    v.changes.push_back({"gradient delay", largest, "samples", share(explained, 2, v)});
  }

  /// Of the samples, s, about their mean; without sample times the share of the readout that is behind a sample.
  std::vector<double> times() const {
    std::vector<double> time(static_cast<std::size_t>(samples_));
    double mean = 0;
    for (std::size_t j = 0; j + 1 < starts_.size(); ++j)
      for (Index m = starts_[j]; m < starts_[j + 1]; ++m) {
        auto& t = time[static_cast<std::size_t>(m)];
        t = e_.sample_time_s
                ? (*e_.sample_time_s)[m]
                : static_cast<double>(m - starts_[j]) / static_cast<double>(starts_[j + 1] - starts_[j]);
        mean += t / static_cast<double>(samples_);
      }
    for (double& t : time) t -= mean;
    return time;
  }

  void look_at_image(Verdict& v) const {
    const auto& n = e_.matrix_size;
    std::vector<double> power(static_cast<std::size_t>(e_.image.size()));
    double all = 0, border = 0, at_border = 0;
    for (Index p = 0; p < e_.image.size(); ++p) {
      const double of = std::norm(value_of(e_.image[p]));
      power[static_cast<std::size_t>(p)] = of, all += of;
      const Index x = p % n[0], y = p / n[0] % n[1], z = p / n[0] / n[1];
      const auto ends = [](Index at, int length) { return length > 1 && (at == 0 || at == length - 1); };
      if (ends(x, n[0]) || ends(y, n[1]) || ends(z, n[2])) border += of, ++at_border;
    }
    v.centre = brightness_of_centre(power);
    const double mean = positive(all / static_cast<double>(e_.image.size()));
    v.border = std::sqrt(border / positive(at_border) / mean);
    const auto tenth = power.begin() + static_cast<std::ptrdiff_t>(power.size() / 10);
    std::nth_element(power.begin(), tenth, power.end());
    double air = 0;
    for (auto it = power.begin(); it != tenth; ++it) air += *it;
    v.air = std::sqrt(air / positive(static_cast<double>(tenth - power.begin())) / mean);
  }

  /// |rho| at the centre of the FOV over the largest elsewhere, 2 voxels and more away.
  double brightness_of_centre(const std::vector<double>& power) const {
    const auto& n = e_.matrix_size;
    double largest = 0;
    for (Index p = 0; p < e_.image.size(); ++p) {
      const Index x = p % n[0] - n[0] / 2, y = p / n[0] % n[1] - n[1] / 2, z = p / n[0] / n[1] - n[2] / 2;
      if (std::max({std::abs(x), std::abs(y), std::abs(z)}) >= 2)
        largest = std::max(largest, power[static_cast<std::size_t>(p)]);
    }
    const Index centre = (Index{n[2] / 2} * n[1] + n[1] / 2) * n[0] + n[0] / 2;
    return largest > 0 ? std::sqrt(power[static_cast<std::size_t>(centre)] / largest) : 0;
  }

  const VerifierInput<T>& e_;
  Index samples_, coils_;
  std::vector<std::uint8_t> shell_of_;
  std::vector<Index> starts_;
  std::array<Energies, shell_radii.size()> shells_{};
  std::vector<Energies> of_coils_;
  std::vector<Gain> readout_gains_, coil_gains_;
  Energies total_;
};

}  // namespace

template <class T>
Verdict judge(const VerifierInput<T>& input) {
  const auto begin = std::chrono::steady_clock::now();
  Judge<T> judge(input);
  Verdict verdict = judge();
  decide(verdict, input.solver_residual);
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return verdict;
}

template Verdict judge<float>(const VerifierInput<float>&);
template Verdict judge<double>(const VerifierInput<double>&);

}  // namespace fhd::validation
