// IMPATIENT (Illinois MRI toolset): a directory of .dat files, one quantity each.
//
//   kx, ky, kz              k-space positions [sample], cycles/FOV
//   kdata_r, kdata_i        k-space [coil][sample]
//   ix, iy, iz              voxel positions [voxel], fractions of the FOV
//   sensi_r, sensi_i        sensitivity maps [coil][voxel]                               optional
//   fm                      field map [voxel], rad/s                                     optional
//   t                       sample times [sample], s                                     optional
//   mask and others         not used: the whole FOV is reconstructed
//
// Two flavours of .dat. Binary (version 0.2): float32 0.2, int32 n, coils, slices, n, then float32 values.
// Text (version 1.0): lines "name = value", then per coil "// Coil No. c", "Binary_Size = n", "Binary:" and n
// float32 values, then "EOF".
//
// ix, iy and iz tell the order of voxels. The in-plane axis that runs faster along the file becomes x and the other y,
// so that images come out row by row as the directory holds them (upright heads in the known data). Voxel positions that
// differ from (n - floor(N/2)) / N by a constant offset are exact: a shift by o is the phase exp(+i 2 pi k o) on k-space.
// Files written here use the text flavour, voxels in the order [y][x][z].

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numbers>
#include <set>

#include "io/files/file_set.hpp"
#include "io/files/input_file.hpp"
#include "io/files/input_memory.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

struct DatFile {
  std::vector<float> values;
  std::array<int, 3> matrix_size{0, 0, 0};  ///< as the text flavour states it
};

void append_floats(std::vector<float>& values, std::string_view bytes) {
  const auto old = values.size();
  values.resize(old + bytes.size() / sizeof(float));
  std::memcpy(values.data() + old, bytes.data(), (values.size() - old) * sizeof(float));
}

DatFile parse_binary(std::string_view bytes, const std::string& path) {
  constexpr std::size_t header_bytes = 20;
  std::int32_t header[4]{};
  if (bytes.size() >= header_bytes) std::memcpy(header, bytes.data() + 4, sizeof(header));
  const auto data = bytes.substr(std::min(bytes.size(), header_bytes));
  const std::int64_t n = header[0], coils = header[1],
                     found = static_cast<std::int64_t>(data.size() / sizeof(float));
  if (n < 1 || coils < 1 || data.size() % sizeof(float) != 0 || (found != n && found != n * coils))
    throw Error(path, fmt::format("{} float values, or that for each of {} coils", n, coils),
                fmt::format("{} bytes", data.size()), "the file is cut off or damaged");
  DatFile dat;
  append_floats(dat.values, data);
  return dat;
}

DatFile parse_text(std::string_view bytes, const std::string& path) {
  DatFile dat;
  std::int64_t block = 0;
  const auto damaged = [&](const std::string& found) {
    return Error(path, "a .dat file of version 1.0 that ends with EOF", found,
                 "the file is cut off or damaged");
  };
  while (true) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos || end > 256) throw damaged("no end");
    const auto line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (line == "EOF") return dat;
    if (line == "Binary:") {
      const auto size = static_cast<std::uint64_t>(block) * sizeof(float);
      if (block < 1 || size > bytes.size())
        throw damaged(fmt::format("{} bytes for {} values", bytes.size(), block));
      append_floats(dat.values, bytes.substr(0, size));
      bytes.remove_prefix(size);
      block = 0;
      continue;
    }
    const auto equals = line.find(" = ");
    if (equals == std::string_view::npos) continue;  // "// Coil No. 1"
    const auto name = line.substr(0, equals), text = line.substr(equals + 3);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (number < 0 || number > std::int64_t{1} << 40) throw damaged("'" + std::string(line) + "'");
    if (name == "Binary_Size") block = number;
    for (int axis = 0; axis < 3; ++axis)
      if (name == std::array{"xDimension", "yDimension", "zDimension"}[axis])
        dat.matrix_size[axis] = static_cast<int>(std::min<std::int64_t>(number, 1 << 20));
  }
}

