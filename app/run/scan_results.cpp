#include "app/run/scan_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/options/table.hpp"
#include "app/terminal/console.hpp"
#include "io/result/dicom.hpp"
#include "io/result/formats.hpp"
#include "io/result/nifti.hpp"
#include "io/scan/checksum.hpp"
#include "recon/array/trace.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {

namespace {

/// Returns the step from each number to the next; 0 where it differs, or goes backwards.
double even_step(const std::vector<std::int64_t>& numbers) {
  if (numbers.size() < 2 || numbers[1] <= numbers[0]) return 0;
  const auto step = numbers[1] - numbers[0];
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] - numbers[i - 1] != step) return 0;
  return static_cast<double>(step);
}

/// Returns "0-39", "0-3,7" or "5,1", as the options take them.
std::string in_ranges(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0, end; i < numbers.size(); i = end) {
    for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    text += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    if (end - i > 1) text += "-" + std::to_string(numbers[end - 1]);
  }
  return text;
}

}  // namespace

io::SeriesIdentity identity_of(const RunOptions& options, const io::Provenance& provenance) {
  io::SeriesIdentity identity{{"the scan", provenance.input_checksum},
                              {"fhd", provenance.program_version},
                              {"--repetitions", in_ranges(provenance.repetitions)},
                              {"--slices", in_ranges(provenance.slices)}};
  for (const auto& row : option_table())
    if (const auto given = options.given.find(row.flag);
        (row.commands & in_recon) != 0 && row.effect == Effect::image && given != options.given.end())
      identity.emplace_back(row.flag, recorded_value(row, given->second));
  return identity;
}

ScanResults::ScanResults(const std::string& path, const io::ScanSummary& summary,
                         const VolumeSelection& selection, std::string command_line)
    : geometry_(summary.geometry),
      slice_geometries_(summary.slice_geometries),
      provenance_{program_version, std::move(command_line), path, {}, utc_now(), {}, {}},
      stamps_(summary.stamps) {
  companions_.acquisition = summary.acquisition;
  companions_.echo_times_s = summary.echo_times_s;
  // Counted before there is a list of them.
  io::require_room({path},
                   {summary.geometry, selected_count(selection.slices, summary.slice_count, "--slices"),
                    selected_count(selection.repetitions, summary.repetition_count, "--repetitions")},
                   path);
  const auto slices = parse_selection(selection.slices, summary.slice_count, "--slices");
  const auto repetitions = parse_selection(selection.repetitions, summary.repetition_count, "--repetitions");
  set_volumes(repetitions, slices);
  if (!summary.repetition_counters.empty())
    for (const auto i : repetitions)
      provenance_.repetition_counters.push_back(summary.repetition_counters[static_cast<std::size_t>(i)]);
  if (!summary.slice_counters.empty())
    for (const auto i : slices)
      provenance_.slice_counters.push_back(summary.slice_counters[static_cast<std::size_t>(i)]);
  provenance_.repetition_time_s = even_step(repetitions) * summary.repetition_time_s;
  add_pieces(summary.outside_pieces);
}

void ScanResults::set_volumes(const std::vector<std::int64_t>& repetitions,
                              const std::vector<std::int64_t>& slices) {
  volumes_.clear();
  for (const auto repetition : repetitions)
    for (const auto slice : slices) volumes_.push_back({repetition, slice});
  series_.repetition_count = static_cast<std::int64_t>(repetitions.size());
  series_.slice_count = static_cast<std::int64_t>(slices.size());
  gridded_ = series_;  // without images yet
  series_.images.resize(volumes_.size());
  provenance_.reports.resize(volumes_.size());
  provenance_.repetitions = repetitions;
  provenance_.slices = slices;
}

void ScanResults::add_pieces(const std::vector<std::pair<std::string, std::string>>& pieces) {
  const auto& known = provenance_.pieces;
  for (const auto& [what, file] : pieces)
    if (std::none_of(known.begin(), known.end(),
                     [&](const auto& piece) { return piece.what == what && piece.path == file; }))
      provenance_.pieces.push_back({what, file, io::checksum_of(file)});
}

void ScanResults::take_frames(std::int64_t frames, double frame_time_s) {
  // They do not begin with the series.
  if (provenance_.repetitions.front() > 0) companions_.acquisition.series_time.clear();
  std::vector<std::int64_t> repetitions(static_cast<std::size_t>(frames));
  std::iota(repetitions.begin(), repetitions.end(), std::int64_t{0});
  set_volumes(repetitions, std::vector(provenance_.slices));
  provenance_.repetition_counters.clear();
  provenance_.repetition_time_s = even_step(repetitions) * frame_time_s;
  provenance_.frames.reset();
}

void ScanResults::add_frames(const FrameLayout& layout) {
  auto& frames = provenance_.frames;
  if (!frames) {
    frames.emplace().readouts_per_frame = layout.readouts_per_frame;
    for (std::int64_t frame = 0; frame < layout.frames; ++frame)
      frames->first_readouts.push_back(layout.first_readout(frame));
  }
  if (!layout.gate) return;
  std::vector<double> bins(layout.order.size(), -1);
  for (std::int64_t i = 0; i < layout.frames * layout.readouts_per_frame; ++i)
    bins[static_cast<std::size_t>(layout.order[static_cast<std::size_t>(i)])] =
        static_cast<double>(i / layout.readouts_per_frame);
  frames->gating.push_back({layout.gate->source, layout.gate->values, std::move(bins)});
}

std::vector<std::string> ScanResults::inputs() const {
  std::vector<std::string> paths{provenance_.input_path};
  for (const auto& piece : provenance_.pieces) paths.push_back(piece.path);
  return paths;
}

