#pragma once
// Siemens raw data as the scanner exports it ("twix", meas.dat): the container.
//
//   VD, VE and XA: a table at the beginning (MrParcRaidFileHeader) {u32 kind, u32 count, 64 x {u32 id, u32 file, u64 begin,
//   u64 length, char patient[64], char protocol[64]}}; each measurement begins at a multiple of 512. VA, VB: one
//   measurement, from byte 0.
//   A measurement: u32 length of its header, u32 number of texts, each text {name\0, u32 length, bytes}; from the end of
//   the header on blocks, which begin with a head (MDH, measurement_head.hpp), to one with the bit ACQEND.
//
// Facts from the sources of twixtools (github.com/pehses/twixtools) and siemens_to_ismrmrd
// (github.com/ismrmrd/siemens_to_ismrmrd). Numbers are little-endian.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/scan/twix/measurement_head.hpp"

namespace fhd::io::twix {

/// A measurement of a file.
struct Measurement {
  std::uint64_t begin = 0, end = 0;  ///< bytes of the file
  std::string protocol;              ///< as the table names it; empty in VB
  bool is_vb = false;
};

/// A block of a measurement that is a readout.
struct Block {
  std::uint64_t begin = 0;
  MeasurementHead head;
};

/// An open file; from any thread.
class RawFile {
 public:
  /// Reads the table. Throws Error where it contradicts the length of the file.
  explicit RawFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<Measurement>& measurements() const { return measurements_; }
  /// Returns the texts of a measurement's header, by name: "Meas", "MeasYaps", "Dicom", ... Throws Error.
  std::vector<std::pair<std::string, std::string>> texts(const Measurement& measurement) const;
  /// Calls visit(block) for every readout; blocks of synchronous data are passed over. Returns whether the measurement ends with
  /// ACQEND, as it does unless it was stopped. Throws Error where a block does not fit.
  bool for_each_readout(const Measurement& measurement, const std::function<void(const Block&)>& visit) const;
  /// Returns the head of the readout at byte `begin`. Throws Error.
  MeasurementHead head(std::uint64_t begin, bool is_vb) const;
  /// Puts the samples of a readout, [channel][sample][re, im], at the beginning of `numbers`, which becomes long enough.
  void read_values(const Block& block, bool is_vb, std::vector<float>& numbers) const;
  /// Returns the numbers by which the scanner names the channels of a readout, in their order.
  std::vector<int> channels(const Block& block, bool is_vb) const;

 private:
  InputFile file_;
  std::vector<Measurement> measurements_;
};

/// Returns whether the first bytes are those of a file of this kind. False where it cannot be read.
bool is_raw_file(const std::string& path);

}  // namespace fhd::io::twix
