// fhd info: prints what a scan file, or a Pulseq sequence, holds, what was inferred and why, what is missing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/commands/commands.hpp"
#include "app/options/table.hpp"
#include "app/terminal/console.hpp"
#include "io/scan/pulseq/sequence.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {
namespace {

struct InfoOptions {
  std::string input;
  bool json = false;
  RunOptions run;
};

void print_as_json(const io::ScanSummary& summary) {
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  for (const auto& [name, value] : summary.facts) facts[name] = value;
  auto counters = nlohmann::ordered_json::array();
  for (const auto& each : summary.repetition_counters)
    counters.push_back({{"repetition", each.repetition},
                        {"contrast", each.contrast},
                        {"phase", each.phase},
                        {"set", each.set}});
  const auto& geometry = summary.geometry;
  const auto origin = summary.has_sample_time ? name_of(summary.time_origin) : std::string_view();
  const nlohmann::ordered_json json{{"path", summary.path},
                                    {"format", summary.format},
                                    {"matrix_size", geometry.matrix_size},
                                    {"fov_mm", geometry.fov_mm},
                                    {"position_mm", geometry.position_mm},
                                    {"read_direction", geometry.read_direction},
                                    {"phase_direction", geometry.phase_direction},
                                    {"slice_direction", geometry.slice_direction},
                                    {"coil_count", summary.coil_count},
                                    {"samples_per_scan", summary.samples_per_scan},
                                    {"readout_length", summary.readout_length},
                                    {"slice_count", summary.slice_count},
                                    {"repetition_count", summary.repetition_count},
                                    {"repetition_counters", counters},
                                    {"slice_counters", summary.slice_counters},
                                    {"repetition_time_s", summary.repetition_time_s},
                                    {"echo_times_s", summary.echo_times_s},
                                    {"cartesian", summary.cartesian},
                                    {"has_sensitivity_maps", summary.has_sensitivity_maps},
                                    {"has_field_map", summary.has_field_map},
                                    {"has_sample_time", summary.has_sample_time},
                                    {"sample_time_origin", origin},
                                    {"facts", facts},
                                    {"inferred", summary.inferred},
                                    {"missing", summary.missing}};
  print_json(json);
}

constexpr std::size_t most_names = 24;

/// Prints how the file counts repetitions and slices, where that is not 0, 1, ...
void print_names(const io::ScanSummary& summary) {
  const auto& counters = summary.repetition_counters;
  std::size_t shown = 0, named = 0;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const auto name = io::name_of_repetition(counters, i);
    if (name.empty() || ++named > most_names) continue;
    ++shown;
    print_out("    {:<16} {}\n", fmt::format("repetition {}", i), name);
  }
  if (named > shown) print_out("    and {} more: see --json\n", named - shown);
  const auto& slices = summary.slice_counters;
  std::vector<int> in_order(slices.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  if (slices == in_order) return;
  const auto end = slices.begin() + static_cast<std::ptrdiff_t>(std::min(slices.size(), most_names));
  print_out("    {:<16} {}{} of the file\n", "slices",
            fmt::format("{}", fmt::join(slices.begin(), end, ", ")), end == slices.end() ? "" : ", ...");
}

void print_text(const io::ScanSummary& summary) {
  const auto line = [](std::string_view name, const std::string& value) {
    print_out("  {:<18} {}\n", name, value);
  };
  const auto length = [](double mm) { return mm > 0 ? fmt::format("{:g}", mm) : std::string("unknown"); };
  const auto& geometry = summary.geometry;
  const auto& n = geometry.matrix_size;
  print_out("{}\n", summary.path);
  line("format", summary.format);
  line("matrix", fmt::format("{} x {} x {}", n[0], n[1], n[2]));
  const auto& fov = geometry.fov_mm;
  line("FOV", std::ranges::none_of(fov, [](double mm) { return mm > 0; })
                  ? "unknown"
                  : fmt::format("{} x {} x {} mm", length(fov[0]), length(fov[1]), length(fov[2])));
  line("centre", fmt::format("{:g}, {:g}, {:g} mm", geometry.position_mm[0], geometry.position_mm[1],
                             geometry.position_mm[2]));
  line("coils", std::to_string(summary.coil_count));
  line("samples", summary.readout_length > 0
                      ? fmt::format("{} per image ({} readouts of {})", summary.samples_per_scan,
                                    summary.samples_per_scan / summary.readout_length, summary.readout_length)
                      : fmt::format("{} per image", summary.samples_per_scan));
  const auto counted = [](std::int64_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  line("images",
       counted(summary.slice_count, "slice") + " x " + counted(summary.repetition_count, "repetition"));
  print_names(summary);
  if (!summary.echo_times_s.empty()) {
    auto times_ms = summary.echo_times_s;
    for (double& time : times_ms) time *= 1e3;
    line("echo times", fmt::format("{:g} ms", fmt::join(times_ms, ", ")));
  }
  line("k-space", summary.cartesian ? "Cartesian" : "non-Cartesian");
  line("sensitivity maps", summary.has_sensitivity_maps ? "yes" : "no");
  line("field map", summary.has_field_map ? "yes" : "no");
  const auto origin = summary.time_origin == io::TimeOrigin::unknown
                          ? std::string("origin unknown")
                          : fmt::format("from {}", name_of(summary.time_origin));
  line("sample times", summary.has_sample_time ? "yes, " + origin : "no");
  for (const auto& [name, value] : summary.facts) line(name, value);
  const auto list = [](const char* title, const std::vector<std::string>& sentences) {
    if (sentences.empty()) return;
    print_out("{}\n", title);
    for (const auto& sentence : sentences) print_out("  - {}\n", sentence);
  };
  list("inferred", summary.inferred);
  list("missing", summary.missing);
}

int tell_sequence(const InfoOptions& options) {
  const auto [facts, remarks] = io::pulseq::describe_sequence(options.input);
  if (options.json) {
    nlohmann::ordered_json json{{"path", options.input}};
    for (const auto& [name, value] : facts) json[name] = value;
    json["inferred"] = remarks;
    print_json(json);
    return 0;
  }
  print_out("{}\n", options.input);
  for (const auto& [name, value] : facts) print_out("  {:<18} {}\n", name, value);
  if (!remarks.empty()) print_out("inferred\n");
  for (const auto& remark : remarks) print_out("  - {}\n", remark);
  return 0;
}

}  // namespace

Run add_info(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();
  app.add_option("SCAN", options->input,
                 "scan: ISMRMRD or fhd HDF5, BART .cfl, IMPATIENT directory; or a Pulseq sequence")
      ->required();
  app.add_flag("--json", options->json, "print JSON");
  add_options(app, options->run, in_info);
  return [options] {
    if (io::pulseq::is_sequence(options->input)) return tell_sequence(*options);
    const auto file = io::open_scan(options->input, options->run.read_options);
    if (options->json)
      print_as_json(file->summary());
    else
      print_text(file->summary());
    return 0;
  };
}

}  // namespace fhd::app
