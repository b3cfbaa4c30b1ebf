#include "io/scan/cfl_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
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
