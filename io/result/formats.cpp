#include "io/result/formats.hpp"

#include <array>

namespace fhd::io {

std::span<const ResultFormat* const> result_formats() {
  static constexpr std::array table{&hdf5_format,  &nifti_format,  &png_format, &json_format,
                                    &phase_format, &noise_format,  &snr_format, &g_factor_format,
                                    &dicom_format, &ismrmrd_format};
  return table;
}

}  // namespace fhd::io
