#pragma once
// Finds places where sparse terms make an image far brighter than least squares do, and holds the image there.
//
// The floor beside sparse terms (first_image.hpp) goes by a mean over samples. What wrong or vanishing maps leave has the
// spectrum of the object, which is a hundred times as large in the centre of k-space. So an image that is more than twice as
// bright as the first image around that place, and than the magnitude of the first image, gets the reference lambda there, in
// blocks of voxels: by it the first image is stable. Frames get the floor alone.
#include <cstdint>
#include <optional>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/domain/report.hpp"
#include "recon/pipeline/model.hpp"

namespace fhd {

/// Compares images [z][y][x] with a first one.
class Surroundings {
 public:
  static constexpr std::int64_t block = 8;  ///< voxels along an axis
  static constexpr double most_times = 2;   ///< that an image may be brighter

  template <class T>
  explicit Surroundings(const Array<Complex<T>>& first);

  struct Hot {
    std::optional<std::int64_t>
        voxel;  ///< where the image is the most times brighter; empty: nowhere more than most_times
    double times = 0;
  };
  /// Finds where |image| exceeds most_times the largest |first| in the block of a voxel and those beside it, and the magnitude
  /// of `first`. Marks the blocks of such voxels, and those beside them, in `marked`, [block].
  template <class T>
  Hot hot_voxels(const Array<Complex<T>>& image, std::vector<char>& marked) const;

  /// Returns the block of a voxel.
  std::int64_t block_of(std::int64_t voxel) const;
  /// Returns the magnitude of `first` below which half of its energy lies.
  double magnitude() const { return magnitude_; }
  std::int64_t block_count() const { return static_cast<std::int64_t>(around_.size()); }

 private:
  /// Returns the block and those beside it.
  std::vector<std::size_t> beside(std::size_t place) const;

  std::array<std::int64_t, 3> voxels_, blocks_;  ///< z, y, x
  std::vector<double> around_;                   ///< [block]: the largest |first| in it and beside it
  double magnitude_;
};

/// Keeps one volume stable: adds a quadratic term to the model where an image is hot.
template <class T>
class StableImage {
 public:
  /// Takes the first image, and removes what an earlier volume left in the model. Holds places only where the settings leave
  /// the floor to the program, and of a single image.
  StableImage(Model<T>& model, const Array<Complex<T>>& first, const Scan& scan, const Context& context);
  /// Returns whether the image was unstable at a new place, which the model now holds: it is to be solved again.
  bool hold(const Array<Complex<T>>& image);
  /// Forgets the places that are held.
  void release();
  /// Returns the magnitude below which half of the energy of the first image lies.
  double magnitude_of_first() const { return surroundings_.magnitude(); }
  /// Returns the hot spot that is the brightest beside its surroundings, of all images since the last release.
  const std::optional<HotSpot>& hot_spot() const { return hot_spot_; }

 private:
  Model<T>& model_;
  Surroundings surroundings_;
  std::array<int, 3> matrix_size_, cropped_;
  bool may_hold_;
  int rounds_ = 0;
  std::vector<char> marked_;
  std::optional<HotSpot> hot_spot_;
};

}  // namespace fhd
