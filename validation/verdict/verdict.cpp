#include "validation/verdict/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <optional>
#include <vector>

#include "recon/array/thread_limit.hpp"
#include "validation/ordered_sum.hpp"
#include "validation/verdict/arm_tests.hpp"
#include "validation/verdict/data_findings.hpp"
#include "validation/verdict/data_tests.hpp"
#include "validation/verdict/energies.hpp"
#include "validation/verdict/hypotheses.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/left_over.hpp"
#include "validation/verdict/line_causes.hpp"
#include "validation/verdict/ordinary.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

using Value = std::complex<double>;

/// Returns the times of the samples, s, about their mean; without sample times the share of the readout behind a sample.
std::vector<double> times(const VerifierInput<float>& e, const std::vector<Index>& starts) {
  const Index samples = e.trajectory.sample_count();
  std::vector<double> time(static_cast<std::size_t>(samples));
  double mean = 0;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    for (Index m = starts[j]; m < starts[j + 1]; ++m) {
      auto& t = time[static_cast<std::size_t>(m)];
      t = e.sample_time_s
              ? (*e.sample_time_s)[m]
              : static_cast<double>(m - starts[j]) / static_cast<double>(starts[j + 1] - starts[j]);
      mean += t / static_cast<double>(samples);
    }
  for (double& t : time) t -= mean;
  return time;
}

/// Measures border and air of the image.
void look_at_image(const VerifierInput<float>& e, Verdict& v) {
  const auto& n = e.matrix_size;
  const Index lines = Index{n[1]} * n[2], voxels = n[0] * lines;
  const auto power = [&](Index p) {  // of all sets of maps
    double sum = 0;
    for (Index i = p; i < e.image.size(); i += voxels) sum += std::norm(value_of(e.image.data()[i]));
    return sum;
  };
  const auto is_end = [](Index at, int length) { return length > 1 && (at == 0 || at == length - 1); };
  struct Sums {
    double border = 0, all = 0, at_border = 0;
    Sums& operator+=(const Sums& other) {
      border += other.border, all += other.all, at_border += other.at_border;
      return *this;
    }
  };
  const auto [border, all, at_border] = sum_of_parts(lines, Sums{}, [&](Index begin, Index end, Sums& sum) {
    for (Index line = begin; line < end; ++line) {
      const bool is_border = is_end(line % n[1], n[1]) || is_end(line / n[1], n[2]);
      for (Index x = 0; x < n[0]; ++x) {
        const double of = power(line * n[0] + x);
        sum.all += of;
        if (is_border || is_end(x, n[0])) sum.border += of, ++sum.at_border;
      }
    }
  });
  const double mean = positive(all / static_cast<double>(voxels));
  v.border = std::sqrt(border / positive(at_border) / mean);
  std::vector<double> some;  // the darkest tenth of a hundred thousand voxels is that of all
  for (Index p = 0; p < voxels; p += 1 + voxels / 100'000) some.push_back(power(p));
  const auto tenth = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 10);
  std::nth_element(some.begin(), tenth, some.end());
  const double air = std::accumulate(some.begin(), tenth, 0.0);
  v.air = std::sqrt(air / positive(static_cast<double>(tenth - some.begin())) / mean);
}

/// Adds a constant of the receiver, where it is more than objects have and much of what is left over.
void add_offset(const VerifierInput<float>& e, const EnergyTable& table, Verdict& v) {
  constexpr double most = 0.999;  // 1 is what samples show by themselves (shown_by_samples)
  v.offset = offset_of(e, table);
  const double share = v.offset * v.offset * table.total.data / positive(table.total.rest);
  if (v.offset > offset_of_objects && share > 0.1)
    v.changes.push_back(
        {"offset", fmt::format("a constant offset of the receiver of {:.2g} % of the signal", 100 * v.offset),
         100 * v.offset, 0, "%", std::min(most, share)});
}

/// Adds what one factor for each readout, and for each coil, would explain.
void compare_gains(const EnergyTable& table, Verdict& v) {
  double amplitude = 0, phase = 0, coils = 0, weight = 0, largest = 0, count = 0;
  for (const Energies& readout : table.readouts) {
    if (readout.prediction <= 0) continue;
    ++count, weight += readout.prediction;
    amplitude += std::pow(readout.product.real(), 2) / readout.prediction;
    phase += std::pow(readout.product.imag(), 2) / readout.prediction;
  }
  const auto add = [&](const char* code, const std::string& what, double amount, const char* unit,
                       double explained, double parameters) {
    v.changes.push_back({code, fmt::format("{} differs by {:.2g} {}", what, amount, unit), amount, 0, unit,
                         share_of_rest(table, explained, parameters, v.noise_variance)});
  };
  if (count > 1) {
    add("signal", "the signal of the readouts", 100 * std::sqrt(amplitude / positive(weight)), "%", amplitude,
        count / 2);
    add("phase", "the phase of the readouts", std::sqrt(phase / positive(weight)) * 180 / std::numbers::pi,
        "degrees", phase, count / 2);
  }
  for (const Energies& coil : table.coils) {
    if (coil.prediction <= 0) continue;
    coils += std::norm(coil.product) / coil.prediction;
    largest = std::max(largest, std::abs(coil.product) / coil.prediction);
  }
  if (table.coils.size() > 1) add("gain", "the gain of a coil", 100 * largest, "%", coils, 1);
}

