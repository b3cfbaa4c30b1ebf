#include "app/run/doubts.hpp"

#include <algorithm>
#include <chrono>

#include "recon/array/thread_limit.hpp"
#include "recon/array/trace.hpp"
#include "recon/pipeline/outside_fov.hpp"
#include "recon/trajectory/gradient_delays.hpp"
#include "validation/verdict/causes.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::app {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::int64_t readout_length_of(const Scan& scan) {
  return validation::readout_length(validation::readout_starts(scan.trajectory));
}

/// Returns what is probably wrong.
std::vector<Message> warnings_among(const std::vector<Message>& findings) {
  std::vector<Message> warnings;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(warnings), is_doubt);
  return warnings;
}

bool warns_of_delays(const Report& report) {
  return holds(report.messages, codes::delays, Severity::warning);
}

/// Removes warnings of an object beyond the FOV where a delay alone may bring them about.
void leave_out_hints_of_delays(Report& report) {
  const bool is_delayed =
      report.verdict && report.verdict->cause && report.verdict->cause->code == codes::delays;
  if (is_delayed || warns_of_delays(report))
    std::erase_if(report.messages, [](const Message& message) {
      return message.code == codes::outside_fov && message.severity == Severity::warning;
    });
}

void warn_of_delays(const Scan& scan, const ScanChecks& checks, Report& report) {
  constexpr double well_explained = 0.005;
  const bool takes_long = checks.is_sparing || scan.geometry.matrix_size[2] > 1;
  const bool is_unexplained = report.verdict && !(report.verdict->unexplained <= well_explained);
  if (checks.delays_are_corrected || warns_of_delays(report) || (takes_long && !is_unexplained)) return;
  const trace::Span span("gradient delays", "check");
  const auto begin = Clock::now();
  const auto starts = validation::readout_starts(scan.trajectory);
  if (may_be_delayed(scan, starts))
    if (const auto found = diagnose_delays(scan, validation::readout_length(starts));
        found.severity == Severity::warning)
      report.messages.push_back(found);
  leave_out_hints_of_delays(report);
  report.seconds += elapsed_seconds(begin);
}

}  // namespace

std::vector<std::vector<Message>> warnings_of(const std::vector<const Scan*>& volumes, SliceSeries* series,
                                                  const Settings& settings) {
  const trace::Span span("input doctor", "check");
  const bool looked_beyond_fov = looks_beyond_fov(settings);
  if (!series) {
    const Scan& scan = *volumes.front();
    return {warnings_among(diagnose(scan, readout_length_of(scan), looked_beyond_fov))};
  }
  const auto shared = series->warnings([](const Scan& reference) {
    return warnings_among(diagnose_sampling(reference, readout_length_of(reference)));
  });
  std::vector<std::vector<Message>> all(volumes.size(), shared);
  for_each_in_parallel(volumes.size(), [&](std::size_t v) {
    const auto own = warnings_among(
        diagnose_values(*volumes[v], readout_length_of(*volumes[v]), looked_beyond_fov));
    all[v].insert(all[v].end(), own.begin(), own.end());
  });
  return all;
}

void suspect(const Scan& scan, const CoilSettings& coils, const ScanChecks& checks, bool seeks_cause,
             Report& report) {
  using Judgement = Verdict::Judgement;
  if (!report.verdict) return;
  Verdict& verdict = *report.verdict;
  leave_out_hints_of_delays(report);
  if (verdict.judgement != Judgement::unexplained && verdict.judgement != Judgement::varies) return;
  if (!verdict.cause && seeks_cause) {
    const auto begin = Clock::now();
    verdict.cause = validation::likeliest_cause(scan, coils, std::max(15.0, report.seconds));
    add_stage(report, "search of a cause", elapsed_seconds(begin));
  }
  if (verdict.judgement == Judgement::varies) {
    if (!verdict.cause) return;
    verdict.judgement = Judgement::unexplained;  // it is not the contrast that varies
  }
  leave_out_hints_of_delays(report);  // the cause may just have been found
  const auto& cause = verdict.cause;
  report.messages.push_back(
      {"verdict", Severity::suspicion,
       verdict.sentence +
           (cause ? "; likeliest cause: " + cause->text : "; unit, trajectory, maps, calibration or motion?"),
       cause ? validation::remedy_of_cause(cause->code, checks.delays_are_corrected) : ""});
}

void check_scan(const Scan& scan, const ScanChecks& checks, Report& report) {
  warn_of_delays(scan, checks, report);
  report.messages.insert(report.messages.end(), checks.warnings.begin(), checks.warnings.end());
}

void add_stage(Report& report, const std::string& name, double seconds) {
  // The report of a volume of a series has a share of the time, and no place among the other stages.
  const bool has_place = std::none_of(report.stages.begin(), report.stages.end(),
                                      [](const Stage& stage) { return stage.spans.empty(); });
  report.stages.push_back({name, seconds});
  if (has_place) report.stages.back().spans.push_back({report.seconds, seconds});
  report.seconds += seconds;
}

}  // namespace fhd::app
