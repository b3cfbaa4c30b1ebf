#include "recon/pipeline/prepare.hpp"

#include "recon/pipeline/scaling.hpp"

namespace fhd {

template <class T>
Measurements<T> measurements_of(const Scan& scan, const Context& context) {
  Measurements<T> data{scan};
  data.samples = columns_of(converted<Complex<T>>(scan.kspace.values),
                            share_of(scan.kspace.sample_count(), context.processes()));
  data.unit = divide_by_magnitude(data.samples, context.processes());
  if (data.unit == 0) context.journal.note("all k-space values are zero, and so is the image");
  return data;
}

template <class T>
void copy_to_device(Array<Complex<T>>& values, const Context& context) {
  if (context.device().is_cuda())
    context.journal.stage("copy to the device", [&] { values = values.to(context.device()); });
}

template <class T>
ScaledMaps<T> maps_of(const Scan& scan, const Context& context) {
  if (!scan.sensitivity_maps) return {};
  ScaledMaps<T> maps{converted<Complex<T>>(scan.sensitivity_maps->values)};
  maps.unit = divide_by_magnitude(maps.values, SingleProcess());
  if (maps.unit == 0)
    throw Error("sensitivity maps", "values other than zero", "zeros",
                "leave them out: settings.coils.maps = espirit or none");
  copy_to_device(maps.values, context);
  return maps;
}

std::int64_t strongest_coil(const KSpace& kspace) {
  std::int64_t strongest = 0;
  double most = -1;
  for (std::int64_t coil = 0; coil < kspace.coil_count(); ++coil) {
    double energy = 0;
    for (std::int64_t m = 0; m < kspace.sample_count(); ++m)
      energy += norm(Complex<double>(kspace.values[coil * kspace.sample_count() + m]));
    if (energy > most) most = energy, strongest = coil;
  }
  return strongest;
}

#define FHD_INSTANTIATE(T)                                                  \
  template Measurements<T> measurements_of<T>(const Scan&, const Context&); \
  template void copy_to_device<T>(Array<Complex<T>>&, const Context&);      \
  template ScaledMaps<T> maps_of<T>(const Scan&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
