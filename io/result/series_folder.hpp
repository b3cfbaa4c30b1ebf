#pragma once
// PREFIX.partial: the finished volumes of a series that is under way, so that they need no memory and outlive the
// process. The lock of PREFIX guards it. In it:
//
//   series.json     the scan, the program, the settings, the selection and the sizes of the series
//   images.raw      values of the images, [volume][z][y][x] in the order of the results: complex64, or complex128 where
//   gridded.raw     the work is in double precision; the gridded images likewise
//   diagnostics.raw    the diagnostic images of OUT.h5
//   reports.jsonl   a line for each finished volume: its number, the CRC-32 of its values, its geometry, its report
//
// A volume is finished when its line is complete and its values are what the line says; a line is written after the
// values. So what a crash of the program or the machine cuts off is done again, and nothing else.
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/files/folder.hpp"
#include "io/result/raw_images.hpp"
#include "io/result/report_json.hpp"

namespace fhd::io {

/// Everything that decides the images of a series: name and value, as a person reads them.
using SeriesIdentity = std::vector<std::pair<std::string, std::string>>;

/// For the holder of the lock of PREFIX. The folder is made when the first volume is finished.
class SeriesFolder {
 public:
  static std::string path_of(const std::string& prefix) { return prefix + ".partial"; }

  /// Takes up what an earlier run of the same series left in PREFIX.partial, unless the series is to begin `anew`.
  /// `identity` and `host`, the device of this run, are called when they are needed, and may wait. Throws Error: the folder
  /// is of another series, or no such folder.
  SeriesFolder(const std::string& prefix, std::size_t volume_count, std::function<SeriesIdentity()> identity,
               std::function<std::string()> host, bool anew);
  /// Leaves what is finished.
  ~SeriesFolder();
  SeriesFolder(const SeriesFolder&) = delete;
  SeriesFolder& operator=(const SeriesFolder&) = delete;

  const std::string& path() const { return path_; }
  bool holds(std::size_t number) const {
    const std::lock_guard lock(mutex_);
    return is_stored(number);
  }
  std::size_t finished_count() const {
    const std::lock_guard lock(mutex_);
    return finished_;
  }
  /// Returns the device of an earlier run; empty where there was none.
  const std::string& earlier_host() const { return earlier_host_; }

  /// Stores a finished volume; several threads may store volumes at a time. Throws Error: a full disk, an image of another
  /// size.
  void add(std::size_t number, const Image& image, const Image* gridded, const DiagnosticImages& diagnostics,
           const Report& report);

  /// Returns what is stored of a finished volume; from several threads.
  ReportLines report(std::size_t number) const;
  /// Returns its geometry, and what a summary of the series needs of its report.
  std::pair<Geometry, Report> summary(std::size_t number) const;
  std::shared_ptr<const RawImages> images() const { return images_; }
  std::shared_ptr<const RawImages> gridded() const { return gridded_; }  ///< null: there are none
  DiagnosticImages diagnostics() const;

  /// Removes the folder, once its volumes are in the results.
  void remove();

 private:
  struct Line {
    std::int64_t offset = 0;
    std::uint32_t bytes = 0;
  };
  std::string file(const char* name) const { return path_ + "/" + name; }
  bool is_stored(std::size_t number) const { return lines_[number].bytes > 0; }
  Descriptor opened(const char* name) const;
  void resume();
  void read_lines();
  void begin(const Image& image, const Image* gridded);
  void open_files(const Shape& shape, const std::optional<Shape>& gridded, bool in_double);
  std::string line(std::size_t number) const;
  void write_line(std::size_t number, const std::string& text);
  void write_diagnostics(const DiagnosticImages& diagnostics);
  void flush_now_and_then();
  void note_count() const;

  std::string path_, earlier_host_;
  mutable std::mutex
      mutex_;  ///< of all that changes after the first volume: counts, lines, and the end of the reports
  std::function<SeriesIdentity()> identity_;
  std::function<std::string()> host_;
  std::vector<Line> lines_;
  std::size_t finished_ = 0;
  std::shared_ptr<const Folder> folder_;
  Descriptor reports_;
  std::int64_t end_of_reports_ = 0;
  std::shared_ptr<RawImages> images_, gridded_;
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

/// Returns "119 of 200 images are in OUT.partial; the same command goes on with the others", if this process ends before
/// its series; else nothing. From any thread.
std::string note_of_unfinished_series();

}  // namespace fhd::io
