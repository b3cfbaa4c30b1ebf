#include "recon/pipeline/prepare.hpp"

#include <utility>

#include "recon/array/linear_algebra.hpp"
#include "recon/coils/noise.hpp"
#include "recon/pipeline/device_memory.hpp"
#include "recon/pipeline/outside_fov.hpp"

namespace fhd {

Preparation prepare(const Scan& measured, const Context& context, CalibrationCache& cache) {
  Preparation made{&measured};
  made.changed = prepare_matrix(measured, context, cache);
  made.differs = made.changed.has_value();
  made.order = long_axes_first(made.scan().geometry.matrix_size);
  if (!keeps_axes(made.order)) made.changed = in_order(made.order, made.scan());
  if (auto prepared = prepare_coils(made.scan(), context.settings, context.log, context.device(), &made.mixing,
                                    &cache)) {
    made.changed = std::move(prepared);
    made.differs = true;
  }
  made.volumes_at_once = planned_volumes_at_once(made.scan(), context);
  return made;
}

KSpace mixed_kspace(const Preparation& preparation, const Scan& volume, bool in_double) {
  const Scan& measured = *preparation.measured;
  const KSpace& kspace = volume.kspace;
  if (volume.geometry.matrix_size != measured.geometry.matrix_size ||
      kspace.coil_count() != measured.kspace.coil_count())
    throw Error("a further volume", "the matrix and the coils of those before", "other ones");
  if (preparation.mixing.empty()) return kspace;
  KSpace mixed;
  if (in_double) mixed.in_double = apply_mixing(preparation.mixing, values_of<double>(kspace));
  mixed.values = in_double ? converted<Complex<float>>(mixed.in_double)
                           : apply_mixing(preparation.mixing, kspace.values);
  return mixed;
}

Scan prepared_alike(const Preparation& preparation, const Scan& volume, bool in_double) {
  KSpace kspace = mixed_kspace(preparation, volume, in_double);
  const Scan common = in_order(inverse(preparation.order), preparation.scan());
  const bool is_larger = common.geometry.matrix_size != volume.geometry.matrix_size;
  Scan alike = is_larger ? on_larger_matrix(volume, common.geometry.matrix_size) : volume;
  alike.kspace = std::move(kspace);
  alike.sensitivity_maps = common.sensitivity_maps;
  alike.noise = common.noise;
  alike.calibration.reset();
  return alike;
}

}  // namespace fhd
