#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "io/files/in_reader.hpp"
#include "io/files/input_stamps.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/scan/companion_files.hpp"
#include "recon/array/fft.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr const char* girf_name = "/girf";
constexpr const char* impulse_name = "/impulse_response";

/// Reads `points` [point], which belong to the values [axis][point] of `name`.
Array<double> points_of(const hdf5::File& file, const char* points, const char* name,
                        const hdf5::Extents& extents) {
  constexpr std::int64_t most = 1 << 20;
  if (extents.size() != 2 || extents[0] != 3 || extents[1] < 2 || extents[1] > most)
    throw Error(file.subject(name),
                fmt::format("[3][n], of the axes x, y and z, with 2 ... {} numbers each", most),
                hdf5::text_of(extents));
  if (!file.has(points))
    throw Error(file.subject(name), fmt::format("{} [{}] beside it", points, extents[1]), "none");
  const auto dataset = file.dataset(points);
  if (dataset.extents() != hdf5::Extents{extents[1]})
    throw Error(dataset.subject(), hdf5::text_of({extents[1]}) + fmt::format(", as {} has", name),
                hdf5::text_of(dataset.extents()));
  return dataset.read<double>({extents[1]});
}

GradientResponse transfer_functions(const hdf5::File& file) {
  const auto dataset = file.dataset(girf_name);
  const auto extents = dataset.complex_extents();
  const auto frequencies = points_of(file, "/frequency_hz", girf_name, extents);
  return {{frequencies.begin(), frequencies.end()}, dataset.read<Complex<double>>({3, extents[1]})};
}

/// Returns H at so many frequencies that linear interpolation between them is right to (pi / 64)^2 / 8 = 3e-4 for the
/// ends of the times, where h is smallest.
GradientResponse of_impulse_responses(const hdf5::File& file) {
  const auto dataset = file.dataset(impulse_name);
  const auto& extents = dataset.extents();
  const auto times = points_of(file, "/time_s", impulse_name, extents);
  const std::int64_t count = extents[1];
  const double step = (times[count - 1] - times[0]) / static_cast<double>(count - 1);
  for (std::int64_t i = 1; i < count; ++i)
    if (!(std::abs(times[i] - times[i - 1] - step) <= 1e-3 * step))
      throw Error(file.subject("/time_s"), "times that ascend in even steps", "others");
  if (!(times[0] <= 0 && times[count - 1] >= 0))
    throw Error(file.subject("/time_s"), "times about 0, the moment of the impulse",
                fmt::format("{:g} ... {:g} s", times[0], times[count - 1]));
  const auto h = dataset.read<double>({3, count});
  constexpr std::int64_t finer = 64, most = 1 << 16;
  if (count > most)
    throw Error(dataset.subject(), fmt::format("at most {} times", most), std::to_string(count));
  const std::int64_t n = good_fft_size(static_cast<int>(finer * count)), half = n / 2;
  GradientResponse response;
  response.values = Array<Complex<double>>({3, half});
  for (std::int64_t j = 0; j < half; ++j)
    response.frequencies_hz.push_back(static_cast<double>(j) / (static_cast<double>(n) * step));
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    Array<Complex<double>> padded({1, 1, n});
    for (std::int64_t i = 0; i < count; ++i) padded[i] = {h[axis * count + i] * step, 0};
    fft_3d(padded, -1);
    for (std::int64_t j = 0; j < half; ++j) {
      const double angle =
          -2 * std::numbers::pi * response.frequencies_hz[static_cast<std::size_t>(j)] * times[0];
      response.values[axis * half + j] = Complex<double>(std::cos(angle), std::sin(angle)) * padded[j];
    }
  }
  return response;
}

}  // namespace

GradientResponse read_gradient_response_here(const std::string& path) {
  const auto file = hdf5::File::open(path);
  if (!file.has(girf_name) && !file.has(impulse_name))
    throw Error(path, "impulse responses: /girf with /frequency_hz, or /impulse_response with /time_s",
                "neither");
  auto response = file.has(girf_name) ? transfer_functions(file) : of_impulse_responses(file);
  response.validate(file.subject(file.has(girf_name) ? girf_name : impulse_name));
  return response;
}

GradientResponse read_gradient_response(const std::string& path) {
  auto response =
      read_unchanged(InputStamps({path}), [&] { return in_reader<&read_gradient_response_here>(path); });
  response.validate(path);
  return response;
}

}  // namespace fhd::io
