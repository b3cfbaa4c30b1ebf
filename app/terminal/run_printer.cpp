#include "app/terminal/run_printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/options/devices.hpp"
#include "app/run/scan_cost.hpp"
#include "app/run/scan_results.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/event_lines.hpp"
#include "io/result/message_json.hpp"

namespace fhd::app {
namespace {

/// Returns the fields of the event of an image, `number` of 1 ... all.
nlohmann::ordered_json image_fields(const Report& report, std::size_t number, const ScanResults& results) {
  auto stages = nlohmann::ordered_json::object();
  for (const auto& stage : report.stages) stages[stage.name] = stage.seconds;
  nlohmann::ordered_json fields{
      {"number", number},
      {"of", results.volumes().size()},
      {"name", results.name_of(number - 1)},
      {"seconds", report.seconds},
      {"stages", stages},
      {"converged", report.converged},
      {"iterations", std::max<std::size_t>(report.relative_residuals.size(), 1) - 1},
      {"data_residual", report.data_residual},
      {"messages", report.messages}};
  if (!report.relative_residuals.empty()) fields["residual"] = report.relative_residuals.back();
  if (const auto& made = report.certificate)
    fields.update({{"accuracy", made->error()}, {"accuracy_passed", made->passed}});
  if (report.verdict) fields["verdict"] = report.verdict->sentence;
  return fields;
}

}  // namespace

RunEvents RunPrinter::events() {
  RunEvents events;
  events.progress = progress_.callback();
  events.on_fallback = [this](const std::string& reason) {
    progress_.clear();
    print_fallback(reason);
  };
  events.on_text = [this](const char* what, const std::string& text) {
    progress_.clear();
    if (!quiet_) say(what, text);
  };
  events.on_image = [this](std::size_t index, const Report& report, const ScanResults& results) {
    progress_.clear();
    print_image(index, report, results);
    if (total_ <= 1) return;
    progress_.set_context(context());
    progress_.show(context());
  };
  return events;
}

void RunPrinter::count_earlier(const Report& report, std::size_t total) {
  total_ = total;
  count(report);
  ++earlier_;
  begin_ = Clock::now();
}

void RunPrinter::count(const Report& report) {
  ++done_;
  const auto is_suspicion = [](const Message& message) { return message.severity == Severity::suspicion; };
  suspicious_ += std::any_of(report.messages.begin(), report.messages.end(), is_suspicion);
  stopped_ += !report.converged;
  residual_ = std::max(residual_, report.data_residual);
  if (report.verdict && report.verdict->unexplained >= unexplained_)
    unexplained_ = report.verdict->unexplained, worst_verdict_ = report.verdict->sentence;
  if (!report.certificate) return;
  error_ = std::max(error_, report.certificate->error());
  failed_ += !report.certificate->passed;
}

constexpr std::size_t most_of_series = 5;

/// Returns whether to print a doubt about one more image: of a long series the first warning of a kind, with its own numbers,
/// and the first few suspicions.
bool RunPrinter::prints(const Message& doubt) {
  if (doubt.severity != Severity::suspicion)
    return prints_each() ? is_new(doubt.text) : ++warnings_[{doubt.code, doubt.remedy}] == 1;
  if (prints_each()) return true;
  if (suspicions_printed_ >= most_of_series || !is_new(doubt.text)) return false;
  ++suspicions_printed_;
  return true;
}

void RunPrinter::print_doubts(std::size_t number, const Report& report) {
  const bool prints_accuracy = prints_each() || failed_ <= most_of_series;
  if (const auto& certificate = report.certificate; certificate && !certificate->passed && prints_accuracy)
    print_error(fmt::format("warning: image {}: the result is less accurate than asked: {}", number,
                            certificate_line(*certificate)));
  for (const auto& message : report.messages)
    if (is_doubt(message) && prints(message))
      print_error(fmt::format("{}: image {}: {}", name_of(message.severity), number, line_of(message)));
}

void RunPrinter::print_image(std::size_t index, const Report& report, const ScanResults& results) {
  const std::size_t number = index + 1;
  total_ = results.volumes().size();
  count(report);
  print_doubts(number, report);
  if (tells_events()) return tell_event("image", image_fields(report, number, results));
  const bool first = is_first(), is_full = first || verbose_;
  if (quiet_ || !(is_full || prints_each())) return;
  if (first && verbose_ && report.device_planned_bytes > 0)
    print_out("measured  {} of the GPU's memory, of {} planned\n",
              memory_text(static_cast<double>(report.device_peak_bytes)),
              memory_text(static_cast<double>(report.device_planned_bytes)));
  if (first)
    for (const auto& message : report.messages)
      if (message.severity == Severity::note) say("note", message.text);
  const auto name = results.name_of(index);
  const auto in_brackets = name.empty() ? "" : " (" + name + ")";
  const auto which = total_ > 1 ? fmt::format("{} of {}{}: ", number, total_, in_brackets) : "";
  print_out("image     {}{}\n", which, solution_line(report));
  if (report.certificate && is_full) print_out("accuracy  {}\n", certificate_line(*report.certificate));
  using Judgement = Verdict::Judgement;
  if (const auto& v = report.verdict; v && (is_full || v->judgement != Judgement::explained))
    print_out("verdict   {}\n", v->sentence);
}

/// Returns "image 12 of 200, 65.2 images/s, 0:03 left".
std::string RunPrinter::context() const {
  const double rate = static_cast<double>(done_ - earlier_) / std::max(seconds(), 1e-9);
  return fmt::format("image {} of {}, {:.3g} images/s, {} left", std::min(done_ + 1, total_), total_, rate,
                     clock_text(static_cast<double>(total_ - done_) / rate));
}

void RunPrinter::print_summary() {
  progress_.clear();
  if (quiet_ || prints_each() || done_ == 0) return;
  const auto now = done_ - earlier_;
  const auto from_earlier = earlier_ == 0 ? "" : fmt::format(" ({} of an earlier run)", earlier_);
  say("images",
      fmt::format("{}{}: {:.2f} s, {:.4g} images/s{}; |F rho - d| / |d| at most {:.3f}", done_, from_earlier,
                  seconds(), static_cast<double>(now) / seconds(),
                  stopped_ == 0 ? "" : fmt::format(", {} stopped by --iterations", stopped_), residual_));
  say("accuracy",
      fmt::format("error at most {:.1e}{}", error_,
                  failed_ == 0 ? "" : fmt::format(", {} images less accurate than asked", failed_)));
  for (const auto& [kind, count] : warnings_)
    if (count > 1) say("warning", fmt::format("{}: so in {} of {} images", kind.first, count, done_));
  if (suspicious_ > 0)
    say("verdict", fmt::format("{} of {} images are suspicious", suspicious_, done_));
  else if (!worst_verdict_.empty())
    say("verdict", "the worst of all: " + worst_verdict_);
}

}  // namespace fhd::app