DatFile read_dat(const std::string& path) {
  const auto bytes = content_of_file(path, input_memory(), "a .dat file");
  float version = 0;
  if (bytes.size() >= sizeof(version)) std::memcpy(&version, bytes.data(), sizeof(version));
  if (version == 0.2f) return parse_binary(bytes, path);
  if (bytes.rfind("version = 1", 0) == 0) return parse_text(bytes, path);
  throw Error(path, "a .dat file of version 0.2 or 1.0", "another format");
}

/// Voxels of the directory: which voxel of [z][y][x] each one is, and by how much all of them are shifted.
struct Voxels {
  std::array<int, 3> matrix_size{1, 1, 1};
  std::vector<std::int64_t> index;
  std::array<double, 3> offset{0, 0, 0};  ///< fractions of the FOV
  bool swapped = false;                   ///< the directory's y is our x
};

class ImpatientDirectory {
 public:
  ImpatientDirectory(const std::string& path, const ReadOptions& options) : path_(path) {
    summary_.path = path;
    summary_.format = "IMPATIENT";
    summary_.states_directions = false;
    if (!has("kx") || !has("ky") || !has("kz"))
      throw Error(
          path, "a scan file, or the directory of an IMPATIENT scan (kx.dat, ky.dat, kz.dat)",
          "another directory",
          "give a file in it; fhd batch takes all .h5, .mrd, .ismrmrd, .dat and .cfl files of a folder");
    std::array<DatFile, 3> k{read("kx"), read("ky"), read("kz")};
    const auto samples = std::ssize(k[0].values);
    if (samples == 0)
      throw Error(file("kx"), "at least one sample", "none", "the directory is not written to its end");
    require_count(k[1], samples, "ky");
    require_count(k[2], samples, "kz");
    if (has("ix") && has("iy") && has("iz")) voxels_ = arrange_voxels();
    if (voxels_ && voxels_->swapped) {
      std::swap(k[0], k[1]);
      say(summary_.inferred,
          "The directory's y is the x of the image, because its voxels run fastest along iy: images are "
          "shown row by row as stored.");
    }
    trajectory_.k = Array<double>({3, samples});
    for (std::int64_t axis = 0; axis < 3; ++axis)
      std::ranges::copy(k[axis].values, trajectory_.k.data() + axis * samples);
    summary_.samples_per_scan = samples;
    choose_matrix(options, k[0].matrix_size);
    look_at_trajectory(summary_, unit_of_format("IMPATIENT", options, summary_.inferred), options, path,
                       trajectory_.k);
    look_at_contents();
  }

  const ScanSummary& summary() const { return summary_; }

  Scan read(std::int64_t, std::int64_t) {
    const auto samples = summary_.samples_per_scan, coils = summary_.coil_count;
    if (coils == 0)
      throw Error(path_, "k-space in kdata_r.dat and kdata_i.dat", "only a trajectory",
                  "nothing can be reconstructed from it");
    Scan scan;
    scan.geometry = summary_.geometry;
    scan.trajectory = trajectory_;
    scan.kspace.values = read_complex("kdata", {coils, samples});
    if (voxels_) undo_offset(scan.kspace.values);
    if (summary_.has_sample_time) {
      const auto times = read("t");
      require_count(times, samples, "t");
      std::ranges::copy(times.values, scan.sample_time_s.emplace(Shape{samples}).begin());
    }
    // Maps have the matrix of the directory, whatever --matrix says: Scan::validate refuses others.
    const auto n = voxels_ ? voxels_->matrix_size : summary_.geometry.matrix_size;
    if (summary_.has_sensitivity_maps) {
      const auto count = std::ssize(voxels_->index);
      const auto stored = read_complex("sensi", {coils, count});
      scan.sensitivity_maps = SensitivityMaps{Array<Complex<float>>({coils, n[2], n[1], n[0]})};
      for (std::int64_t coil = 0; coil < coils; ++coil)
        put_voxels(stored.data() + coil * count, scan.sensitivity_maps->values.data() + coil * count);
    }
    if (summary_.has_field_map) {
      const auto map = read("fm");
      require_count(map, std::ssize(voxels_->index), "fm");
      put_voxels(map.values.data(), scan.field_map.emplace(Shape{n[2], n[1], n[0]}).data());
    }
    return scan;
  }

