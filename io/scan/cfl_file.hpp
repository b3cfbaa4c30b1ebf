#pragma once
// BART cfl/hdr pairs: NAME.hdr holds up to 16 extents as text, NAME.cfl the complex single-precision values, first
// axis fastest.
#include <array>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <string>

#include "recon/array/array.hpp"

namespace fhd::io::cfl {

constexpr std::size_t axis_count = 16;
constexpr std::size_t readout_axis = 1, spoke_axis = 2, coil_axis = 3, repetition_axis = 10, slice_axis = 13;
using Extents = std::array<std::int64_t, axis_count>;

/// "[3][64][20]", without the ones at the end.
std::string text_of(const Extents& extents);

/// A cfl/hdr pair, opened for reading; the size of the cfl agrees with the hdr.
class CflFile {
 public:
  /// Opens NAME.cfl and NAME.hdr. Throws Error.
  explicit CflFile(const std::string& name);
  const Extents& extents() const { return extents_; }
  const std::string& path() const { return path_; }
  /// Throws Error unless every axis but the listed ones has extent 1.
  void require_axes(std::initializer_list<std::size_t> axes, const char* expected) const;
  /// Reads `count` values of one repetition and slice (an axis of 1 is shared). Throws Error.
  void read(std::int64_t repetition, std::int64_t slice, Complex<float>* to, std::int64_t count);

 private:
  std::string path_;
  std::ifstream values_;
  Extents extents_{};
};

/// Throws Error unless the axes are those of a trajectory, [3][readout][spoke], repetitions and slices along theirs.
void require_trajectory(const CflFile& file);
/// Reads positions [axis][sample] of one slice and repetition, in the unit of the file.
Array<double> read_trajectory(CflFile& file, std::int64_t slice, std::int64_t repetition);

/// Throws Error unless the axes are those of sensitivity maps, [x][y][z][coil], slices along theirs.
void require_maps(const CflFile& file);
/// Reads maps [coil][z][y][x] of one slice.
Array<Complex<float>> read_maps(CflFile& file, std::int64_t slice);

}  // namespace fhd::io::cfl
