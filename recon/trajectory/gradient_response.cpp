#include "recon/trajectory/gradient_response.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>

#include "recon/array/fft.hpp"
#include "recon/array/parallel_failure.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/trajectory/played_positions.hpp"

namespace fhd {
namespace {

using Index = std::int64_t;
constexpr const char* subject = "gradient response";
constexpr Index columns = Fft1d<double>::wide;

/// u_p . axis of the image, [axis][p].
using Directions = std::array<std::array<double, 3>, 3>;

Directions directions_of(const Geometry& geometry) {
  const Directions directions{geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
  bool is_oblique = false, has_fov = true;
  for (int axis = 0; axis < 3; ++axis) {
    has_fov = has_fov && (geometry.matrix_size[axis] == 1 || geometry.fov_mm[axis] > 0);
    for (const double cosine : directions[axis])
      is_oblique = is_oblique || (std::abs(cosine) > 1e-6 && std::abs(cosine) < 1 - 1e-6);
  }
  if (is_oblique && !has_fov)
    throw Error(subject, "a FOV of the image, which lies oblique to the gradients", "none",
                "give it with " + option_words("fov-mm"));
  return directions;
}

/// Gradients of readouts of one length: how they are laid out in time, and what the system adds to their steps.
class ResponseOfReadouts {
 public:
  ResponseOfReadouts(Index length, double dwell_s, const GradientResponse& response)
      : length_(length),
        lead_(std::clamp<Index>(std::llround(lead_s / dwell_s), 8, 1 << 16)),
        fft_(good_fft_size(static_cast<int>(length + 4 * lead_)),
             columns),  // and rest, for what goes on behind
        difference_({3, fft_.size()}) {
    const Index n = fft_.size();
    bandwidth_ = response.bandwidth_hz() * dwell_s * static_cast<double>(n);
    for (int axis = 0; axis < 3; ++axis) {
      gain_[axis] = response.at(axis, 0).re;
      for (Index j = 0; j < n; ++j) {
        const double hz = static_cast<double>(2 * j > n ? j - n : j) / (static_cast<double>(n) * dwell_s);
        const auto h = response.at(axis, hz) - Complex<double>(gain_[axis], 0);
        difference_[axis * n + j] = 2 * j == n ? Complex<double>(h.re, 0) : h;
      }
    }
  }
  Index buffer_size() const { return fft_.size() * columns; }

  /// The steps of positions q as column `column` of `steps`.
  void lay_out(const double* q, Complex<double>* steps, Index column) const {
    const auto put = [&](Index j, double step) { steps[j * columns + column] = {step, 0}; };
    for (Index j = 0; j < fft_.size(); ++j) put(j, 0);
    if (length_ < 2) return;
    const double before = step_ahead(q, length_), behind = q[length_ - 1] - q[length_ - 2];
    for (Index j = 0; j < lead_; ++j) {
      put(j, before * rise(j));
      put(length_ + 2 * lead_ - 2 - j, behind * rise(j));
    }
    for (Index m = 0; m + 1 < length_; ++m) put(lead_ + m, q[m + 1] - q[m]);
  }

  /// From steps to e_p. Adds |G|^2, and of frequencies beyond the response, to `energy`.
  void respond(Complex<double>* steps, Complex<double>* scratch, const std::vector<int>& axes,
               std::array<double, 2>& energy) const {
    const Index n = fft_.size();
    fft_.forward(steps, scratch);
    for (Index j = 0; j < n; ++j)
      for (std::size_t column = 0; column < axes.size(); ++column) {
        auto& value = steps[j * columns + static_cast<Index>(column)];
        const double size = norm(value);
        energy[0] += size;
        if (static_cast<double>(std::min(j, n - j)) > bandwidth_) energy[1] += size;
        value = difference_[axes[column] * n + j] * (1.0 / static_cast<double>(n)) * value;
      }
    fft_.backward(steps, scratch);
  }

  /// q becomes what was played, by the e_p of its column.
  void play(const Complex<double>* e, Index column, int axis, double* q) const {
    double added = 0;
    for (Index j = 0; j < lead_; ++j) added += e[j * columns + column].re;
    for (Index m = 0; m < length_; ++m) {
      q[m] = gain_[axis] * q[m] + added;
      added += e[(lead_ + m) * columns + column].re;
    }
  }

 private:
  static constexpr double lead_s = 1e-3;
  double rise(Index j) const {
    const double share = (static_cast<double>(j) + 0.5) / (0.5 * static_cast<double>(lead_));
    return share < 1 ? 0.5 - 0.5 * std::cos(std::numbers::pi * share) : 1;
  }

  Index length_, lead_;
  Fft1d<double> fft_;
  Array<Complex<double>> difference_;  ///< H - H(0), [axis][frequency]
  std::array<double, 3> gain_{};       ///< H(0)
  double bandwidth_;                   ///< in frequencies of the FFT
};

/// A readout along one physical axis.
struct Line {
  Index first;
  int axis;
};

/// Lines of readouts of one length; q, [p][sample], becomes what was played.
void play_lines(const std::vector<Line>& lines, const ResponseOfReadouts& response, Index samples, double* q,
                std::array<double, 2>& energy) {
  const auto count = static_cast<Index>(lines.size());
  double all = 0, beyond = 0;
  ParallelFailure failure;
#pragma omp parallel reduction(+ : all, beyond)
  {
    using Buffer = Array<Complex<double>>;
    auto own = failure.made_by([&] {
      return std::array{Buffer({response.buffer_size()}), Buffer({response.buffer_size()})};
    });
    const auto play = [&](Index block) {
      auto& [steps, scratch] = *own;
      const Index begin = block * columns, end = std::min(begin + columns, count);
      const auto of_line = [&](Index i) {
        const Line& line = lines[static_cast<std::size_t>(i)];
        return q + line.axis * samples + line.first;
      };
      std::vector<int> axes;
      for (Index i = begin; i < end; ++i) {
        response.lay_out(of_line(i), steps.data(), i - begin);
        axes.push_back(lines[static_cast<std::size_t>(i)].axis);
      }
      std::array<double, 2> of_block{};
      response.respond(steps.data(), scratch.data(), axes, of_block);
      all += of_block[0], beyond += of_block[1];
      for (Index i = begin; i < end; ++i) response.play(steps.data(), i - begin, axes[i - begin], of_line(i));
    };
#pragma omp for schedule(static)
    for (Index block = 0; block < (count + columns - 1) / columns; ++block)
      if (own) failure.guard([&] { play(block); });
  }
  failure.rethrow();
  energy[0] += all, energy[1] += beyond;
}

/// Between the axes of the image, cycles/FOV, and those of the gradients, cycles/mm; of samples [axis][sample].
Array<double> along_gradients(const Array<double>& k, const Directions& directions,
                              const std::array<double, 3>& fov) {
  const Index samples = k.extent(1);
  Array<double> q({3, samples});
  for (int axis = 0; axis < 3; ++axis)
    for (int p = 0; p < 3; ++p)
      for (Index m = 0; directions[axis][p] != 0 && m < samples; ++m)
        q[p * samples + m] += directions[axis][p] / fov[axis] * k[axis * samples + m];
  return q;
}

}  // namespace

double dwell_time_s(const Scan& scan, const ReadoutStarts& starts) {
  if (!scan.sample_time_s)
    throw Error(subject, "a scan that tells when its samples were taken", "none",
                "an ISMRMRD file states its dwell time (sample_time_us), an fhd HDF5 file /sample_time_s");
  const auto& t = *scan.sample_time_s;
  double sum = 0, count = 0;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    if (starts[j + 1] - starts[j] > 1)
      sum += t[starts[j + 1] - 1] - t[starts[j]], count += starts[j + 1] - starts[j] - 1.0;
  // Times are rounded, those of echoes differently: what is played is the same.
  constexpr double resolution_s = 1e-11;
  const double dwell_s = count > 0 ? std::round(sum / count / resolution_s) * resolution_s : 0;
  bool is_even = dwell_s > 0;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    for (Index m = starts[j]; m + 1 < starts[j + 1]; ++m)
      is_even = is_even && std::abs(t[m + 1] - t[m] - dwell_s) <= 0.01 * dwell_s;
  if (!is_even)
    throw Error(subject, "samples that are evenly spaced in time within their readouts", "others",
                "correct the sample times, or where readouts begin");
  return dwell_s;
}

Trajectory played(const Trajectory& nominal, const Geometry& geometry, const ReadoutStarts& starts,
                  double dwell_s, const GradientResponse& response) {
  const auto directions = directions_of(geometry);
  const auto fov = lengths_of_axes(geometry);
  const Index samples = nominal.sample_count();
  Array<double> q = along_gradients(nominal.k, directions, fov);
  std::map<Index, std::vector<Line>> of_length;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    for (int axis = 0; axis < 3; ++axis) of_length[starts[j + 1] - starts[j]].push_back({starts[j], axis});
  std::array<double, 2> energy{};
  for (const auto& [length, lines] : of_length)
    play_lines(lines, ResponseOfReadouts(length, dwell_s, response), samples, q.data(), energy);
  constexpr double most_beyond = 0.01;
  if (energy[1] > most_beyond * most_beyond * energy[0])
    throw Error(subject, "one that covers the gradients of the scan",
                "one up to " + short_number(response.bandwidth_hz()) + " Hz, above which they have " +
                    short_number(100 * std::sqrt(energy[1] / energy[0])) + " % of their size",
                "measure it at higher frequencies");
  Trajectory result{nominal.k};
  for (int axis = 0; axis < 3; ++axis) {
    if (geometry.matrix_size[axis] == 1) continue;
    for (Index m = 0; m < samples; ++m) {
      double k = 0;
      for (int p = 0; p < 3; ++p) k += directions[axis][p] * q[p * samples + m];
      result.k[axis * samples + m] = fov[axis] * k;
    }
  }
  return result;
}

Scan with_response(Scan scan, const ReadoutStarts& starts, const GradientResponse& response,
                   const ReadoutStarts& of_calibration, BeyondMatrix leaves) {
  const double dwell_s = dwell_time_s(scan, starts);
  auto moved = played(scan.trajectory, scan.geometry, starts, dwell_s, response);
  double farthest = 0;
  for (Index i = 0; i < moved.k.size(); ++i)
    farthest = std::max(farthest, std::abs(moved.k[i] - scan.trajectory.k[i]));
  scan.messages.push_back({"gradient_response", Severity::note,
                           "the gradient response moved samples by up to " + short_number(farthest) +
                               " cycles/FOV along an axis"});
  scan.trajectory = std::move(moved);
  if (scan.calibration)
    scan.calibration->trajectory =
        played(scan.calibration->trajectory, scan.geometry, of_calibration, dwell_s, response);
  return inside_matrix(std::move(scan), leaves == BeyondMatrix::columns ? readout_length(starts) : 0,
                       subject);
}

}  // namespace fhd
