#include "app/scan_options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <vector>

#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// One to three numbers separated by ',' or 'x'.
std::vector<double> parse_numbers(const std::string& text, const std::string& option, const char* expected) {
  std::vector<double> numbers;
  const char* position = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    double number = 0;
    const auto [next, status] = std::from_chars(position, end, number);
    if (status != std::errc{} || !std::isfinite(number)) throw Error(option, expected, "'" + text + "'");
    numbers.push_back(number);
    if (next == end) break;
    if ((*next != ',' && *next != 'x') || numbers.size() == 3)
      throw Error(option, expected, "'" + text + "'");
    position = next + 1;
  }
  return numbers;
}

/// Lets CLI11 report a bad value as a usage error.
template <class Parse>
void add_parsed(CLI::App& app, const std::string& name, const std::string& help, const std::string& type,
                Parse parse) {
  app.add_option_function<std::string>(
         name,
         [parse](const std::string& text) {
           try {
             parse(text);
           } catch (const Error& error) {
             throw CLI::ValidationError(error.what());
           }
         },
         help)
      ->type_name(type);
}

}  // namespace

std::array<int, 3> parse_matrix_size(const std::string& text, const std::string& option) {
  constexpr auto expected = "one to three whole numbers from 1 to 4096, e.g. 64 or 64,64,16";
  const auto numbers = parse_numbers(text, option, expected);
  std::array<int, 3> matrix_size{1, 1, 1};
  for (std::size_t axis = 0; axis < numbers.size(); ++axis) {
    if (numbers[axis] != std::floor(numbers[axis]) || numbers[axis] < 1 || numbers[axis] > 4096)
      throw Error(option, expected, "'" + text + "'");
    matrix_size[axis] = static_cast<int>(numbers[axis]);
  }
  if (numbers.size() == 1) matrix_size[1] = matrix_size[0];
  return matrix_size;
}

std::array<double, 3> parse_fov_mm(const std::string& text, const std::string& option) {
  constexpr auto expected = "one to three lengths in mm from 0 to 10000, e.g. 220 or 220,220,64";
  const auto numbers = parse_numbers(text, option, expected);
  std::array<double, 3> fov_mm{0, 0, 0};
  for (std::size_t axis = 0; axis < numbers.size(); ++axis) {
    if (numbers[axis] < 0 || numbers[axis] > 10000) throw Error(option, expected, "'" + text + "'");
    fov_mm[axis] = numbers[axis];
  }
  if (numbers.size() == 1) fov_mm[1] = fov_mm[0];
  return fov_mm;
}

void ScanOptions::add_to(CLI::App& app) {
  add_parsed(app, "--matrix", "voxels of the image: N, X,Y or X,Y,Z [as the file says]", "X,Y,Z",
             [this](const std::string& text) { options_.matrix_size = parse_matrix_size(text); });
  add_parsed(app, "--fov-mm", "field of view in mm: F, X,Y or X,Y,Z [as the file says]", "X,Y,Z",
             [this](const std::string& text) { options_.fov_mm = parse_fov_mm(text); });
  add_parsed(app, "--trajectory-unit",
             "unit of k-space positions: auto, cycles/FOV, cycles/voxel, radians/voxel or 1/m [auto]", "UNIT",
             [this](const std::string& text) {
               options_.trajectory_unit = io::parse_trajectory_unit(text, "--trajectory-unit");
             });
}

}  // namespace fhd::app
