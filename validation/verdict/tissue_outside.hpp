#pragma once
// Explains what is left over by tissue outside the field of view, near the centre of k-space.
#include <optional>

#include "validation/verdict/centre_model.hpp"

namespace fhd::validation {

struct TissueOutside {
  double misfit = 0;        ///< what stays of |r|^2
  double unknowns = 0;      ///< complex ones, beyond those of the image inside
  double energy_share = 0;  ///< of the object, outside
  double brightness = 0;    ///< energy of a voxel outside over that of one inside, means
};

/// Fits r [sample][coil], what the image of `model` leaves over, by a further image inside and by one outside, on a
/// grid that is half as wide again (in 3D by a third, along axes whose ends are bright). All coils have one image
/// outside, with the maps of the border; in 2D, where `by_coil`, also each one of its own, because maps end at the
/// border: r_c = E (S_c x + y_c). Returns what explains most beyond what as many random unknowns would; empty where
/// the samples do not tell, or where it were brighter than the object inside.
std::optional<TissueOutside> tissue_outside(const CentreModel& model, const Matrix& r, bool by_coil);

}  // namespace fhd::validation
