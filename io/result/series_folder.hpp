#pragma once
// PREFIX.partial: the finished volumes of a series that is under way, so that they need no memory and outlive the
// process. In it:
//
//   series.json     what the series is of: scan, program, settings, selection, sizes
//   images.raw      values of the images, [volume][z][y][x] in the order of the results: complex64, or complex128 where
//   gridded.raw     the work is in double precision; the gridded images likewise
//   exhibits.raw    what OUT.h5 shows as /exhibits
//   reports.jsonl   a line for each finished volume: its number, the CRC-32 of its values, its geometry, its report
//   lock            held by the process that writes here
//
// A volume is finished when its line is complete and its values are what the line says; a line is written after the
// values. So what a crash of the program or the machine cuts off is done again, and nothing else.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/files/folder.hpp"
#include "io/result/raw_images.hpp"
#include "recon/domain/report.hpp"

namespace fhd::io {

/// What decides the images of a series: name and value, as a person reads them.
using SeriesIdentity = std::vector<std::pair<std::string, std::string>>;

class SeriesFolder {
 public:
  static std::string path_of(const std::string& prefix) { return prefix + ".partial"; }

  /// Takes PREFIX.partial, alone, with what an earlier run of the same series left there. `identity`: called once, here
  /// or by the first `add`; may wait. `anew`: what is there is not used, whatever it is of. `host`: on what this run
  /// works, which need not be the same; called once by the first `add`. Throws Error: it is of another series, another process has it, or it is no
  /// such folder.
  SeriesFolder(const std::string& prefix, std::size_t volume_count, std::function<SeriesIdentity()> identity,
               std::function<std::string()> host, bool anew);
  /// Leaves what is finished; without any, nothing.
  ~SeriesFolder();
  SeriesFolder(const SeriesFolder&) = delete;
  SeriesFolder& operator=(const SeriesFolder&) = delete;

  const std::string& path() const { return path_; }
  bool holds(std::size_t number) const { return lines_[number].bytes > 0; }
  std::size_t finished_count() const { return finished_; }
  /// What an earlier run said of its host; empty where there was none.
  const std::string& earlier_host() const { return earlier_host_; }

  /// A volume is finished. Throws Error: a full disk, an image of another size.
  void add(std::size_t number, const Image& image, const Image* gridded, const DiagnosticImages& exhibits,
           const Report& report);

  /// Of finished volumes.
  std::string report(std::size_t number) const;  ///< as JSON
  Geometry geometry(std::size_t number) const;
  std::shared_ptr<const RawImages> images() const { return images_; }
  std::shared_ptr<const RawImages> gridded() const { return gridded_; }  ///< null: there are none
  DiagnosticImages exhibits() const;

  /// It has served.
  void remove();

 private:
  struct Line {
    std::int64_t offset = 0;
    std::uint32_t bytes = 0;
  };
  std::string file(const char* name) const { return path_ + "/" + name; }
  Descriptor opened(const char* name) const;
  void take();
  void make();
  bool lock(NameRace& race);
  void resume();
  void begin_where_it_ended();
  void read_lines();
  void begin(const Image& image, const Image* gridded);
  void open_values(const Shape& shape, const std::optional<Shape>& gridded, bool in_double);
  std::string line(std::size_t number) const;
  void write_exhibits(const DiagnosticImages& exhibits);
  void flush_now_and_then();
  void tell() const;

  std::string path_, earlier_host_;
  std::function<SeriesIdentity()> identity_;
  std::function<std::string()> host_;
  std::vector<Line> lines_;
  std::size_t finished_ = 0;
  std::shared_ptr<const Folder> parent_, folder_;
  Descriptor lock_, reports_;
  std::int64_t end_of_reports_ = 0;
  std::shared_ptr<RawImages> images_, gridded_;
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
  bool removed_ = false;
};

/// "119 of 200 images are in OUT.partial; the same command goes on with the others", where this process ends before
/// its series; else empty. From any thread.
std::string note_of_unfinished_series();
/// Removes a folder in which nothing is finished yet, for a process that is about to end. From any thread.
void remove_empty_series_folder();

}  // namespace fhd::io