void ScanResults::keep_in(std::shared_ptr<io::SeriesFolder> folder,
                          const std::function<void(const Report&)>& on_earlier) {
  folder_ = std::move(folder);
  provenance_.reports.clear();
  if (folder_->finished_count() > 0)
    earlier_run_ = fmt::format("{} of {} images: {}", folder_->finished_count(), volumes_.size(),
                               folder_->earlier_host());
  for (std::size_t i = 0; i < volumes_.size(); ++i) {
    if (!folder_->holds(i)) continue;
    const auto [geometry, report] = folder_->summary(i);
    series_.images[i].geometry = geometry;
    note_doubt(i, report);
    on_earlier(report);
  }
}

/// Records the first image that is suspicious, for --strict.
void ScanResults::note_doubt(std::size_t number, const Report& report) {
  if (doubt_ && doubt_->first < number) return;
  const auto found = std::find_if(report.messages.begin(), report.messages.end(), is_doubt);
  if (found != report.messages.end()) doubt_ = {number, *found};
}

void ScanResults::add(std::size_t number, ReconResult made) {
  Reconstruction& result = made.reconstruction;
  if (folder_)  // others store theirs meanwhile
    folder_->add(number, result.image, result.gridded ? &*result.gridded : nullptr, result.diagnostic_images,
                 result.report);
  const std::lock_guard lock(*adding_);
  note_doubt(number, result.report);
  if (folder_) {
    series_.images[number].geometry = result.image.geometry;
    return;
  }
  companions_.noise = std::move(made.noise);
  if (number == 0) companions_.diagnostic_images = std::move(result.diagnostic_images);
  if (result.gridded) {
    gridded_.images.resize(volumes_.size());
    gridded_.images[number] = std::move(*result.gridded);
  }
  series_.images[number] = std::move(result.image);
  provenance_.reports[number] = std::move(result.report);
}

std::string ScanResults::note_positions() {
  auto text = io::note_of_places(io::stacks_of(series_));
  if (text.empty()) return text;
  auto& messages = folder_ ? further_notes_ : provenance_.reports.front().messages;
  messages.push_back({"positions", Severity::note, text});
  return text;
}

std::size_t ScanResults::stack_count() const {
  std::vector<Geometry> chosen;
  for (const auto slice : provenance_.slices)
    if (!slice_geometries_.empty()) chosen.push_back(slice_geometries_[static_cast<std::size_t>(slice)]);
  return std::max(chosen.empty() ? 1 : stacks_of(chosen).size(), io::stacks_of(series_).size());
}

std::string ScanResults::name_of(std::size_t number) const {
  return io::name_of_repetition(provenance_.repetition_counters,
                                number / static_cast<std::size_t>(series_.slice_count));
}

std::string ScanResults::note_of_patient(const io::ResultRequest& request) const {
  return request.asks_for("dicom")
             ? io::note_of_pseudonym(companions_.acquisition, provenance_.input_checksum)
             : "";
}

void ScanResults::require_room(const io::ResultRequest& request) const {
  std::int64_t largest = 0;
  for (const auto& [repetition, slice] : volumes_) largest = std::max({largest, repetition, slice});
  io::require_room(request,
                   {geometry_, series_.slice_count, series_.repetition_count, largest,
                    static_cast<std::int64_t>(stack_count())},
                   path());
}

void ScanResults::require_trust(bool strict) const {
  if (!strict || !doubt_) return;
  auto [text, remedy] = std::pair(doubt_->second.text, doubt_->second.remedy);
  for (auto* part : {&text, &remedy})
    if (part->ends_with('.')) part->pop_back();
  throw Error(path(), "a scan without doubts (" + flag_words("strict") + ")", text,
              (remedy.empty() ? "" : remedy + "; ") + "no result was written, because " +
                  flag_words("strict") + " was given");
}

namespace {

/// Returns the series of stored gridded images, which lie where the images do.
io::ImageSeries gridded_of(io::ImageSeries series, std::shared_ptr<const io::RawImages> stored) {
  for (auto& image : series.images)
    for (int axis = 0; axis < 3; ++axis)
      image.geometry.matrix_size[axis] = static_cast<int>(stored->shape()[2 - axis]);
  series.stored = std::move(stored);
  return series;
}

}  // namespace

std::vector<std::string> ScanResults::write(const io::OutputLock& lock, const io::ResultRequest& request,
                                            std::optional<int> compression_level) {
  stamps_.require_unchanged();  // also after the checksum was made
  companions_.compression.level = compression_level.value_or(companions_.compression.level);
  if (folder_) {
    series_.stored = folder_->images();
    companions_.diagnostic_images = folder_->diagnostics();
    if (!earlier_run_.empty()) provenance_.environment.emplace_back("earlier_run", earlier_run_);
    if (folder_->gridded()) gridded_ = gridded_of(series_, folder_->gridded());
    provenance_.stored_report = [this](std::size_t i) {
      auto stored = folder_->report(i);
      if (i > 0 || further_notes_.empty()) return stored;
      auto report = nlohmann::ordered_json::parse(stored.report);
      for (const auto& note : further_notes_) report["messages"].push_back(note);
      stored.report = io::json_line(report);
      return stored;
    };
  }
  if (gridded_.images.size() == series_.images.size()) companions_.gridded = std::move(gridded_);
  auto written = io::write_results(lock, request, series_, provenance_, companions_);
  const trace::Span span("remove what was partial", "write");
  if (folder_) folder_->remove();
  return written;
}

}  // namespace fhd::app