/// Adds the change of the field map that the residual r asks for: the step Re <v, r> / |v|^2 along v = -i t E (omega
/// rho).
void try_field_map(const VerifierInput<float>& e, const EnergyTable& table, Verdict& v) {
  Array<Complex<float>> turned(e.image.shape());
  for (Index p = 0; p < turned.size(); ++p) {
    const auto omega = static_cast<float>((*e.field_map)[p]);
    turned[p] = {omega * e.image[p].re, omega * e.image[p].im};
  }
  const auto seen = e.encode(turned);
  const Index samples = e.trajectory.sample_count();
  struct Sums {
    double onto = 0, square = 0;
    Sums& operator+=(const Sums& other) {
      onto += other.onto, square += other.square;
      return *this;
    }
  };
  const auto [onto, square] =
      sum_of_parts(e.coil_count * samples, Sums{}, [&](Index begin, Index end, Sums& sum) {
        for (Index i = begin; i < end; ++i) {
          const Value change = Value(0, -(*e.sample_time_s)[i % samples]) * value_of(seen.data()[i]),
                      r = rest_of(e, i);
          sum.onto += change.real() * r.real() + change.imag() * r.imag();
          sum.square += std::norm(change);
        }
      });
  if (square <= 0) return;
  const double amount = 100 * onto / square, uncertainty = 100 * std::sqrt(v.noise_variance / 2 / square);
  v.changes.push_back(make_finding(
      "field_map",
      fmt::format("the field map should be {:.0f} \u00b1 {:.1g} % {}", std::abs(amount), uncertainty,
                  amount < 0 ? "smaller" : "larger"),
      amount, uncertainty, "%", share_of_rest(table, onto * onto / square, 1, v.noise_variance)));
}

/// Divides the central samples by the factors of contrast, so that changes beside it are tested. Returns the share of
/// what is left over that stays.
double take_off_contrast(const ArmFindings& arms, CentralSamples& s) {
  const double before = energy(s.rest) / positive(energy(s.data));
  std::vector<Complex<double>> of_readout(static_cast<std::size_t>(s.readout_count), Complex<double>(1));
  for (std::size_t arm = 0; arm < arms.numbers.size(); ++arm)
    of_readout[static_cast<std::size_t>(arms.numbers[arm])] = arms.contrast[arm];
  constexpr double least_square = 0.01;  // readouts of less signal are not raised to that of the others
  const Index coils = s.data.extent(1);
  for (Index i = 0; i < s.data.size(); ++i) {
    const auto& g = of_readout[static_cast<std::size_t>(s.readouts[static_cast<std::size_t>(i / coils)])];
    s.data[i] = 1 / std::max(norm(g), least_square) * (s.data[i] * conj(g));
  }
  const CentreModel model(s, s.data, Pattern(s.group_count()));
  if (model.is_regular()) s.rest = model.rest();
  return std::min(1.0, energy(s.rest) / positive(energy(s.data)) / positive(before));
}

/// Takes the cause that arms show, unless a test explains more, or the same with a better size, or samples show
/// another one: a lost readout, which has another energy in any order. What else was found in readouts that are out
/// of order or moved goes.
void add_cause_of_arms(ArmFindings arms, std::vector<Finding>& in_data, Verdict& v) {
  constexpr double nearly_all = 0.8;
  const auto is_of_samples = [](const Finding& f) {
    return f.code == "imaginary" || f.code == "spikes" || f.code == "wrapped" ||
           (f.code == "odd_readouts" && f.share >= shown_by_samples);
  };
  if (!arms.cause || std::any_of(in_data.begin(), in_data.end(), is_of_samples)) return;
  const bool is_same = v.cause && v.cause->code == arms.cause->code;
  if (v.cause && v.cause->share >= (is_same ? nearly_all : arms.share)) return;
  in_data.clear();
  v.changes.push_back(*arms.cause);
  v.cause = std::move(arms.cause);
}

