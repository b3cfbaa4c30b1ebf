#include "io/scan/outside_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/cfl_file.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/noise_readouts.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

// --- Sensitivity maps

class OutsideMaps {
 public:
  OutsideMaps(const ReadOptions& options, ScanSummary& summary)
      : path_(options.outside.sensitivity_maps),
        matrix_size_(summary.geometry.matrix_size),
        precision_(options.precision),
        replaces_(summary.has_sensitivity_maps) {
    is_bart(path_) ? open_cfl(summary) : open_hdf5(summary);
    summary.has_sensitivity_maps = true;
  }

  void put_into(Scan& scan, std::int64_t slice, std::int64_t) {
    if (cfl_)
      scan.sensitivity_maps = SensitivityMaps{cfl::read_maps(*cfl_, slice)};
    else
      scan.sensitivity_maps =
          read_sensitivity_maps(*file_, scan.kspace.coil_count(), matrix_size_, slice, precision_);
    scan.messages.push_back({"sensitivity_maps", Severity::note,
                             fmt::format("the sensitivity maps were taken from {}{}", path_,
                                         replaces_ ? ", in place of the scan's own" : "")});
  }

 private:
  static constexpr auto remedy =
      "give maps of these coils and this matrix, or the matrix of the maps with --matrix X,Y,Z";

  void open_cfl(const ScanSummary& summary) {
    cfl_.emplace(bart_name(path_));
    cfl::require_maps(*cfl_);
    const auto& n = cfl_->extents();
    const bool agrees = n[cfl::coil_axis] == summary.coil_count &&
                        std::equal(matrix_size_.begin(), matrix_size_.end(), n.begin()) &&
                        (n[cfl::slice_axis] == 1 || n[cfl::slice_axis] == summary.slice_count);
    if (!agrees)
      throw Error(
          cfl_->path(),
          fmt::format("sensitivity maps [{}][{}][{}][{}], the matrix and the coils of {}", matrix_size_[0],
                      matrix_size_[1], matrix_size_[2], summary.coil_count, summary.path),
          cfl::text_of(n), remedy);
  }

  void open_hdf5(const ScanSummary& summary) {
    file_.emplace(hdf5::File::open(path_));
    if (!holds(*file_, maps_name))
      throw Error(path_,
                  "sensitivity maps: /sensitivity_maps [coil][z][y][x], or a BART pair [x][y][z][coil]",
                  "an HDF5 file without them");
    const hdf5::Extents expected{summary.coil_count, matrix_size_[2], matrix_size_[1], matrix_size_[0]};
    auto found = file_->dataset(maps_name).complex_extents();
    const auto stored = hdf5::text_of(found);
    if (found.size() == 5 && found.front() == summary.slice_count) found.erase(found.begin());
    if (found != expected)
      throw Error(file_->subject(maps_name),
                  fmt::format("{}, the coils and the matrix of {}", hdf5::text_of(expected), summary.path),
                  stored, remedy);
  }

  std::string path_;
  std::array<int, 3> matrix_size_;
  Precision precision_;
  bool replaces_;
  std::optional<cfl::CflFile> cfl_;
  std::optional<hdf5::File> file_;
};

// --- Noise

/// All values of a BART pair as [coil][sample]: coils along their axis, samples along all others.
Array<Complex<float>> noise_of_cfl(const std::string& path) {
  cfl::CflFile file(bart_name(path));
  const auto& n = file.extents();
  std::int64_t inner = 1, outer = 1;
  for (std::size_t axis = 0; axis < cfl::coil_axis; ++axis) inner *= n[axis];
  for (std::size_t axis = cfl::coil_axis + 1; axis < cfl::axis_count; ++axis) outer *= n[axis];
  const auto coils = n[cfl::coil_axis];
  Array<Complex<float>> stored({outer, coils, inner}), noise({coils, outer * inner});
  file.read(0, 0, stored.data(), stored.size());
  for (std::int64_t block = 0; block < outer; ++block)
    for (std::int64_t coil = 0; coil < coils; ++coil)
      std::copy_n(stored.data() + (block * coils + coil) * inner, inner,
                  noise.data() + (coil * outer + block) * inner);
  return noise;
}

/// Time from one sample to the next, us; 0 where unknown.
double dwell_us(const Scan& scan) {
  if (!scan.sample_time_s || scan.sample_time_s->size() < 2) return 0;
  return std::max(0.0, ((*scan.sample_time_s)[1] - (*scan.sample_time_s)[0]) * 1e6);
}

class OutsideNoise {
 public:
  OutsideNoise(const ReadOptions& options, ScanSummary& summary) : path_(options.outside.noise) {
    if (is_bart(path_))
      noise_.samples = noise_of_cfl(path_);
    else if (const auto file = hdf5::File::open(path_); holds(file, noise_name))
      noise_.samples = read_noise(file, summary.coil_count);
    else
      noise_ = mrd::read_noise_measurement(path_);
    const auto& shape = noise_.samples.shape();
    if (shape[0] != summary.coil_count)
      throw Error(
          path_, fmt::format("noise of the {} coils of {}, [coil][sample]", summary.coil_count, summary.path),
          shape.text(), "give noise that was measured with these coils");
  }

  void put_into(Scan& scan, std::int64_t, std::int64_t) {
    const double scale = mrd::noise_scale(noise_.dwell_us, dwell_us(scan), noise_.relative_bandwidth);
    auto text = fmt::format("the noise was taken from {}{}: {} samples", path_,
                            scan.noise ? ", in place of the scan's own" : "", noise_.samples.extent(1));
    if (noise_.readouts > 0)
      text +=
          fmt::format(" of {} readouts{}", noise_.readouts,
                      noise_.flagged ? " that are flagged as noise" : ", of which none is flagged as noise");
    if (noise_.dwell_us > 0 && dwell_us(scan) > 0)
      text += fmt::format(", scaled by {:.4g} from a dwell time of {:.4g} us to one of {:.4g} us", scale,
                          noise_.dwell_us, dwell_us(scan));
    else
      text += ", not scaled, because the dwell time of one of both is unknown";
    scan.noise = noise_.samples;
    mrd::multiply(*scan.noise, scale);
    scan.messages.push_back({"noise", Severity::note, std::move(text)});
  }

 private:
  std::string path_;
  mrd::NoiseMeasurement noise_;
};

}  // namespace

Correction open_outside_maps(const ReadOptions& options, ScanSummary& summary) {
  return correction_of(std::make_shared<OutsideMaps>(options, summary));
}

Correction open_outside_noise(const ReadOptions& options, ScanSummary& summary) {
  return correction_of(std::make_shared<OutsideNoise>(options, summary));
}

void add_outside_pieces(ScanFile& file, const ReadOptions& options) {
  const auto& outside = options.outside;
  auto& summary = file.editable_summary();
  const auto add = [&](const std::string& path, auto open) {
    if (path.empty()) return;
    file.add([path, put_into = open(options, summary)](Scan& scan, VolumeContext& context) {
      put_into(scan, context);
      scan.validate(path);  // it was valid before: what is wrong now is the piece
    });
  };
  add(outside.trajectory, open_outside_trajectory);
  add(outside.sensitivity_maps, open_outside_maps);
  add(outside.noise, open_outside_noise);
  add(outside.field_map, open_outside_field_map);
  summary.outside_pieces = outside.given();
  for (const auto& [what, path] : summary.outside_pieces) summary.facts.emplace_back(what + " from", path);
}

}  // namespace fhd::io