 private:
  std::string file(const std::string& name) const { return (fs::path(path_) / (name + ".dat")).string(); }
  bool has(const std::string& name) const {
    std::error_code status;
    return fs::exists(file(name), status);
  }
  DatFile read(const std::string& name) const { return read_dat(file(name)); }
  void require_count(const DatFile& dat, std::int64_t count, const std::string& name) const {
    if (std::ssize(dat.values) != count)
      throw Error(file(name), fmt::format("{} values", count), std::to_string(dat.values.size()));
  }

  Array<Complex<float>> read_complex(const std::string& name, const Shape& shape) const {
    const auto real = read(name + "_r"), imaginary = read(name + "_i");
    require_count(real, shape.size(), name + "_r");
    require_count(imaginary, shape.size(), name + "_i");
    Array<Complex<float>> values(shape);
    std::ranges::transform(real.values, imaginary.values, values.begin(), [](float re, float im) {
      return Complex<float>{re, im};
    });
    return values;
  }
  /// Puts the voxels of the directory in the order [z][y][x].
  template <class T>
  void put_voxels(const T* stored, T* image) const {
    for (const auto place : voxels_->index) image[place] = *stored++;
  }

  /// Voxels along one axis, as their positions tell.
  struct VoxelAxis {
    int n = 1;
    double offset = 0;       ///< fractions of the FOV
    std::vector<int> index;  ///< of each voxel of the directory
    std::ptrdiff_t first_change = 0;
  };
  VoxelAxis arrange_axis(const char* name) const {
    const auto r = read(name).values;
    if (r.empty()) throw Error(file(name), "at least one voxel", "none");
    const std::set<float> distinct(r.begin(), r.end());
    VoxelAxis axis;
    axis.n = static_cast<int>(std::min<std::size_t>(distinct.size(), 1 << 20));
    const double lowest = *distinct.begin(), step = 1.0 / axis.n;
    // Where there is one position, it is the whole offset; else the lowest one belongs to voxel 0.
    axis.offset = axis.n == 1 ? lowest : lowest + std::floor(axis.n / 2.0) * step;
    for (const float position : r) {
      const double at = (position - lowest) / step;
      const auto index = static_cast<int>(std::lround(at));
      if (!(std::abs(at - index) <= 0.01) || index >= axis.n)
        throw Error(file(name), fmt::format("{} positions in steps of 1/{} of the FOV", axis.n, axis.n),
                    fmt::format("{}", position));
      axis.index.push_back(index);
    }
    axis.first_change = std::ranges::find_if(r, [&](float value) { return value != r[0]; }) - r.begin();
    return axis;
  }

  /// Finds out from ix, iy, iz which voxel is where.
  Voxels arrange_voxels() const {
    auto x = arrange_axis("ix"), y = arrange_axis("iy"), z = arrange_axis("iz");
    Voxels voxels;
    voxels.swapped = y.first_change < x.first_change;
    if (voxels.swapped) std::swap(x, y);
    voxels.matrix_size = {x.n, y.n, z.n};
    voxels.offset = {x.offset, y.offset, z.offset};
    const auto count = x.index.size();
    const auto grid = fmt::format("each voxel of a grid of {} x {} x {} once", x.n, y.n, z.n);
    const auto refuse = [&](const std::string& found) { throw Error(path_ + ": ix, iy, iz", grid, found); };
    if (y.index.size() != count || z.index.size() != count) refuse("files of different lengths");
    if (static_cast<double>(count) != double(x.n) * y.n * z.n) refuse(std::to_string(count) + " voxels");
    std::vector<bool> seen(count, false);
    for (std::size_t i = 0; i < count; ++i) {
      const auto voxel = (std::int64_t{z.index[i]} * y.n + y.index[i]) * x.n + x.index[i];
      if (seen[static_cast<std::size_t>(voxel)]) refuse("a voxel twice");
      seen[static_cast<std::size_t>(voxel)] = true;
      voxels.index.push_back(voxel);
    }
    return voxels;
  }