/// Fills what ordinary scans leave over, where more is left than of simulated scans that are right or a cause is
/// suspected. `beside_contrast`: the share of the rest that `centre` holds.
void judge_beside_ordinary(const VerifierInput<float>& e, Centre& centre, double beside_contrast,
                           Verdict& v) {
  if (v.unexplained <= right_limit && !v.cause) return;
  // In 3D the wide image takes seconds.
  const bool seeks_outside =
      reaches_border(v.border) && (e.matrix_size[2] == 1 || v.unexplained > unexplained_limit);
  auto found = ordinary_rest(centre, e.matrix_size, e.sample_time_s != nullptr, seeks_outside ? v.border : 0,
                             v.noise_variance);
  for (auto& source : found.sources) source.share *= beside_contrast;
  found.share *= beside_contrast;
  v.ordinary = std::move(found.sources);
  const auto is_outside = [](const Finding& source) {
    return source.code == codes::outside_fov && source.share > mostly_outside;
  };
  const bool is_mostly_outside = std::any_of(v.ordinary.begin(), v.ordinary.end(), is_outside);
  v.ordinary_limit = ordinary_limit(found.share, is_mostly_outside ? most_outside : most_ordinary);
  // Where no source can be sought, and a part of the data alone tests the image, that part counts as what it is of
  // the signal.
  if (!found.is_known) v.ordinary_limit /= std::sqrt(std::clamp(v.tested, 0.25, 1.0));
}

}  // namespace

Verdict weigh(const VerifierInput<float>& input, EnergyTable& table) {
  Verdict verdict;
  estimate_noise(input, table, verdict);
  weigh_shells(table, verdict);
  if (verdict.unexplained > unexplained_limit / 2 && input.encode && input.maps != nullptr) {
    take_off_shrinkage(input, table);
    estimate_noise(input, table, verdict);
    weigh_shells(table, verdict);
  }
  return verdict;
}

namespace {

/// Holds what is known of a volume.
struct Judged final : JudgedVolume {
  Verdict verdict;
  EnergyTable table;
  double unit = 1;                                   ///< of the samples
  std::shared_ptr<const std::vector<Index>> starts;  ///< of readouts
};

/// Returns whether a volume leaves over no more than another one in every shell, coil and readout, but for noise, and
/// holds at least half of its signal there: of n complex values the sum of squares varies by 1 / sqrt(n).
bool leaves_no_more(const Judged& volume, const Judged& other) {
  constexpr double little = 1.1, deviations = 5;
  const double scale = std::pow(other.unit / volume.unit, 2);
  const auto each = [&](const auto& parts, const auto& others) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double most = little + deviations / std::sqrt(std::max(1.0, parts[i].count));
      if (!(scale * parts[i].rest <= most * others[i].rest) || scale * parts[i].data < others[i].data / 2)
        return false;
    }
    return true;
  };
  return each(volume.table.shells, other.table.shells) && each(volume.table.coils, other.table.coils) &&
         each(volume.table.readouts, other.table.readouts);
}

/// Gives a volume the findings of the first one, where it leaves over no more, and as much where the first is not
/// explained.
bool take_findings(const Judged& first, Judged& volume) {
  const Verdict& from = first.verdict;
  const bool is_quiet = !from.cause && from.judgement != Verdict::Judgement::unexplained &&
                        from.judgement != Verdict::Judgement::varies;
  if (!leaves_no_more(volume, first) || !(is_quiet || leaves_no_more(first, volume))) return false;
  Verdict& v = volume.verdict;
  v.changes = from.changes, v.cause = from.cause, v.offset = from.offset;
  v.ordinary = from.ordinary, v.ordinary_limit = from.ordinary_limit;
  return true;
}

