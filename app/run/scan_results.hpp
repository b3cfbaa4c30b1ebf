#pragma once
// The images of one scan, as they are made, with the report of each.
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/devices.hpp"
#include "app/options/run_options.hpp"
#include "app/run/recon_engine.hpp"
#include "app/run/volume_reader.hpp"
#include "io/result/results.hpp"
#include "io/result/series_folder.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

class ScanResults {
 public:
  /// `path`: as the user gave it. Throws Error where the selection is not of this scan, or a format of the results has no
  /// room for so many volumes.
  ScanResults(const std::string& path, const io::ScanSummary& summary, const VolumeSelection& selection,
              std::string command_line);
  /// Sets the checksum of the scan, before write(). Throws Error where the scan has changed since it was opened.
  void set_checksum(std::string checksum) {
    provenance_.input_checksum = std::move(checksum);
    stamps_.require_unchanged();
  }
  /// Adds files, name and path each, whose content decides the images, unless they are there. Throws Error.
  void add_pieces(const std::vector<std::pair<std::string, std::string>>& pieces);
  /// Makes the repetitions frames, `frame_time_s` from each to the next (0: not known, or not even), before the first
  /// image.
  void take_frames(std::int64_t frames, double frame_time_s);
  /// Records the layout of the frames of the next slice.
  void add_frames(const FrameLayout& layout);
  void set_devices(const std::vector<ChosenDevice>& devices) {
    provenance_.environment = environment_of(devices), host_ = text_of(devices);
  }
  const std::string& host() const { return host_; }
  /// Stores volumes in a folder, from now on, instead of in memory. `on_earlier` is called with what a summary needs of
  /// the report of each volume that the folder holds from an earlier run.
  void keep_in(std::shared_ptr<io::SeriesFolder> folder,
               const std::function<void(const Report&)>& on_earlier);
  /// Returns whether an earlier run has left the volume.
  bool holds(std::size_t number) const { return folder_ && folder_->holds(number); }
  /// Returns how many volumes the folder holds.
  std::size_t finished_count() const { return folder_ ? folder_->finished_count() : 0; }
  /// Adds volume `number`; they come in any order, from several threads.
  void add(std::size_t number, ReconResult made);

  const std::string& path() const { return provenance_.input_path; }
  /// Returns the volumes selected, in the order of the results.
  const std::vector<VolumeNumber>& volumes() const { return volumes_; }
  /// Returns the scan, and the files that pieces of it came from.
  std::vector<std::string> inputs() const;
  /// Returns the volume in which what is wrong with the scan as a whole is looked for.
  std::size_t standing_for_scan() const { return static_cast<std::size_t>(series_.slice_count / 2); }
  /// Returns the reports of volumes in memory.
  const std::vector<Report>& reports() const { return provenance_.reports; }
  /// Returns what the scan file calls a volume beside others of the results: "contrast 1"; empty where it does not.
  std::string name_of(std::size_t number) const;
  const io::Provenance& provenance() const { return provenance_; }
  /// Returns images in memory, before and after they are written; those of the gridded series may be none.
  const io::ImageSeries& series() const { return series_; }
  const io::ImageSeries& gridded() const { return companions_.gridded ? *companions_.gridded : gridded_; }
  const io::CompanionResults& companions() const { return companions_; }

  /// Adds what is wrong with the positions of all volumes to the notes of the first, and returns it; empty where
  /// nothing is.
  std::string note_positions();
  /// Returns the number of stacks of the slices selected, each of which has a NIfTI file and a picture. It is certain once
  /// the images are made: an object may have moved since the first repetition, whose places the header tells.
  std::size_t stack_count() const;
  /// With `strict`, throws Error where a report holds a suspicion or a warning.
  void require_trust(bool strict) const;
  /// Throws Error where a format of the request cannot hold the results.
  void require_room(const io::ResultRequest& request) const;
  /// Returns what stands for a patient that the scan does not name, where a DICOM series is written; else empty.
  std::string note_of_patient(const io::ResultRequest& request) const;
  /// Writes the files of the request, for the holder of the lock of its prefix, and returns their paths
  /// (io::write_results).
  std::vector<std::string> write(const io::OutputLock& lock, const io::ResultRequest& request,
                                 std::optional<int> compression_level);

 private:
  void set_volumes(const std::vector<std::int64_t>& repetitions, const std::vector<std::int64_t>& slices);
  void note_doubt(std::size_t number, const Report& report);

  Geometry geometry_;
  std::vector<Geometry> slice_geometries_;  ///< of all slices of the scan
  std::vector<VolumeNumber> volumes_;
  io::ImageSeries series_, gridded_;
  io::CompanionResults companions_;
  io::Provenance provenance_;
  std::shared_ptr<io::SeriesFolder> folder_;
  std::unique_ptr<std::mutex> adding_ = std::make_unique<std::mutex>();  ///< of volumes in memory, and doubts
  std::string host_, earlier_run_;
  std::vector<Message> further_notes_;                    ///< of the first volume, beside those in the folder
  std::optional<std::pair<std::size_t, Message>> doubt_;  ///< of the first volume with one
  io::InputStamps stamps_;
};

/// Returns all that decides the images of a series, in which a run that goes on must agree: the scan and its pieces by their
/// checksums (`provenance`), the program, the volumes chosen, and the options given that change an image, files among them
/// by name and content. Throws Error.
io::SeriesIdentity identity_of(const RunOptions& options, const io::Provenance& provenance);

}  // namespace fhd::app