  void choose_matrix(const ReadOptions& options, const std::array<int, 3>& stated) {
    auto& matrix_size = summary_.geometry.matrix_size;
    if (voxels_) {
      matrix_size = voxels_->matrix_size;
      summary_.facts.emplace_back("matrix from", "ix.dat, iy.dat, iz.dat");
    } else if (std::ranges::all_of(stated, [](int n) { return n > 0; })) {
      matrix_size = stated;
      summary_.facts.emplace_back("matrix from", "kx.dat");
    } else if (options.matrix_size) {
      matrix_size = *options.matrix_size;
    } else {
      matrix_size = matrix_of(largest_magnitude(trajectory_.k), path_, summary_.inferred);
    }
    summary_.unit_geometry = apply_options(summary_.geometry, options);
  }

  void look_at_contents() {
    const auto samples = summary_.samples_per_scan;
    if (has("kdata_r") && has("kdata_i")) {
      const auto count = std::ssize(read("kdata_r").values);
      if (count == 0 || count % samples != 0)
        throw Error(file("kdata_r"), fmt::format("{} samples for each coil", samples),
                    fmt::format("{} values", count));
      summary_.coil_count = count / samples;
    } else {
      say(summary_.missing, "There is no k-space (kdata_r.dat, kdata_i.dat): nothing can be reconstructed.");
    }
    const bool maps_stored = has("sensi_r") && has("sensi_i");
    if (!voxels_ && (maps_stored || has("fm")))
      say(summary_.missing,
          "Sensitivity maps and field map are not used: ix.dat, iy.dat and iz.dat, which tell the order of "
          "their voxels, are missing.");
    summary_.has_sensitivity_maps = voxels_ && maps_stored;
    if (voxels_ && has("fm")) {
      const auto map = read("fm");
      require_count(map, std::ssize(voxels_->index), "fm");
      summary_.has_field_map = std::ranges::any_of(map.values, [](float value) { return value != 0; });
      if (!summary_.has_field_map) summary_.facts.emplace_back("field map", "zero everywhere, not used");
    }
    if (has("mask") && std::ranges::any_of(read("mask").values, [](float value) { return value != 1; }))
      say(summary_.inferred, "The mask of the directory is not used: the whole FOV is reconstructed.");
    if (has("t")) {
      const auto times = read("t");
      require_count(times, samples, "t");
      summary_.has_sample_time = true;
      // Times start anew with each readout.
      const auto restart =
          std::ranges::adjacent_find(times.values, std::greater<>()) - times.values.begin() + 1;
      const auto length = std::min<std::int64_t>(restart, samples);
      if (samples % length == 0) summary_.readout_length = length;
    }
    for (int axis = 0; voxels_ && axis < 3; ++axis)
      if (std::abs(voxels_->offset[axis]) > 1e-6)
        say(summary_.inferred,
            "Voxels lie {:.4g} voxels off centre along {}: corrected by a linear phase of k-space.",
            voxels_->offset[axis] * voxels_->matrix_size[axis], "xyz"[axis]);
    note_missing_fov(summary_);
  }

  /// Shifts the voxels to their places: with r = r' + o,  d = sum rho exp(-i 2 pi k (r' + o)), so d exp(+i 2 pi k o)
  /// belongs to the positions r'.
  void undo_offset(Array<Complex<float>>& kspace) const {
    const auto& offset = voxels_->offset;
    if (std::ranges::all_of(offset, [](double o) { return std::abs(o) <= 1e-6; })) return;
    const auto coils = kspace.extent(0), samples = kspace.extent(1);
    for (std::int64_t m = 0; m < samples; ++m) {
      double turns = 0;
      for (int axis = 0; axis < 3; ++axis) turns += trajectory_.k[axis * samples + m] * offset[axis];
      const double angle = 2 * std::numbers::pi * turns;
      const Complex<double> phase{std::cos(angle), std::sin(angle)};
      for (std::int64_t coil = 0; coil < coils; ++coil) {
        auto& value = kspace[coil * samples + m];
        value = Complex<float>(Complex<double>(value) * phase);
      }
    }
  }

  std::string path_;
  ScanSummary summary_;
  Trajectory trajectory_;
  std::optional<Voxels> voxels_;
};

