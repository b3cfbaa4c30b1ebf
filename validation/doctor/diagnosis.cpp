#include "validation/doctor/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "recon/array/equality.hpp"
#include "recon/coils/noise.hpp"
#include "recon/error.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd {
namespace {

using namespace doctor;

/// Adds what the header states: sizes, and what was left out, inferred, or is missing.
void add_summary(const io::ScanSummary& summary, Findings& findings) {
  const auto& n = summary.geometry.matrix_size;
  findings.add(Severity::ok, "file",
               fmt::format("{}: {} x {} x {} voxels, {} coil{}, {} samples, {} slice{}, {} repetition{}.",
                           summary.format, n[0], n[1], n[2], summary.coil_count, plural(summary.coil_count),
                           summary.samples_per_scan, summary.slice_count, plural(summary.slice_count),
                           summary.repetition_count, plural(summary.repetition_count)));
  for (const auto& [name, value] : summary.facts)
    if (name == "readouts skipped")
      findings.add(Severity::note, "readouts", "Readouts left out: " + value + ".");
  if (summary.has_sample_time)
    findings.add(Severity::ok, "times",
                 fmt::format("Sample times count from {}.", name_of(summary.time_origin)));
  for (const auto& sentence : summary.inferred) findings.add(Severity::note, "inferred", sentence);
  for (const auto& sentence : summary.missing) findings.add(Severity::warning, "missing", sentence);
}

/// Collects the findings of all volumes; findings with the same severity, code and remedy come once.
class FindingsOfVolumes {
 public:
  FindingsOfVolumes(std::int64_t volumes, Findings& findings) : volumes_(volumes), findings_(findings) {}

  void add(std::int64_t slice, std::int64_t repetition, std::vector<Message> found) {
    std::set<Key> counted;  // a volume may have two findings of one topic
    for (auto& finding : found) {
      const Key key(finding.severity, finding.code + finding.remedy);
      if (!counted.insert(key).second) continue;
      const auto [place, is_new] = known_.try_emplace(key, Known{findings_.list.size(), 0});
      ++place->second.volumes;
      if (!is_new) continue;
      if (volumes_ > 1 && finding.severity != Severity::ok)
        finding.text = fmt::format("Slice {}, repetition {}: {}", slice, repetition, finding.text);
      findings_.list.push_back(std::move(finding));
    }
  }

  /// Adds to each finding in how many volumes it was found.
  void count() {
    for (const auto& [key, known] : known_)
      if (known.volumes > 1 && key.first != Severity::ok)
        findings_.list[known.index].text += fmt::format(" So in {} of {} volumes.", known.volumes, volumes_);
  }

 private:
  using Key = std::pair<Severity, std::string>;
  struct Known {
    std::size_t index;
    std::int64_t volumes;
  };
  std::int64_t volumes_;
  Findings& findings_;
  std::map<Key, Known> known_;
};

/// Adds a finding on delays, in place of a warning by the energy alone.
void add_delays(Message delays, std::vector<Message>& found) {
  if (delays.severity == Severity::warning)
    std::erase_if(found, [](const Message& each) { return each.code == codes::delays; });
  found.push_back(std::move(delays));
}

/// Counts volumes in a row with the same problem; after enough of them the rest need not be read.
class ProblemsInARow {
 public:
  bool suffice_with(const std::vector<Message>& found) {
    std::string topics;
    for (const auto& finding : found)
      if (finding.severity == Severity::problem) topics += finding.code + "\n";
    count_ = topics.empty() ? 0 : topics == topics_ ? count_ + 1 : 1;
    topics_ = std::move(topics);
    constexpr int enough = 8;
    return count_ >= enough;
  }

 private:
  int count_ = 0;
  std::string topics_;
};

/// Returns what was said when a volume was read: suspicions stay, the rest are notes.
std::vector<Message> said_when_read(const Scan& scan) {
  Findings said;
  for (const auto& message : scan.messages)
    said.add(message.severity == Severity::suspicion ? message.severity : Severity::note, message.code,
             "When it was read, " + message.text + ".", message.remedy);
  return std::move(said.list);
}

/// Adds the findings of all volumes. Returns the geometries of the slices that could be read.
std::vector<Geometry> diagnose_volumes(io::ScanFile& file, Findings& findings) {
  const auto& summary = file.summary();
  const auto all = summary.slice_count * summary.repetition_count;
  FindingsOfVolumes of_volumes(all, findings);
  ProblemsInARow problems;
  std::vector<Geometry> slices;
  bool is_enough = false;
  for (std::int64_t repetition = 0; repetition < summary.repetition_count && !is_enough; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count && !is_enough; ++slice) {
      std::vector<Message> found;
      try {
        const auto scan = file.read(slice, repetition);
        if (repetition == 0) slices.push_back(scan.geometry);
        found = said_when_read(scan);
        auto own = diagnose(scan, summary.readout_length);
        std::move(own.begin(), own.end(), std::back_inserter(found));
        if (repetition == 0 && slice == summary.slice_count / 2)
          add_delays(diagnose_delays(scan, summary.readout_length), found);
        leave_out_consequences(found);
      } catch (const Error& error) {
        found.push_back(message_of(error, Severity::problem, "values"));
      }
      is_enough = problems.suffice_with(found);
      of_volumes.add(slice, repetition, std::move(found));
      const auto left = all - (repetition * summary.slice_count + slice + 1);
      if (is_enough && left > 0)
        findings.add(Severity::note, "values",
                     fmt::format("The {} volumes that follow were not read: those before them have all the "
                                 "same problem.",
                                 left));
    }
  of_volumes.count();
  return slices;
}

/// A mistake, and the warnings that it brings about: samples or positions in wrong places spread an object beyond its edges, and
/// move its energy away from the centre of k-space.
struct Mistake {
  std::string_view code;
  std::vector<std::string_view> consequences;
};
const std::vector<Mistake>& mistakes() {
  static const std::vector<std::string_view> of_samples{"centre", codes::outside_fov, "spikes",
                                                        codes::delays};
  static const std::vector<Mistake> all{{"transformed", of_samples},
                                        {"floats", of_samples},
                                        {"order", of_samples},
                                        {"rounded_positions", {"density", codes::outside_fov, codes::delays}},
                                        {"rounded", {codes::outside_fov}},
                                        {"coils", {"centre", codes::outside_fov}},
                                        {"extent", {codes::outside_fov}},
                                        {codes::delays, {codes::outside_fov}}};
  return all;
}

}  // namespace

