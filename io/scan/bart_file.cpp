// BART cfl/hdr pairs: NAME.hdr holds up to 16 extents as text, NAME.cfl the complex single-precision values,
// first axis fastest. A scan called NAME is
//
//   NAME       k-space            [1][readout][spoke][coil], repetitions along axis 10, slices along axis 13
//   NAME_traj  k-space positions  [3][readout][spoke], the real part, cycles/FOV; axes 10 and 13 as above,
//                                 or 1 where shared
//   NAME_sens  sensitivity maps   [x][y][z][coil], slices along axis 13 or shared; optional
//
// BART's transform has the signs and the centre of recon/domain/scan.hpp (forward minus, voxel floor(N/2) at
// 0), and divides by sqrt(voxels) in each direction: its images are those of fhd times a constant. Values are
// passed on as they are. The files hold no matrix, FOV, position or directions: the matrix is --matrix, else
// that of NAME_sens, else twice the largest |k|, rounded up.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "io/files/file_set.hpp"
#include "io/files/input_file.hpp"
#include "io/scan/cfl_file.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::cfl {

static_assert(sizeof(Complex<float>) == 8);

std::string text_of(const Extents& extents) {
  std::size_t last = axis_count;
  while (last > 1 && extents[last - 1] == 1) --last;
  std::string text;
  for (std::size_t axis = 0; axis < last; ++axis) text += "[" + std::to_string(extents[axis]) + "]";
  return text;
}

CflFile::CflFile(const std::string& name) : path_(name + ".cfl") {
  const auto header_path = name + ".hdr";
  require_regular_file(header_path);
  require_regular_file(path_);
  std::ifstream header(header_path);
  if (!header) throw Error(header_path, "the header of a BART pair", "none, or one that cannot be read");
  std::string line;
  while (std::getline(header, line) && line.rfind("# Dimensions", 0) != 0) {
  }
  std::getline(header, line);
  std::istringstream numbers(line);
  extents_.fill(1);
  std::int64_t bytes = sizeof(Complex<float>);
  std::size_t axis = 0;
  for (std::int64_t extent = 0; numbers >> extent; ++axis) {
    if (axis == axis_count || extent < 1 || __builtin_mul_overflow(bytes, extent, &bytes))
      throw Error(header_path, "up to 16 extents of at least 1 below '# Dimensions'", "'" + line + "'");
    extents_[axis] = extent;
  }
  if (axis == 0 || !numbers.eof()) throw Error(header_path, "extents below '# Dimensions'", "'" + line + "'");
  const auto size = InputFile(path_, "the values of a BART pair").size();
  values_.open(path_, std::ios::binary);
  if (!values_) throw Error(path_, "the values of a BART pair", "a file that cannot be read");
  if (size != static_cast<std::uint64_t>(bytes))
    throw Error(path_, fmt::format("{} bytes for {}", bytes, text_of(extents_)),
                fmt::format("{} bytes", size), "the file is cut off or belongs to another header");
}

void CflFile::require_axes(std::initializer_list<std::size_t> axes, const char* expected) const {
  for (std::size_t axis = 0; axis < axis_count; ++axis)
    if (extents_[axis] != 1 && std::find(axes.begin(), axes.end(), axis) == axes.end())
      throw Error(path_, expected, text_of(extents_));
}

void CflFile::read(std::int64_t repetition, std::int64_t slice, Complex<float>* to, std::int64_t count) {
  const auto block = extents_[repetition_axis] == 1 ? 0 : repetition;
  const auto index = block + extents_[repetition_axis] * (extents_[slice_axis] == 1 ? 0 : slice);
  values_.clear();
  values_.seekg(static_cast<std::streamoff>(index * count) *
                static_cast<std::streamoff>(sizeof(Complex<float>)));
  values_.read(reinterpret_cast<char*>(to),
               static_cast<std::streamsize>(count) * static_cast<std::streamsize>(sizeof(Complex<float>)));
  if (!values_) throw Error(path_, "readable values", "a read failure");
}

