#include "io/scan/mrd/epi_ghost.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace fhd::io::mrd {
namespace {

Complex<double> phasor(double angle) { return {std::cos(angle), std::sin(angle)}; }
double argument(Complex<double> value) { return std::atan2(value.im, value.re); }

/// Returns the voxel of element i of an FFT of n, from the middle.
int voxel(std::int64_t i, std::int64_t n) { return static_cast<int>(i < (n + 1) / 2 ? i : i - n); }

/// Transforms lines [coil][sample] to profiles [x][coil], x in the order of the FFT.
Array<Complex<double>> profiles_of(const Array<Complex<double>>& lines) {
  const auto coils = lines.extent(0), samples = lines.extent(1);
  Array<Complex<double>> profiles({samples, coils});
  for (std::int64_t s = 0; s < samples; ++s)
    for (std::int64_t coil = 0; coil < coils; ++coil) profiles[s * coils + coil] = lines[coil * samples + s];
  Array<Complex<double>> scratch(profiles.shape());
  Fft1d<double>(static_cast<int>(samples), static_cast<int>(coils)).backward(profiles.data(), scratch.data());
  return profiles;
}

}  // namespace

std::optional<GhostPhase> ghost_phase(const Array<Complex<double>>& forward,
                                      const Array<Complex<double>>& reversed) {
  const auto coils = forward.extent(0), samples = forward.extent(1);
  const auto a = profiles_of(forward), b = profiles_of(reversed);
  std::vector<Complex<double>> product(static_cast<std::size_t>(samples));  // D, by ascending x
  for (std::int64_t i = 0; i < samples; ++i)
    for (std::int64_t coil = 0; coil < coils; ++coil)
      product[static_cast<std::size_t>(voxel(i, samples) + samples / 2)] +=
          a[i * coils + coil] * conj(b[i * coils + coil]);
  GhostPhase phase;
  Complex<double> slope{}, mean{};
  for (std::size_t x = 1; x < product.size(); ++x) slope += product[x] * conj(product[x - 1]);
  phase.slope_rad = argument(slope);
  const auto place = [&](std::size_t x) { return static_cast<double>(x) - static_cast<double>(samples / 2); };
  for (std::size_t x = 0; x < product.size(); ++x) mean += product[x] * phasor(-phase.slope_rad * place(x));
  if (!(norm(mean) > 0)) return std::nullopt;
  phase.offset_rad = argument(mean);

  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;  // what is left is small
  for (std::size_t x = 0; x < product.size(); ++x) {
    const double weight = abs(product[x]), at = place(x),
                 rest = argument(product[x] * phasor(-phase.offset_rad - phase.slope_rad * at));
    w += weight, wx += weight * at, wxx += weight * at * at;
    wy += weight * rest, wxy += weight * at * rest;
  }
  if (const double determinant = w * wxx - wx * wx; determinant > 0) {
    phase.slope_rad += (w * wxy - wx * wy) / determinant;
    phase.offset_rad += (wxx * wy - wx * wxy) / determinant;
  }
  return phase;
}

void MirrorTest::add(const Array<Complex<double>>& line) {
  const auto coils = line.extent(0), samples = line.extent(1);
  const auto profiles = profiles_of(line);
  std::vector<double> now;
  for (const auto& value : profiles) now.push_back(abs(value));
  if (count_++ > 0) {
    double own = 0, before = 0;
    for (std::int64_t i = 0; i < samples; ++i)
      for (std::int64_t coil = 0; coil < coils; ++coil) {
        const auto at = static_cast<std::size_t>(i * coils + coil),
                   across = static_cast<std::size_t>((samples - i) % samples * coils + coil);
        as_they_are_ += now[at] * last_[at], mirrored_ += now[at] * last_[across];
        own += now[at] * now[at], before += last_[at] * last_[at];
      }
    most_ += std::sqrt(own * before);
  }
  last_ = std::move(now);
}

bool MirrorTest::is_likely() const {
  constexpr double different = 0.02, share = 0.8;  // lines of a phantom: 0.5 to 0.7; navigators: 0
  const double direct = most_ - as_they_are_, across = most_ - mirrored_;
  return count_ > 1 && direct > different * most_ && across < share * direct;
}

GhostCorrection::GhostCorrection(const GhostPhase& phase, int sample_count, int coil_count)
    : fft_(sample_count, coil_count),
      phasors_({sample_count}),
      line_({sample_count, coil_count}),
      scratch_(line_.shape()) {
  for (std::int64_t i = 0; i < sample_count; ++i) {
    phasors_[i] = phasor(phase.offset_rad + phase.slope_rad * voxel(i, sample_count));
    phasors_[i] *= 1.0 / sample_count;
  }
}

void GhostCorrection::apply(Array<Complex<float>>& values, std::int64_t m) {
  const auto coils = line_.extent(1), count = line_.extent(0), samples = values.extent(1);
  const auto at = [&](std::int64_t s, std::int64_t coil) -> Complex<float>& {
    return values[coil * samples + m + count - 1 - s];  // ascending k
  };
  for (std::int64_t s = 0; s < count; ++s)
    for (std::int64_t coil = 0; coil < coils; ++coil) line_[s * coils + coil] = Complex<double>(at(s, coil));
  fft_.backward(line_.data(), scratch_.data());
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t coil = 0; coil < coils; ++coil)
      line_[i * coils + coil] = line_[i * coils + coil] * phasors_[i];
  fft_.forward(line_.data(), scratch_.data());
  for (std::int64_t s = 0; s < count; ++s)
    for (std::int64_t coil = 0; coil < coils; ++coil)
      at(s, coil) = static_cast<Complex<float>>(line_[s * coils + coil]);
}

}  // namespace fhd::io::mrd
