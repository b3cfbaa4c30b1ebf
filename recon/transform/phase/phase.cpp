#include "recon/transform/phase/phase.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "recon/array/execution.hpp"
#include "recon/transform/phase/phase_backends.hpp"
#include "recon/transform/phase/two_components.hpp"
#include "recon/transform/phase/voxel_choice.hpp"

namespace fhd {
namespace {

constexpr double most_phase_rad = 1e5, most_growth = 60;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

void require_finite(const Array<double>& values, std::string_view name) {
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto wrong = values.size() - std::count_if(values.begin(), values.end(), finite);
  if (wrong > 0)
    throw Error(
        name, "finite numbers",
        "NaN or infinity in " + std::to_string(wrong) + " of " + std::to_string(values.size()) + " values");
}

/// max |value| of each row of [row][column].
std::vector<double> largest_of_rows(const Array<double>& values) {
  std::vector<double> largest(static_cast<std::size_t>(values.extent(0)));
  const std::int64_t columns = values.extent(1);
  for (std::int64_t row = 0; row < values.extent(0); ++row)
    for (std::int64_t i = 0; i < columns; ++i)
      largest[static_cast<std::size_t>(row)] =
          std::max(largest[static_cast<std::size_t>(row)], std::abs(values[row * columns + i]));
  return largest;
}

void require_rates(const Array<double>& rates, std::int64_t voxels, const Array<double>& time_s) {
  require_finite(rates, "decay");
  require_shape(rates, {voxels}, "decay");
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  if (*least < 0) throw Error("decay", "rates >= 0 in 1/s", number_text(*least));
  const double first = *std::min_element(time_s.begin(), time_s.end());
  if (*most * -first > most_growth)
    throw Error("decay", "R t above " + number_text(-most_growth), number_text(*most * first),
                "rates are in 1/s and times in s, from the excitation on");
}

void require_decay(const PhaseTerms& terms, std::int64_t voxels, std::int64_t samples) {
  require_finite(terms.sample_time_s, "sample times");
  const bool has_second = !terms.second_decay_per_s.empty() || !terms.fraction.empty();
  if (terms.decay_per_s.empty() && !has_second) return;
  require_shape(terms.sample_time_s, {samples}, "sample times");
  require_rates(terms.decay_per_s, voxels, terms.sample_time_s);
  if (!has_second) return;
  require_rates(terms.second_decay_per_s, voxels, terms.sample_time_s);
  require_finite(terms.fraction, "fraction of decay");
  require_shape(terms.fraction, {voxels}, "fraction of decay");
  const auto [least, most] = std::minmax_element(terms.fraction.begin(), terms.fraction.end());
  if (*least < 0 || *most > 1)
    throw Error("fraction of decay", "0 ... 1", number_text(*least < 0 ? *least : *most));
}

void require_numbers(const std::vector<std::int64_t>& numbers, std::int64_t voxels) {
  if (numbers.empty()) return;
  if (numbers.front() < 0 || numbers.back() >= voxels || !std::ranges::is_sorted(numbers, std::less_equal()))
    throw Error("voxels that are summed", "ascending numbers from 0 to " + std::to_string(voxels - 1),
                "others");
}

/// Returns the sums over the voxels that are summed, of images [coil][1][1][voxel] of them if these are not all.
template <class T>
std::unique_ptr<FourierTransform<T>> sums_of(const PhaseTerms& terms, std::array<int, 3> matrix_size,
                                             Device device, GpuSums choice) {
  const auto& voxels = terms.summed_voxels;
  if (!terms.fraction.empty()) {
    PhaseTerms first = terms, second = terms;
    second.decay_per_s = terms.second_decay_per_s;
    for (PhaseTerms* each : {&first, &second}) each->second_decay_per_s = each->fraction = {};
    return sum_of_components<T>(sums_of<T>(first, matrix_size, device, choice),
                                sums_of<T>(second, matrix_size, device, choice),
                                summed_of(terms.fraction, voxels));
  }
  if (device.is_cuda()) {
    if constexpr (built_with_cuda) return make_phase_transform_cuda<T>(terms, matrix_size, device, choice);
    refuse_cuda();
  }
  return make_phase_transform_cpu<T>({terms.coefficients, summed_of(terms.basis, voxels),
                                      summed_of(terms.decay_per_s, voxels), terms.sample_time_s},
                                     summed_matrix(terms, matrix_size));
}

}  // namespace

Array<double> summed_of(const Array<double>& values, const std::vector<std::int64_t>& voxels) {
  return voxels.empty() ? values : columns_of(values, voxels);
}

std::array<int, 3> summed_matrix(const PhaseTerms& terms, std::array<int, 3> matrix_size) {
  if (terms.summed_voxels.empty()) return matrix_size;
  return {static_cast<int>(terms.summed_voxels.size()), 1, 1};
}

double largest_phase(const PhaseTerms& terms) {
  const auto of_basis = largest_of_rows(terms.basis);
  const std::int64_t samples = terms.coefficients.extent(1);
  double largest = 0;
  for (std::int64_t m = 0; m < samples; ++m) {
    double sum = 0;
    for (std::size_t term = 0; term < of_basis.size(); ++term)
      sum += std::abs(terms.coefficients[static_cast<std::int64_t>(term) * samples + m]) * of_basis[term];
    largest = std::max(largest, sum);
  }
  return largest;
}

void require_phase_terms(const PhaseTerms& terms, std::array<int, 3> matrix_size) {
  std::int64_t voxels = 1;
  for (const int n : matrix_size) {
    if (n < 1) throw Error("matrix size", "at least 1 voxel per axis", std::to_string(n));
    voxels *= n;
  }
  const Shape& shape = terms.coefficients.shape();
  if (shape.rank() != 2 || shape.size() == 0)
    throw Error("coefficients", "[term][sample] with at least one of each", shape.text());
  require_shape(terms.basis, {shape[0], voxels}, "basis");
  require_finite(terms.coefficients, "coefficients");
  require_finite(terms.basis, "basis");
  require_decay(terms, voxels, shape[1]);
  require_numbers(terms.summed_voxels, voxels);
  const double largest = largest_phase(terms);
  if (!(largest <= most_phase_rad))
    throw Error("phases", "at most " + number_text(most_phase_rad) + " rad", number_text(largest) + " rad",
                "coefficients and basis are in units whose product is in radians: rad/m and m, rad/m^2 and "
                "m^2, not mm");
}

template <class T>
std::unique_ptr<FourierTransform<T>> make_phase_transform(const PhaseTerms& terms,
                                                          std::array<int, 3> matrix_size, Device device,
                                                          GpuSums choice) {
  require_phase_terms(terms, matrix_size);
  auto sums = sums_of<T>(terms, matrix_size, device, choice);
  if (terms.summed_voxels.empty()) return sums;
  return transform_of_voxels<T>(std::move(sums), matrix_size, terms.summed_voxels);
}

template std::unique_ptr<FourierTransform<float>> make_phase_transform<float>(const PhaseTerms&,
                                                                              std::array<int, 3>, Device,
                                                                              GpuSums);
template std::unique_ptr<FourierTransform<double>> make_phase_transform<double>(const PhaseTerms&,
                                                                                std::array<int, 3>, Device,
                                                                                GpuSums);

}  // namespace fhd
