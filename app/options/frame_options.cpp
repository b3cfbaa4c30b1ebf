#include <filesystem>

#include "app/commands/commands.hpp"
#include "app/options/run_options.hpp"
#include "io/files/input_file.hpp"
#include "io/scan/companion_files.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/frame_layout.hpp"

namespace fhd::app {
namespace {

constexpr std::int64_t default_bins = 4;  // as XD-GRASP uses, most often
std::int64_t bin_count(const FrameChoice& choice) { return choice.frames > 0 ? choice.frames : default_bins; }
constexpr auto physiology = "physiology";

/// Returns whether it is "physiology" or "physiology:K".
bool is_physiology(const std::string& gate) {
  return gate == physiology || gate.starts_with(std::string(physiology) + ":");
}

bool is_file(const std::string& gate) { return gate != "self" && !is_physiology(gate); }
bool is_count(const std::string& basis) { return parse_whole(basis, 1).has_value(); }

/// Returns K of "physiology:K", 0 without. Throws Error.
int stamp_of(const std::string& gate) {
  const std::string number = gate == physiology ? "0" : gate.substr(std::string(physiology).size() + 1);
  if (number != "0" && number != "1" && number != "2")
    throw Error("--gate", "physiology, physiology:0, physiology:1 or physiology:2", "'" + gate + "'");
  return number[0] - '0';
}

GatingSignal signal_of(const std::string& gate, const Scan& scan, const io::ScanSummary& summary) {
  if (gate == "self") return self_gating_signal(scan, summary.readout_length, summary.readout_time_s);
  if (is_physiology(gate)) return cardiac_phase(scan, summary.readout_length, stamp_of(gate));
  const auto table = io::read_number_table(gate, "/gating/signal");
  if (table.extent(0) > 1 && table.extent(1) > 1)
    throw Error(gate, "one number for each readout, in one column or row",
                table.shape().text() + " numbers, as of several slices or signals",
                "give a file with those of this slice");
  return given_signal(scan, summary.readout_length, gate, {table.begin(), table.end()});
}

/// Throws Error where the value of an option is no file, but a word or number that was meant otherwise.
void require_file(const std::string& option, const std::string& value, const std::string& expected) {
  io::require_reachable(value);
  std::error_code unknown;
  if (value.empty() || !std::filesystem::exists(value, unknown))
    throw Error(option, expected, "'" + value + "', which is neither");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> FrameOptions::files() const {
  std::vector<std::pair<std::string, std::string>> named;
  if (gate && is_file(*gate)) named.emplace_back("gating signal", *gate);
  if (basis && !is_count(*basis)) named.emplace_back("temporal basis", *basis);
  return named;
}

void FrameOptions::take_part_in(Settings& settings) const {
  if (choice.frames > 0 && choice.readouts_per_frame > 0)
    throw Error(option_words("frames") + " with " + option_words("spokes-per-frame"), "",
                "these options contradict each other", "leave out " + option_words("frames"));
  if (choice.step > 0 && choice.readouts_per_frame == 0)
    throw Error("--sliding", option_words("spokes-per-frame") + " beside it", "none");
  if (gate && choice.readouts_per_frame > 0)
    throw Error(option_words("gate") + " with " + option_words("spokes-per-frame"), "",
                "these options contradict each other",
                "say with " + option_words("frames") + " how many bins there are");
  if (gate && is_physiology(*gate)) stamp_of(*gate);
  if (gate && is_file(*gate)) require_file("--gate", *gate, "self, physiology, physiology:K or a file");
  if (!basis) return;
  if (!is_count(*basis)) require_file("--basis", *basis, "a whole number from 1, or a file");
  auto* method = std::get_if<LeastSquares>(&settings.method);
  if (method == nullptr)
    throw Error("--basis", option_words("method", "cg"), option_words("method", name_of(settings.method)),
                "leave it out");
  if (is_count(*basis))
    method->basis = LeadingCourses{std::stoll(*basis)};
  else
    method->basis = GivenCourses{of_input([&] { return io::read_number_table(*basis, "/subspace/basis"); })};
}

FrameLayout FrameOptions::layout_of(const Scan& scan, const io::ScanSummary& summary) const {
  const std::int64_t samples = scan.trajectory.sample_count();
  FrameLayout layout;
  if (!gate)
    layout = lay_out_frames(samples, summary.readout_length, choice);
  else
    layout =
        lay_out_bins(samples, summary.readout_length, bin_count(choice), signal_of(*gate, scan, summary));
  layout.readout_numbers = scan.readout_numbers;
  return layout;
}

void FrameOptions::require_one(const std::vector<std::int64_t>& repetitions) {
  if (repetitions.size() == 1) return;
  throw Error(
      option_words("frames") + ", " + option_words("spokes-per-frame") + " and " + option_words("gate"),
      "one repetition", std::to_string(repetitions.size()), "choose it: " + option_words("repetitions", "0"));
}

FrameSizes FrameOptions::sizes(std::int64_t samples, std::int64_t readout_length) const {
  return sizes_of(
      lay_out_frames(samples, readout_length, gate ? FrameChoice{.frames = bin_count(choice)} : choice));
}

Settings RunOptions::settings() const {
  Settings settings = image_settings();
  frames.take_part_in(settings);
  validate(settings);
  if (noise_map) validate(*noise_map);
  refuse_incompatible(features_of(settings)
                          .with(frames.asks() ? Feature::frames : Feature::one_image)
                          .with(Feature::noise_map, noise_map.has_value())
                          .with(Feature::exact_noise_map, noise_map && noise_map->replicas == 0));
  return settings;
}

}  // namespace fhd::app
