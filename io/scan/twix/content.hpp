#pragma once
// The readouts of Siemens raw data in the terms of ISMRMRD: which measurement is the image, which readouts serve as its noise,
// and the head and values of each.
//
//   - The image is the last measurement with readouts of an image, or that of `--group`: its number, from 1, or its protocol.
//   - Noise is what the image's own measurement flags as noise; else what the nearest measurement before it with the same
//     channels does (adjustments of VD and later), its channels in the order of the image's.
//   - Echo trains that are sampled on ramps are regridded (mrd/ramp_regridding.hpp): image, phase correction, and references
//     that are echo trains themselves.
//   - References of another length or centre than the image are of encoding space 1.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/scan/mrd/ramp_regridding.hpp"
#include "io/scan/scan_file.hpp"
#include "io/scan/twix/header.hpp"
#include "io/scan/twix/raw_file.hpp"

namespace fhd::io::twix {

/// An open file whose heads have been read once. Const functions may be called by several threads.
class Content {
 public:
  /// Throws Error where the file is damaged or cut, or holds what cannot be reconstructed.
  Content(const std::string& path, const ReadOptions& options);

  std::string header_xml() const { return twix::header_xml(protocol_, facts_); }
  std::int64_t count() const { return static_cast<std::int64_t>(begins_.size()); }
  /// Returns what is inferred, and what is missing; one sentence each.
  const std::vector<std::string>& inferred() const { return inferred_; }
  const std::vector<std::string>& missing() const { return missing_; }
  /// Returns "2 of 3, 'gre'".
  std::string measurement() const;

 private:
  friend class ReadoutReader;
  /// Returns the distance of the middle of the FOV from the isocentre along the readout, as a part of the encoded FOV.
  double read_offset(const MeasurementHead& head) const;
  void choose_measurement(const std::string& group);
  void list_readouts(std::size_t measurement);
  void find_noise();
  void require_supported(const ReadOptions& options) const;
  void make_regridding();
  bool is_of_noise_measurement(std::int64_t number) const { return number < noise_count_; }
  bool is_regridded(const MeasurementHead& head) const;
  double dwell_us(const MeasurementHead& head, bool of_noise_measurement) const;
  mrd::ReadoutHead head_of(const MeasurementHead& head, bool of_noise_measurement) const;
  std::string name_of(std::size_t measurement) const;

  RawFile file_;
  std::size_t chosen_ = 0;
  Protocol protocol_, noise_protocol_;
  HeaderFacts facts_;
  std::vector<std::uint64_t> begins_;  ///< noise of another measurement, then the readouts of the image's
  std::int64_t noise_count_ = 0;       ///< of another measurement
  std::vector<int>
      noise_channels_;  ///< the place, among those of the noise, of each channel of the image; empty: as it is
  bool has_own_noise_ = false;
  std::unique_ptr<mrd::RampRegridding> regridding_;
  std::vector<std::string> inferred_, missing_;
};

/// Reads the readouts of a content, which must outlive it; for one thread.
class ReadoutReader {
 public:
  ReadoutReader(const Content& content, bool with_values) : content_(content), with_values_(with_values) {}
  /// Returns a readout, whose values live until the next call; empty without values. Throws Error.
  mrd::Readout operator()(std::int64_t number);

 private:
  const Content& content_;
  const bool with_values_;
  std::vector<float> values_, changed_;
};

}  // namespace fhd::io::twix
