// Scans in Siemens raw data (meas.dat): raw_file.hpp describes the layout, content.hpp what readouts are made of it,
// mrd/volume_assembler.hpp what they mean.
#include <memory>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/mrd/copy_readouts.hpp"
#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/twix/content.hpp"

namespace fhd::io {
namespace {

class TwixFile {
 public:
  TwixFile(const std::string& path, const ReadOptions& options)
      : content_(path, options), volumes_(assembled(content_, path, options)), summary_(volumes_.summary()) {
    summary_.format = twix_format;
    summary_.missing.insert(summary_.missing.end(), content_.missing().begin(), content_.missing().end());
    if (const auto measurement = content_.measurement(); !measurement.empty())
      summary_.facts.emplace_back("measurement", measurement);
  }
  const ScanSummary& summary() const { return summary_; }
  Scan read(std::int64_t slice, std::int64_t repetition) const {
    return volumes_.volume(slice, repetition, twix::ReadoutReader(content_, true));
  }
  Sentences copy(const ReadOptions& options, hdf5::File& file) const {
    const auto reader_of = [this](bool with_values) -> mrd::Source {
      return [reader = std::make_shared<twix::ReadoutReader>(content_, with_values)](std::int64_t number) {
        return (*reader)(number);
      };
    };
    return mrd::copy_readouts(
        {content_.header_xml(), summary_.path + ": header", content_.count(), reader_of},
        volumes_.positions(), options, file);
  }

 private:
  static mrd::VolumeAssembler assembled(const twix::Content& content, const std::string& path,
                                        const ReadOptions& options) {
    const mrd::Subjects subjects{path, path + ": header", path + ": readouts"};
    mrd::VolumeAssembler volumes(mrd::parse_header(content.header_xml(), subjects.header), options, subjects,
                                 content.inferred());
    twix::ReadoutReader heads(content, false), whole(content, true);
    volumes.follow_sequence(content.count(), std::ref(heads));
    for (std::int64_t number = 0; number < content.count(); ++number) volumes.add(heads(number));
    volumes.finish(std::ref(heads), std::ref(whole));
    return volumes;
  }

  twix::Content content_;
  mrd::VolumeAssembler volumes_;
  ScanSummary summary_;
};

}  // namespace

bool is_twix(const std::string& path) { return twix::is_raw_file(path); }

ScanSource open_twix(const std::string& path, const ReadOptions& options) {
  return source_of(std::make_shared<TwixFile>(path, options), true);
}

/// Copies Siemens raw data to ISMRMRD. Returns what is not written.
Sentences copy_twix(const std::string& from, const ReadOptions& options, hdf5::File& to) {
  return TwixFile(from, options).copy(options, to);
}

}  // namespace fhd::io