/// Finds what is wrong with a volume by all tests.
void test_all(const VerifierInput<float>& input, const std::vector<Index>& starts, const EnergyTable& table,
              Verdict& verdict) {
  const auto time = times(input, starts);
  add_offset(input, table, verdict);
  compare_gains(table, verdict);
  if (table.total.rest > 0 && input.encode && input.field_map) try_field_map(input, table, verdict);
  ArmComparison comparison(input, starts, verdict.noise_variance);
  auto arms = comparison.factors();
  auto central = central_samples(input, starts, time);
  double beside_contrast = 1;
  if (!arms.contrast.empty() && !central.empty()) beside_contrast = take_off_contrast(arms, central);
  Centre centre(std::move(central));
  auto tests = test_hypotheses(input, starts, time, verdict.noise_variance, centre);
  verdict.changes.insert(verdict.changes.end(), tests.changes.begin(), tests.changes.end());
  verdict.cause = std::move(tests.cause);
  constexpr double no_doubt = 0.9;  // of what is left over: a search would find nothing better
  if ((!arms.cause || !arms.contrast.empty()) && !(verdict.cause && verdict.cause->share > no_doubt))
    if (auto found = comparison.search(); found.cause) arms = std::move(found);
  auto in_data = findings_in_data(input, starts, verdict);
  const auto is_of_samples =
      [](const Finding& finding) {     // of a few samples, or of all in the same way: no line is odd
        constexpr double much = 0.05;  // of the image
        // Energies show an order of all lines: it makes neighbours of lines that are none.
        const bool is_order_of_all =
            finding.share >= shown_by_samples &&
            (finding.code == "exchange" || finding.code == "unencoded" || finding.code == "window");
        return finding.code == "wrapped" || finding.code == "imaginary" || finding.code == "spikes" ||
               is_order_of_all || (finding.code == "tone" && finding.image_change >= much);
      };
  std::optional<Finding> of_lines;
  if (std::none_of(in_data.begin(), in_data.end(), is_of_samples))
    of_lines = cause_in_lines(input, starts, verdict.unexplained);
  if (of_lines)
    verdict.cause = std::move(of_lines), in_data.clear();
  else
    add_cause_of_arms(std::move(arms), in_data, verdict);
  for (auto& finding : in_data) verdict.changes.push_back(std::move(finding));
  look_at_image(input, verdict);
  judge_beside_ordinary(input, centre, beside_contrast, verdict);
  const bool is_quiet = verdict.unexplained <= std::max(unexplained_limit, verdict.ordinary_limit) &&
                        !verdict.cause && !mistake_in_data(verdict);
  if (auto weights = is_quiet ? weights_in(centre.samples(), table) : std::nullopt)
    verdict.changes.push_back(std::move(*weights));
}

/// `first`: a volume with the same E; null: none.
Judged judge_one(const VerifierInput<float>& input, const Judged* first) {
  const auto begin = std::chrono::steady_clock::now();
  Judged judged;
  auto& [verdict, table, unit, starts] = judged;
  unit = input.sample_scale;
  starts =
      first ? first->starts : std::make_shared<const std::vector<Index>>(readout_starts(input.trajectory));
  table = energies_of(input,
                      first ? first->table.samples : shells_of(input.trajectory, input.matrix_size, *starts));
  verdict = weigh(input, table);
  divide_by_readouts(table, verdict);
  // Tests of hypotheses know positions and a field map: what fields or decay leave would be taken for a mistake.
  if (input.full_equation || (first && take_findings(*first, judged)))
    look_at_image(input, verdict);
  else
    test_all(input, *starts, table, verdict);
  decide(verdict, input.solver_residual, input.iterations);
  verdict.noise_variance /= unit * unit;
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return judged;
}

/// Returns an input whose image is of single precision, which tells as much: limits are 1e-5 of |d|^2 and more.
VerifierInput<float> rounded(const VerifierInput<double>& e) {
  VerifierInput<float> single{.trajectory = e.trajectory,
                              .matrix_size = e.matrix_size,
                              .samples = e.samples,
                              .sample_scale = e.sample_scale,
                              .maps = e.maps,
                              .map_scale = e.map_scale,
                              .samples_in_double = e.samples_in_double,
                              .second_maps = e.second_maps,
                              .coil_count = e.coil_count,
                              .field_map = e.field_map,
                              .sample_time_s = e.sample_time_s,
                              .full_equation = e.full_equation,
                              .image = converted<Complex<float>>(e.image),
                              .predicted = converted<Complex<float>>(e.predicted),
                              .solver_residual = e.solver_residual,
                              .iterations = e.iterations,
                              .noise = e.noise};
  if (e.encode)
    single.encode = [&e](const auto& image) {
      return converted<Complex<float>>(e.encode(converted<Complex<double>>(image)));
    };
  return single;
}

}  // namespace

std::vector<Verdict> judge(const std::vector<VerifierInput<float>>& inputs,
                           std::shared_ptr<const JudgedVolume>& beside) {
  std::vector<Verdict> verdicts(inputs.size());
  if (inputs.empty()) return verdicts;
  const std::size_t begin = beside ? 0 : 1;
  if (!beside) beside = std::make_shared<const Judged>(judge_one(inputs.front(), nullptr));
  const auto& first = static_cast<const Judged&>(*beside);
  if (begin == 1) verdicts.front() = first.verdict;
  for_each_in_parallel(inputs.size() - begin, [&](std::size_t v) {
    verdicts[v + begin] = judge_one(inputs[v + begin], &first).verdict;
  });
  return verdicts;
}

std::vector<Verdict> judge(const std::vector<VerifierInput<double>>& inputs,
                           std::shared_ptr<const JudgedVolume>& beside) {
  std::vector<VerifierInput<float>> in_single;
  for (const auto& input : inputs) in_single.push_back(rounded(input));
  return judge(in_single, beside);
}

}  // namespace fhd::validation
