#pragma once
// Finds whether a scan samples a lattice of k-space with regular gaps: then the image is a sum of shifted copies,
// which only sensitivity maps tell apart.
#include <array>
#include <cstdint>

#include "recon/domain/scan.hpp"

namespace fhd {

struct LatticeSampling {
  /// Copies that lie on top of each other: the lattice has one sampled place in `reduction`; 1 where the gaps
  /// are not regular (none, random, variable density), or where there is no lattice.
  int reduction = 1;
  /// Width of the block about k = 0 that is sampled without gaps, cycles/FOV, along the narrowest axis with gaps
  /// (an axis of fewer voxels counts as wide as asked).
  int reference_width = 0;
};

/// The samples are projected along one axis (onto a plane) and two (onto a line), as far as they lie on a lattice
/// there, within 256 cycles/FOV of the centre. Their gaps are regular where a quarter of the places is missing and
/// nine in ten sampled ones (all, where these are 8 ... 15) outside of the reference lie on a sublattice
///
///     { o + i (a, 0) + j (s, b) },   a b = reduction <= 16,  0 <= s < a   (s > 0: CAIPIRINHA).
///
/// Partial Fourier, asymmetric echoes and small matrices leave no gaps; a reference of more than half of the
/// sampled extent counts as variable density.
LatticeSampling lattice_sampling(const Trajectory& trajectory, std::array<int, 3> matrix_size);

}  // namespace fhd
