#include "app/options/frame_options.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "app/terminal/input_error.hpp"
#include "app/options/number_option.hpp"
#include "io/files/input_file.hpp"
#include "io/scan/number_table.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/gating.hpp"

namespace fhd::app {
namespace {

constexpr std::int64_t default_bins = 4;  // those of XD-GRASP, most often
std::int64_t bin_count(const FrameChoice& choice) { return choice.frames > 0 ? choice.frames : default_bins; }
constexpr auto physiology = "physiology";

/// "physiology" or "physiology:K".
bool is_physiology(const std::string& gate) {
  return gate == physiology || gate.starts_with(std::string(physiology) + ":");
}

bool is_file(const std::string& gate) { return gate != "self" && !is_physiology(gate); }
bool is_count(const std::string& basis) {
  std::string text = basis;  // a check may rewrite what it is given
  return !basis.empty() && whole_number(1)(text).empty();
}

/// K, 0 without. Throws Error.
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

/// An option's value that is a file, and no word or number that was meant otherwise. Throws Error.
void require_file(const std::string& option, const std::string& value, const std::string& expected) {
  io::require_reachable(value);
  std::error_code unknown;
  if (value.empty() || !std::filesystem::exists(value, unknown))
    throw Error(option, expected, "'" + value + "', which is neither");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> FrameOptions::files() const {
  std::vector<std::pair<std::string, std::string>> named;
  if (gate_ && is_file(*gate_)) named.emplace_back("gating signal", *gate_);
  if (basis_ && !is_count(*basis_)) named.emplace_back("temporal basis", *basis_);
  return named;
}

void FrameOptions::add_to(CLI::App& app) {
  const auto number = [&](const char* flag, std::int64_t& value, std::int64_t least, const char* help) {
    app.add_option(flag, value, help)->type_name("N")->check(whole_number(least))->group("Frames");
  };
  number(
      "--frames", choice_.frames, 2,
      "of a continuous acquisition: its readouts, in their order, in so many frames of equal length, solved "
      "together; --regularizer temporal-tv, llr");
  number("--spokes-per-frame", choice_.readouts_per_frame, 1, "or so many readouts to a frame");
  number("--sliding", choice_.step, 1,
         "with --spokes-per-frame: readouts by which a frame moves on [those of a frame]");
  app.add_option(
         "--gate", gate_,
         "frames are bins of a motion, --frames of them [4]: self (breathing, from the centre of k-space), "
         "physiology[:K] (heartbeats, by time stamp K of the ISMRMRD file [0]), or a text or HDF5 file "
         "(/gating/signal) with one number for each readout")
      ->type_name("self|physiology|FILE")
      ->group("Frames");
  app.add_option("--basis", basis_,
                 "frames are sums of a few courses in time: of K, found in frames of low resolution, or "
                 "those of a text "
                 "or HDF5 file (/subspace/basis), a course a row or a column; --regularizer llr, wavelet, tv")
      ->type_name("K|FILE")
      ->group("Frames");
}

void FrameOptions::take_part_in(Settings& settings) const {
  if (choice_.frames > 0 && choice_.readouts_per_frame > 0)
    throw Error("--frames with --spokes-per-frame", "", "these options contradict each other",
                "leave out --frames");
  if (choice_.step > 0 && choice_.readouts_per_frame == 0)
    throw Error("--sliding", "--spokes-per-frame beside it", "none");
  if (gate_ && choice_.readouts_per_frame > 0)
    throw Error("--gate with --spokes-per-frame", "", "these options contradict each other",
                "say with --frames how many bins there are");
  if (gate_ && is_physiology(*gate_)) stamp_of(*gate_);
  if (gate_ && is_file(*gate_)) require_file("--gate", *gate_, "self, physiology, physiology:K or a file");
  if (!basis_) return;
  if (!is_count(*basis_)) require_file("--basis", *basis_, "a whole number from 1, or a file");
  if (!asks()) throw Error("--basis", "--frames, --spokes-per-frame or --gate beside it", "none");
  auto* method = std::get_if<LeastSquares>(&settings.method);
  if (method == nullptr)
    throw Error("--basis", "--method cg", std::string("--method ") + name_of(settings.method),
                "leave it out");
  if (is_count(*basis_))
    method->basis = LeadingCourses{std::stoll(*basis_)};
  else
    method->basis = GivenCourses{of_input([&] { return io::read_number_table(*basis_, "/subspace/basis"); })};
}

FrameLayout FrameOptions::layout_of(const Scan& scan, const io::ScanSummary& summary) const {
  const std::int64_t samples = scan.trajectory.sample_count();
  FrameLayout layout;
  if (!gate_)
    layout = lay_out_frames(samples, summary.readout_length, choice_);
  else
    layout =
        lay_out_bins(samples, summary.readout_length, bin_count(choice_), signal_of(*gate_, scan, summary));
  layout.readout_numbers = scan.readout_numbers;
  return layout;
}

void FrameOptions::require_one(const std::vector<std::int64_t>& repetitions) {
  if (repetitions.size() == 1) return;
  throw Error("--frames, --spokes-per-frame and --gate", "one repetition", std::to_string(repetitions.size()),
              "choose it: --repetitions 0");
}

FrameSizes FrameOptions::sizes(std::int64_t samples, std::int64_t readout_length) const {
  return sizes_of(
      lay_out_frames(samples, readout_length, gate_ ? FrameChoice{.frames = bin_count(choice_)} : choice_));
}

}  // namespace fhd::app