/// Writes a .dat file of the text flavour; `values` is [coil][n] with n values each.
void write_dat(const AtomicFile& folder, const std::string& name, const std::array<int, 3>& n,
               const std::vector<float>& values, std::int64_t coils) {
  const auto per_coil = values.size() / static_cast<std::size_t>(coils);
  std::string bytes = fmt::format("version = 1.000000\nxDimension = {}\nyDimension = {}\nzDimension = {}\n",
                                  n[0], n[1], n[2]);
  if (coils > 1) bytes += fmt::format("coil_number = {}\n", coils);
  bytes += fmt::format("slice_number = 1\nfile_size = {}\n", values.size());
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    bytes += fmt::format("// Coil No. {}\nBinary_Size = {}\nBinary:\n", coil + 1, per_coil);
    bytes.append(reinterpret_cast<const char*>(values.data() + static_cast<std::size_t>(coil) * per_coil),
                 per_coil * sizeof(float));
  }
  bytes += "EOF\n";
  const auto file = name + ".dat";
  write_bytes((fs::path(folder.temporary()) / file).string(), bytes.data(), bytes.size(),
              (fs::path(folder.path()) / file).string());
}

/// Returns a part of each value, [coil][z][y][x] -> [coil][y][x][z].
template <class T, class Part>
std::vector<float> in_file_order(const Array<T>& values, const std::array<int, 3>& n, Part part) {
  std::vector<float> result;
  const auto voxels = std::int64_t{n[0]} * n[1] * n[2];
  for (std::int64_t image = 0; image < values.size() / voxels; ++image)
    for (std::int64_t yx = 0; yx < voxels / n[2]; ++yx)
      for (std::int64_t z = 0; z < n[2]; ++z)
        result.push_back(part(values[image * voxels + z * (voxels / n[2]) + yx]));
  return result;
}

}  // namespace

ScanSource open_impatient(const std::string& path, const ReadOptions& options) {
  return source_of(std::make_shared<ImpatientDirectory>(path, options));
}

Sentences write_impatient(FileSet& files, const std::string& path, const ScanSeries& series) {
  const auto& scan = series.scans.front();
  const auto& n = scan.geometry.matrix_size;
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  files.add_directory(path);
  const auto write = [&](const std::string& name, const std::vector<float>& values,
                         std::int64_t coil_count = 1) {
    write_dat(files.back(), name, n, values, coil_count);
  };
  for (int axis = 0; axis < 3; ++axis) {
    const auto* k = scan.trajectory.k.data() + axis * samples;
    write(std::array{"kx", "ky", "kz"}[axis], {k, k + samples});
  }
  if (scan.sample_time_s) write("t", {scan.sample_time_s->begin(), scan.sample_time_s->end()});

  const auto real = [](Complex<float> value) { return value.re; };
  const auto imaginary = [](Complex<float> value) { return value.im; };
  const auto itself = [](float value) { return value; };
  for (int axis = 0; axis < 3; ++axis) {
    Array<float> position(scan.geometry.image_shape());
    for (std::int64_t i = 0; i < position.size(); ++i) {
      const std::int64_t index[3]{i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
      position[i] = static_cast<float>(static_cast<double>(index[axis] - n[axis] / 2) / n[axis]);
    }
    write(std::array{"ix", "iy", "iz"}[axis], in_file_order(position, n, itself));
  }
  const auto one_voxel_axis = std::array{1, 1, 1};  // samples stay in their order
  write("kdata_r", in_file_order(scan.kspace.values, one_voxel_axis, real), coils);
  write("kdata_i", in_file_order(scan.kspace.values, one_voxel_axis, imaginary), coils);
  if (scan.sensitivity_maps) {
    write("sensi_r", in_file_order(scan.sensitivity_maps->values, n, real), coils);
    write("sensi_i", in_file_order(scan.sensitivity_maps->values, n, imaginary), coils);
  }
  const std::vector<float> zero(static_cast<std::size_t>(scan.geometry.voxel_count()), 0),
      one(zero.size(), 1);
  write("fm", scan.field_map ? in_file_order(*scan.field_map, n, itself) : zero);
  write("mask", one);
  auto lost = lost_parts(scan, false);
  lost.insert(lost.begin(), "IMPATIENT directories hold no FOV, position or directions.");
  return lost;
}

}  // namespace fhd::io
