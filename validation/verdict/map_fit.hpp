#pragma once
// One image and maps that may change, fitted to the centre of k-space: what a change of the maps explains, of any
// trajectory, undersampled or with a field map. The Fourier sums are made once,
//
//     G = sum_m w_m f_m f_m^H,    b_c = sum_m w_m d_cm f_m,    f_m(r) = exp(i 2 pi k_m r + i omega(r) t_m)
//
// so that maps S cost one small system: (G o sum_c S_c^* S_c^T) x = sum_c S_c^* o b_c, by conjugate gradients. The
// weights w even out the density of samples and fall off towards the edge of the small k-space, which a small matrix
// describes worst.
#include <vector>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Samples near the centre of k-space, with weights that even out their density and fall off towards the edge.
struct CentralCells {
  std::vector<Index> samples;
  std::vector<double> weights;
};
/// Returns some samples, about `enough` in all, of each cell of 1 cycle/FOV along each axis within `radius`, spread over
/// the order in which they were measured.
CentralCells central_cells(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                           const std::array<double, 3>& radius, std::size_t enough);

class MapFit {
 public:
  using Coils = std::vector<Index>;

  /// Takes the samples of the centre; empty where they are too few.
  explicit MapFit(const Scan& scan);

  bool is_empty() const { return data_.empty(); }
  Index coils() const { return coils_; }
  const SmallGrid& grid() const { return grid_; }

  struct Image {
    Matrix values;         ///< [voxel]
    double explained = 0;  ///< share of the energy of the coils that were used
  };
  /// Fits an image to all coils but some. `maps` [coil][voxel].
  Image fit(const Matrix& maps, const Coils& without = {}) const;
  /// Fits an image of its own to each coil, [voxel][coil].
  Image images_of_coils() const;

  /// Returns E x of each coil, [sample][coil], times the root of the weight, as data().
  Matrix predicted(const Matrix& maps, const Matrix& image) const;
  const Matrix& data() const { return data_; }  ///< [sample][coil], times the root of the weight
  /// Returns the numbers of the samples in the scan.
  const std::vector<Index>& samples() const { return samples_; }

 private:
  /// Splits numbers into real and imaginary parts, which loops take several of at once.
  struct Parts {
    std::vector<float> re, im;
    explicit Parts(std::size_t n) : re(n), im(n) {}
  };
  /// Solves (normal) x = right by conjugate gradients; returns x and Re x^H (right + rest), which is what it explains.
  static double solve(const Parts& normal, const Parts& right, Parts& x);

  Index coils_ = 0;
  SmallGrid grid_{};
  std::vector<Index> samples_;
  Matrix encoding_;  ///< conj(f), times the root of the weight, [sample][voxel]
  Matrix data_;
  Matrix adjoint_;              ///< b, [voxel][coil]
  Parts gram_{0};               ///< G, [voxel][voxel]
  std::vector<double> energy_;  ///< of the coils
};

}  // namespace fhd::validation
