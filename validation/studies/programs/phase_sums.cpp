// Sums with 16 harmonics and off-resonance on a GPU: times, and errors against sums in double at random places.
// Usage: phase_sums. Results: validation/results.
//
// Positions of k are random in all of k-space, harmonics of second order reach 30 rad a term, of third 10, off-resonance 100.
// "displaced": voxels lie off the grid, so that no term is affine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>
#include <vector>

#include "recon/array/device.hpp"
#include "recon/transform/phase/phase.hpp"

namespace {

using namespace fhd;
constexpr std::int64_t terms = 17;
constexpr double turn = 2 * std::numbers::pi;

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  double operator()() { return generator_() * 0x1p-32 - 0.5; }

 private:
  std::mt19937 generator_;
};

/// The harmonics of second and third order at x, y, z in -1 ... 1, each at most about 1.
std::vector<double> harmonics(double x, double y, double z) {
  const double r2 = x * x + y * y + z * z;
  return {x * y,
          z * y,
          (3 * z * z - r2) / 2,
          x * z,
          x * x - y * y,
          (3 * y * x * x - y * y * y) / 2,
          x * y * z,
          (5 * z * z - r2) * y / 4,
          (5 * z * z * z - 3 * z * r2) / 4,
          (5 * z * z - r2) * x / 4,
          x * x * z - y * y * z,
          (x * x * x - 3 * x * y * y) / 2};
}

PhaseTerms problem(std::array<int, 3> n, std::int64_t samples, bool on_grid) {
  const std::int64_t voxels = std::int64_t{n[0]} * n[1] * n[2];
  PhaseTerms made{Array<double>({terms, samples}), Array<double>({terms, voxels}), {}, {}};
  Random random(1);
  const double longest = *std::max_element(n.begin(), n.end());
  for (std::int64_t p = 0; p < voxels; ++p) {
    const std::int64_t index[3] = {p % n[0], p / n[0] % n[1], p / n[0] / n[1]};
    double r[3], scaled[3];
    for (int axis = 0; axis < 3; ++axis) {
      const auto size = n[static_cast<std::size_t>(axis)];
      r[axis] = static_cast<double>(index[axis] - size / 2) / size;
      if (!on_grid) r[axis] += 0.3 / size * std::sin(3 * r[axis] + 5 * r[0]);
      scaled[axis] = 2 * r[axis] * size / longest;
    }
    const auto higher = harmonics(scaled[0], scaled[1], scaled[2]);
    made.basis[p] = 1;
    for (int axis = 0; axis < 3; ++axis) made.basis[(1 + axis) * voxels + p] = r[axis];
    for (std::int64_t l = 0; l < 12; ++l)
      made.basis[(4 + l) * voxels + p] = higher[static_cast<std::size_t>(l)];
    made.basis[16 * voxels + p] = 0.8 * std::sin(5 * r[0] + 1) * std::cos(4 * r[1]) + 0.2 * random();
  }
  for (std::int64_t m = 0; m < samples; ++m) {
    const double t = static_cast<double>(m) / static_cast<double>(samples);
    made.coefficients[m] = turn * random();
    for (int axis = 0; axis < 3; ++axis)
      made.coefficients[(1 + axis) * samples + m] = turn * n[static_cast<std::size_t>(axis)] * random();
    for (std::int64_t l = 0; l < 12; ++l)
      made.coefficients[(4 + l) * samples + m] =
          (l < 5 ? 30 : 10) * t *
          std::cos(turn * (static_cast<double>(3 + l) * t + 0.37 * static_cast<double>(l)));
    made.coefficients[16 * samples + m] = 100 * t;
  }
  return made;
}

template <class T>
Array<Complex<T>> random_values(Shape shape) {
  Random random(2);
  Array<Complex<T>> values(shape);
  for (auto& value : values) value = {static_cast<T>(random()), static_cast<T>(random())};
  return values;
}

/// Relative l2 error of the last coil at some rows; sign: of the exponent.
template <class T>
double error_of(const Array<double>& rows, const Array<double>& columns, double sign,
                const Array<Complex<T>>& in, const Array<Complex<T>>& out) {
  constexpr int places = 64;
  const std::int64_t row_count = rows.extent(1), column_count = columns.extent(1),
                     first_in = in.size() - column_count, first_out = out.size() - row_count;
  double squares = 0, all = 0;
#pragma omp parallel for reduction(+ : squares, all)
  for (int place = 0; place < places; ++place) {
    const std::int64_t i = (row_count - 1) * place / (places - 1);
    Complex<double> sum;
    for (std::int64_t j = 0; j < column_count; ++j) {
      double turns = 0;
      for (std::int64_t l = 0; l < terms; ++l)
        turns += rows[l * row_count + i] * columns[l * column_count + j] / turn;
      const double rad = sign * turn * (turns - std::rint(turns));
      sum += Complex<double>(in[first_in + j]) * Complex<double>(std::cos(rad), std::sin(rad));
    }
    squares += norm(Complex<double>(out[first_out + i]) - sum), all += norm(sum);
  }
  return std::sqrt(squares / all);
}

template <class Work>
double median_ms(const Work& work) {
  double ms[3];
  for (double& one : ms) {
    device::Event start(device::Event::Timing::on), stop(device::Event::Timing::on);
    start.record(), work(), stop.record();
    one = stop.ms_since(start);
  }
  std::sort(ms, ms + 3);
  return ms[1];
}

template <class T>
void measure(std::array<int, 3> n, std::int64_t samples, bool on_grid, const std::vector<int>& coil_counts,
             const char* name, GpuSums choice = GpuSums::automatic) {
  const auto made = problem(n, samples, on_grid);
  const auto transform = make_phase_transform<T>(made, n, Device::cuda(), choice);
  for (const int coils : coil_counts)
    for (const bool forward : {false, true}) {
      const auto in =
          random_values<T>(forward ? transform->images_shape(coils) : transform->samples_shape(coils));
      const auto on_device = in.to(Device::cuda());
      Array<Complex<T>> out(forward ? transform->samples_shape(coils) : transform->images_shape(coils),
                            Device::cuda());
      const auto work = [&] {
        forward ? transform->forward(on_device, out) : transform->adjoint(on_device, out);
      };
      work();
      const auto found = out.to(Device::cpu());
      const double error = forward ? error_of(made.coefficients, made.basis, -1, in, found)
                                   : error_of(made.basis, made.coefficients, 1, in, found),
                   ms = median_ms(work),
                   pairs_per_s =
                       static_cast<double>(made.basis.extent(1)) * static_cast<double>(samples) / ms * 1e3;
      std::printf(
          "%-22s %-9s %3d x %3d x %2d, %lld samples, %2d coils, %s %9.2f ms  %.2e pairs/s  error %.1e\n",
          name, on_grid ? "grid" : "displaced", n[0], n[1], n[2], static_cast<long long>(samples), coils,
          forward ? "F  " : "F^H", ms, pairs_per_s, error);
      std::fflush(stdout);
    }
}

}  // namespace

int main() {
  std::printf("%s\n", device::start(Device::cuda()).text().c_str());
  const CurrentDevice current(Device::cuda());
  measure<double>({64, 64, 32}, 4096, true, {1, 8}, "double, pair by pair");
  measure<float>({64, 64, 32}, 65536, true, {1, 8}, "single, pair by pair", GpuSums::accurate);
  for (const bool on_grid : {true, false})
    measure<float>({64, 64, 32}, 65536, on_grid, {1, 4, 8, 16, 32}, "single, tensor cores");
  measure<float>({128, 128, 64}, 65536, true, {1, 8, 32}, "single, tensor cores");
}
