// Options whose values are lists of delays or times.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>

#include "app/options/nearest_word.hpp"
#include "app/options/options.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// Numbers between commas; empty where one is none.
std::vector<double> parse_list(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(',', at), text.size());
    double number = 0;
    if (!parse_number(text.substr(at, end - at), number) || !std::isfinite(number)) return {};
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

}  // namespace

std::array<double, 3> parse_delays(const std::string& text, const std::string& option) {
  constexpr double longest = 100;
  const auto numbers = parse_list(text);
  const bool are_short =
      std::all_of(numbers.begin(), numbers.end(), [](double d) { return std::abs(d) <= longest; });
  if ((numbers.size() != 2 && numbers.size() != 3) || !are_short)
    throw Error(option, "delays along x, y (and z) in samples, from -100 to 100, such as 0.5,0.2",
                "'" + text + "'");
  return {numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 0};
}

std::vector<double> parse_echo_times(const std::string& text) {
  auto times = parse_list(text);
  for (double& time : times) time *= 1e-3;
  constexpr double longest_s = 10, least_step_s = 1e-6;
  const bool ascend = std::adjacent_find(times.begin(), times.end(), [](double a, double b) {
                        return !(b - a > least_step_s);
                      }) == times.end();
  if (times.empty() || !(times.front() > 0) || !(times.back() <= longest_s) || !ascend)
    throw Error(
        "--echo-times",
        "times in ms above 0 and up to 10000, each more than 0.001 after the one before, such as 2.3,6.9",
        "'" + text + "'");
  return times;
}

void ReconOptions::add_trajectory_correction(CLI::App& app) {
  app.add_option(
         "--trajectory-correction", trajectory_correction_,
         "gradients that play later than the trajectory says: auto: by as much as the centre of k-space "
         "shows; or delays in samples along x, y and z; or off")
      ->type_name("auto|off|X,Y[,Z]")
      ->capture_default_str()
      ->group("Reconstruction");
  app.add_option(
         "--girf", girf_,
         "impulse responses of the gradients, which turn the trajectory into the one that was played: HDF5 "
         "with /girf [axis][frequency] and /frequency_hz")
      ->type_name("FILE")
      ->check([](const std::string& file) {
        return std::string(file.empty() ? "expected a file, found ''" : "");
      })
      ->group("Reconstruction");
}

TrajectoryCorrection ReconOptions::trajectory_correction() const {
  using Kind = TrajectoryCorrection::Kind;
  if (trajectory_correction_ == "off") return {Kind::off, {}, girf_};
  if (trajectory_correction_ == "auto") return {Kind::automatic, {}, girf_};
  if (trajectory_correction_.find(',') == std::string::npos)
    throw Error("--trajectory-correction", "auto, off, or delays in samples such as 0.5,0.2",
                "'" + trajectory_correction_ + "'", did_you_mean(trajectory_correction_, {"auto", "off"}));
  return {Kind::given, parse_delays(trajectory_correction_, "--trajectory-correction"), girf_};
}

}  // namespace fhd::app