void require_trajectory(const CflFile& file) {
  constexpr auto expected = "a trajectory [3][readout][spoke]";
  file.require_axes({0, readout_axis, spoke_axis, repetition_axis, slice_axis}, expected);
  if (file.extents()[0] != 3) throw Error(file.path(), expected, text_of(file.extents()));
}

Array<double> read_trajectory(CflFile& file, std::int64_t slice, std::int64_t repetition) {
  const auto samples = file.extents()[readout_axis] * file.extents()[spoke_axis];
  Array<Complex<float>> stored({samples, 3});
  file.read(repetition, slice, stored.data(), stored.size());
  Array<double> k({3, samples});
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) k[axis * samples + m] = stored[m * 3 + axis].re;
  return k;
}

void require_maps(const CflFile& file) {
  file.require_axes({0, 1, 2, coil_axis, slice_axis}, "sensitivity maps [x][y][z][coil]");
}

Array<Complex<float>> read_maps(CflFile& file, std::int64_t slice) {
  const auto& n = file.extents();
  Array<Complex<float>> maps({n[coil_axis], n[2], n[1], n[0]});
  file.read(0, slice, maps.data(), maps.size());
  return maps;
}

}  // namespace fhd::io::cfl

namespace fhd::io {
namespace {

namespace fs = std::filesystem;
using cfl::CflFile;
using cfl::coil_axis, cfl::readout_axis, cfl::repetition_axis, cfl::slice_axis, cfl::spoke_axis, cfl::text_of;

class BartFile {
 public:
  BartFile(const std::string& name, const ReadOptions& options) : kspace_(name) {
    if (options.outside.trajectory.empty()) trajectory_.emplace(open_trajectory(name));
    summary_.path = name + ".cfl";
    summary_.format = "BART cfl";
    require_extents();
    const auto& k = kspace_.extents();
    summary_.coil_count = k[coil_axis];
    summary_.samples_per_scan = k[readout_axis] * k[spoke_axis];
    summary_.readout_length = k[readout_axis];
    summary_.repetition_count = k[repetition_axis];
    summary_.slice_count = k[slice_axis];
    if (std::error_code status; fs::exists(name + "_sens.hdr", status)) open_maps(name);
    summary_.has_sensitivity_maps = sensitivity_maps_.has_value();

    trajectory_ ? choose_unit_and_matrix(options) : choose_matrix(options, {});
    summary_.states_directions = false;
    say(summary_.missing, "BART files state no FOV, position or directions: {} supplies the FOV.",
        option_words("fov-mm", "X,Y,Z"));
  }

  const ScanSummary& summary() const { return summary_; }

  Scan read(std::int64_t slice, std::int64_t repetition) {
    Scan scan;
    scan.geometry = summary_.geometry;
    scan.trajectory = trajectory_ ? read_trajectory(slice, repetition)
                                  : Trajectory{Array<double>({3, summary_.samples_per_scan})};
    scan.kspace.values = Array<Complex<float>>({summary_.coil_count, summary_.samples_per_scan});
    kspace_.read(repetition, slice, scan.kspace.values.data(), scan.kspace.values.size());
    if (sensitivity_maps_) scan.sensitivity_maps = SensitivityMaps{cfl::read_maps(*sensitivity_maps_, slice)};
    return scan;
  }

 private:
  static CflFile open_trajectory(const std::string& name) {
    std::error_code status;
    if (!fs::exists(name + "_traj.hdr", status))
      throw Error(name + "_traj.hdr", "the trajectory of " + name + ".cfl", "none",
                  "put it there as a BART pair [3][readout][spoke] in cycles/FOV, or name one with " +
                      option_words("trajectory"));
    return CflFile(name + "_traj");
  }