void leave_out_consequences(std::vector<Message>& findings) {
  for (const auto& mistake : mistakes()) {
    const auto is_it = [&](const Message& each) { return each.code == mistake.code && is_doubt(each); };
    if (std::none_of(findings.begin(), findings.end(), is_it)) continue;
    std::erase_if(findings, [&](const Message& each) {
      return each.severity == Severity::warning &&
             std::ranges::find(mistake.consequences, each.code) != mistake.consequences.end();
    });
    std::stable_partition(findings.begin(), findings.end(), is_it);
    return;  // the first in the list explains the others
  }
}

Message diagnose_delays(const Scan& scan, std::int64_t readout_length) {
  Findings delays;
  check_delays(scan, readout_length, delays);
  return std::move(delays.list.front());
}

SampledPositions::SampledPositions(const Scan& scan, std::int64_t readout_length_of_scan)
    : readout_length(readout_length_of_scan),
      radius(normalised_radii(scan)),
      places(radius),
      bands(radius),
      edge(edge_samples(scan.trajectory, scan.geometry.matrix_size)),
      resolved(resolved_field(scan)),
      geometry_(scan.geometry),
      cropped_matrix_size_(scan.cropped_matrix_size),
      k_(scan.trajectory.k),
      of_calibration_(scan.calibration ? scan.calibration->trajectory.k : Array<double>()) {
  Findings found;
  check_geometry(scan.geometry, found);
  check_extent(scan, found);
  check_density(scan, readout_length, found);
  check_format_of_positions(scan, found);
  findings = std::move(found.list);
}

bool SampledPositions::are_of(const Scan& scan) const {
  const auto& [matrix_size, fov_mm] = std::tie(geometry_.matrix_size, geometry_.fov_mm);
  return scan.geometry.matrix_size == matrix_size && scan.geometry.fov_mm == fov_mm &&
         scan.cropped_matrix_size == cropped_matrix_size_ && are_equal(k_, scan.trajectory.k) &&
         are_equal(of_calibration_, scan.calibration ? scan.calibration->trajectory.k : Array<double>());
}

std::vector<Message> diagnose_sampling(const Scan& scan, const SampledPositions& positions) {
  Findings findings{positions.findings};
  check_maps(scan, findings);
  check_sample_times(scan, positions.readout_length, findings);
  check_field_map(scan, findings);
  return std::move(findings.list);
}

std::vector<Message> diagnose_values(const Scan& scan, const SampledPositions& positions,
                                     bool looked_beyond_fov) {
  Findings findings;
  const auto [energy, of_coil] = energies_of(scan.kspace);
  check_coils(scan, of_coil, positions, findings);
  if (std::any_of(energy.begin(), energy.end(), [](double e) { return e > 0; })) {
    check_format_of_samples(scan, energy, positions.readout_length, findings);
    check_signal(scan, energy, positions, findings);
    check_spikes(scan, positions, findings);
    check_clipping(scan, findings);
    check_outside_fov(scan, positions, looked_beyond_fov, findings);
    check_readouts(scan, energy, positions.readout_length, findings);
  }
  return std::move(findings.list);
}

std::vector<Message> diagnose(const Scan& scan, std::int64_t readout_length, bool looked_beyond_fov) {
  const SampledPositions positions(scan, readout_length);
  auto findings = diagnose_sampling(scan, positions);
  auto of_values = diagnose_values(scan, positions, looked_beyond_fov);
  std::move(of_values.begin(), of_values.end(), std::back_inserter(findings));
  return findings;
}

std::vector<Message> diagnose(const std::string& path, const DiagnosisSettings& settings) {
  Findings findings;
  std::unique_ptr<io::ScanFile> file;
  try {
    file = io::open_scan(path, settings.options);
    if (settings.correct) settings.correct(*file);
  } catch (const Error& error) {
    return {message_of(error, Severity::problem, "file")};
  }
  const auto& summary = file->summary();
  add_summary(summary, findings);
  if (settings.prior) check_prior(*settings.prior, summary.geometry, findings);
  const auto slices = diagnose_volumes(*file, findings);
  if (auto found = diagnose_echoes(*file)) findings.list.push_back(std::move(*found));
  if (settings.cost && settings.memory_bytes > 0 && !slices.empty()) check_memory(*file, settings, findings);
  if (slices.empty())
    check_swapped_axes(path, settings, summary, findings);
  else
    check_positions(slices, findings);
  std::stable_sort(findings.list.begin(), findings.list.end(),
                   [](const Message& a, const Message& b) { return a.severity < b.severity; });
  return std::move(findings.list);
}

}  // namespace fhd
