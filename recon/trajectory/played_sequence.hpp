#pragma once
// Positions in k-space that a pulse sequence plays: the integral of its gradients since the last excitation.
//
//     k(t) = integral of G over time since the excitation,   G in Hz/m (gamma / 2 pi times the field's slope), k in 1/m
//
// An excitation sets k to 0 at the centre of its pulse; a refocusing pulse turns k to -k there. The phase that
// off-resonance gathers behaves alike, so the time that counts for it does too: it starts at 0 with an excitation and
// changes its sign with a refocusing pulse. At a spin echo both are 0.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fhd {

/// A gradient of amplitude 1: values at ascending times from the start of the gradient on, straight lines between them, 0
/// before and behind.
struct GradientShape {
  std::vector<double> time_s, value;
  double duration_s = 0;
  bool has_open_ends = false;  ///< the GradientEvent states the values at time 0 and at the duration
};

/// A gradient of a block; no shape: none.
struct GradientEvent {
  std::shared_ptr<const GradientShape> shape;
  double amplitude = 0;        ///< Hz/m
  double first = 0, last = 0;  ///< Hz/m, at the ends of a shape that has open ends
  double delay_s = 0;          ///< from the start of the block
};

/// Adds to areas[i] the integral (1/m) of a gradient from the start of its block until times_s[i]. The times ascend.
void add_areas(const GradientEvent& gradient, std::span<const double> times_s, double* areas);

enum class PulseUse : std::uint8_t { none, excitation, refocusing };

/// Samples of a block: sample i is measured in the middle of its dwell time, delay_s + (i + 1/2) dwell_s.
struct SampleTiming {
  double delay_s = 0, dwell_s = 0;
  std::int64_t count = 0;  ///< 0: none
};

using Rotation = std::array<std::array<double, 3>, 3>;
/// Returns the rotation of a quaternion w, x, y, z, which need not have length 1: v becomes q v conj(q) / |q|^2.
Rotation rotation_of(const std::array<double, 4>& quaternion);

struct SequenceBlock {
  double duration_s = 0;
  std::array<GradientEvent, 3> gradients;  ///< x, y, z
  std::optional<Rotation> rotation;        ///< of the gradients
  PulseUse pulse = PulseUse::none;
  double pulse_s = 0;  ///< centre of the pulse from the start of the block on
  SampleTiming samples;
};

/// Plays blocks one after the other and remembers those with samples.
class PlayedSequence {
 public:
  void play(const SequenceBlock& block);

  std::int64_t acquisition_count() const { return static_cast<std::int64_t>(acquisitions_.size()); }
  std::int64_t sample_count(std::int64_t acquisition) const { return at(acquisition).block.samples.count; }
  /// Returns whether an excitation comes before the first sample of an acquisition: else its times count from the start of the
  /// sequence.
  bool is_excited(std::int64_t acquisition) const { return at(acquisition).is_excited; }
  /// Returns the time of sample 0 since the start of the sequence, s.
  double start_s(std::int64_t acquisition) const;
  double dwell_s(std::int64_t acquisition) const { return at(acquisition).block.samples.dwell_s; }
  double duration_s() const { return static_cast<double>(time_s_); }
  std::int64_t count_of(PulseUse use) const { return counts_[static_cast<std::size_t>(use)]; }

  /// Computes k (1/m) of the samples [first, first + count) of an acquisition into k[axis], and their times since the
  /// excitation (s) into times_s. Each has room for `count` numbers.
  void sample(std::int64_t acquisition, std::int64_t first, std::int64_t count,
              const std::array<double*, 3>& k, double* times_s) const;
  /// Computes the times alone.
  void times(std::int64_t acquisition, std::int64_t first, std::int64_t count, double* times_s) const;

 private:
  /// Position and time since the excitation.
  using State = std::array<double, 4>;
  struct Acquisition {
    SequenceBlock block;
    State start;              ///< at the start of the block
    long double block_s = 0;  ///< start of the block since that of the sequence
    bool is_excited = false;
  };
  const Acquisition& at(std::int64_t acquisition) const {
    return acquisitions_[static_cast<std::size_t>(acquisition)];
  }
  static void add_starts(const Acquisition& played, std::int64_t count, const std::array<double*, 3>& k,
                         double* times_s);

  std::vector<Acquisition> acquisitions_;
  std::array<std::int64_t, 3> counts_{};  ///< of pulses, by use
  State state_{};
  long double time_s_ = 0;  ///< a million blocks add up to less than 1 ns of rounding
  bool is_excited_ = false;
};

}  // namespace fhd