  void require_extents() const {
    kspace_.require_axes(
        {readout_axis, spoke_axis, coil_axis, repetition_axis, slice_axis},
        "k-space [1][readout][spoke][coil], with repetitions along axis 10 and slices along axis 13");
    if (!trajectory_) return;
    cfl::require_trajectory(*trajectory_);
    const auto& k = kspace_.extents();
    const auto& t = trajectory_->extents();
    for (const auto axis : {readout_axis, spoke_axis})
      if (t[axis] != k[axis])
        throw Error(trajectory_->path(),
                    fmt::format("[3][{}][{}] as in {}", k[readout_axis], k[spoke_axis], kspace_.path()),
                    text_of(t));
    for (const auto axis : {repetition_axis, slice_axis})
      if (t[axis] != 1 && t[axis] != k[axis])
        throw Error(trajectory_->path(), fmt::format("1 or {} along axis {}", k[axis], axis), text_of(t));
  }

  void open_maps(const std::string& name) {
    sensitivity_maps_.emplace(name + "_sens");
    cfl::require_maps(*sensitivity_maps_);
    const auto& n = sensitivity_maps_->extents();
    if (n[coil_axis] != summary_.coil_count || (n[slice_axis] != 1 && n[slice_axis] != summary_.slice_count))
      throw Error(sensitivity_maps_->path(),
                  fmt::format("[x][y][z][{}], the coils of {}", summary_.coil_count, kspace_.path()),
                  text_of(n));
  }

  void choose_unit_and_matrix(const ReadOptions& options) {
    unit_ = unit_of_format("BART", options, summary_.inferred);
    auto k = cfl::read_trajectory(*trajectory_, 0, 0);
    choose_matrix(options, largest_magnitude(k));
    look_at_trajectory(summary_, unit_, options, trajectory_->path(), k);
  }

  void choose_matrix(const ReadOptions& options, const std::array<double, 3>& largest) {
    auto& matrix_size = summary_.geometry.matrix_size;
    if (sensitivity_maps_) {
      for (int axis = 0; axis < 3; ++axis)
        matrix_size[axis] =
            static_cast<int>(std::min<std::int64_t>(sensitivity_maps_->extents()[axis], 1 << 20));
      say(summary_.inferred, "The matrix is that of the sensitivity maps.");
    } else if (options.matrix_size) {
      matrix_size = *options.matrix_size;
    } else if (trajectory_ && unit_ == TrajectoryUnit::cycles_per_fov) {
      matrix_size = matrix_of(largest, trajectory_->path(), summary_.inferred);
    } else {
      throw Error(trajectory_ ? trajectory_->path() : kspace_.path(),
                  "a known matrix to convert k-space positions", "none",
                  "give it with " + option_words("matrix", "X,Y,Z"));
    }
    summary_.unit_geometry = apply_options(summary_.geometry, options);
  }

  Trajectory read_trajectory(std::int64_t slice, std::int64_t repetition) {
    Trajectory trajectory{cfl::read_trajectory(*trajectory_, slice, repetition)};
    convert_to_cycles_per_fov(trajectory.k, unit_, summary_.unit_geometry, trajectory_->path());
    return trajectory;
  }

  CflFile kspace_;
  std::optional<CflFile> trajectory_;  ///< none where another file holds it (ReadOptions::outside)
  std::optional<CflFile> sensitivity_maps_;
  ScanSummary summary_;
  TrajectoryUnit unit_ = TrajectoryUnit::cycles_per_fov;
};

/// Pairs to be written; values in BART's order.
struct Pair {
  cfl::Extents extents{};
  std::vector<Complex<float>> values;
};
struct Pairs {
  Pair kspace, trajectory;
  std::optional<Pair> maps;  ///< where every volume has them
};

Pairs pairs_of(const ScanSeries& series, bool one_trajectory) {
  const auto& first = series.scans.front();
  const auto coils = first.kspace.coil_count(), samples = first.kspace.sample_count();
  Pairs pairs;
  auto& [kspace, trajectory, maps] = pairs;
  kspace.extents.fill(1);
  kspace.extents[readout_axis] = piece_length(samples, series.readout_length, samples);
  kspace.extents[spoke_axis] = samples / kspace.extents[readout_axis];
  kspace.extents[coil_axis] = coils;
  kspace.extents[repetition_axis] = series.repetition_count;
  kspace.extents[slice_axis] = series.slice_count;
  trajectory.extents = kspace.extents;
  trajectory.extents[0] = 3;
  trajectory.extents[coil_axis] = 1;
  if (one_trajectory) trajectory.extents[repetition_axis] = trajectory.extents[slice_axis] = 1;
  maps.emplace().extents.fill(1);
  for (std::size_t axis = 0; axis < 3; ++axis) maps->extents[axis] = first.geometry.matrix_size[axis];
  maps->extents[coil_axis] = coils;
  maps->extents[slice_axis] = series.slice_count;

  const auto append = [](Pair& pair, const auto& values) {
    pair.values.insert(pair.values.end(), values.begin(), values.end());
  };
  for (std::int64_t slice = 0; slice < series.slice_count; ++slice)
    for (std::int64_t repetition = 0; repetition < series.repetition_count; ++repetition) {
      const auto& scan = series.scans[static_cast<std::size_t>(repetition * series.slice_count + slice)];
      append(kspace, scan.kspace.values);
      for (std::int64_t i = 0; i < 3 * samples && (!one_trajectory || slice + repetition == 0); ++i)
        trajectory.values.emplace_back(static_cast<float>(scan.trajectory.k[i % 3 * samples + i / 3]));
      if (!scan.sensitivity_maps) maps.reset();
      if (maps && repetition == 0) append(*maps, scan.sensitivity_maps->values);
    }
  return pairs;
}

void write_pair(FileSet& files, const std::string& name, const Pair& pair) {
  files.add(name + ".cfl");
  write_bytes(files.back().temporary(), pair.values.data(), pair.values.size() * sizeof(Complex<float>),
              name + ".cfl");
  files.add(name + ".hdr");
  std::string header = "# Dimensions\n";
  for (const auto extent : pair.extents) header += std::to_string(extent) + " ";
  header += "\n";
  write_bytes(files.back().temporary(), header.data(), header.size(), name + ".hdr");
}

}  // namespace

bool is_bart(const std::string& path) {
  const auto extension = fs::path(path).extension();
  std::error_code status;
  return extension == ".cfl" || extension == ".hdr" ||
         (!fs::exists(path, status) && fs::exists(path + ".cfl", status));
}

std::string bart_name(const std::string& path) {
  const fs::path given(path);
  return given.extension() == ".cfl" || given.extension() == ".hdr"
             ? fs::path(given).replace_extension().string()
             : path;
}

ScanSource open_bart(const std::string& path, const ReadOptions& options) {
  return source_of(std::make_shared<BartFile>(bart_name(path), options));
}

Sentences write_bart(FileSet& files, const std::string& path, const ScanSeries& series) {
  const auto name = bart_name(path);
  const auto& first = series.scans.front();
  const auto pairs = pairs_of(series, have_one_trajectory(series, path));
  if (std::error_code status; !pairs.maps && fs::exists(name + "_sens.hdr", status))
    throw Error(name + "_sens.hdr", "none, because the scan has no sensitivity maps", "those of another scan",
                "remove them, or choose another name");
  write_pair(files, name, pairs.kspace);
  write_pair(files, name + "_traj", pairs.trajectory);
  if (pairs.maps) write_pair(files, name + "_sens", *pairs.maps);

  auto lost = lost_parts(first, true);
  const auto& n = first.geometry.matrix_size;
  if (!pairs.maps)
    lost.insert(lost.begin(), "BART files without sensitivity maps hold no matrix: it is " +
                                  option_words("matrix", fmt::format("{},{},{}", n[0], n[1], n[2])) + ".");
  lost.insert(lost.begin(), "BART files hold no FOV, position or directions.");
  return lost;
}

}  // namespace fhd::io
