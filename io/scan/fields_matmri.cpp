// Fields in the layout of MatMRI (C. Baron, MIT): phs_spha, 9 harmonics in the order of the table, and phs_conc, 4 Maxwell
// terms, integrated phases in rad/m^order about the isocentre, whose signal is exp(+i phase). MATLAB stores [sample][term] by
// columns, so that HDF5 holds [term][sample]; both are read.
#include <fmt/format.h>

#include "io/scan/fields_file.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// Adds minus the terms of a dataset, from row `first` on.
void add_matmri_terms(const hdf5::File& file, const char* name, std::int64_t terms, std::int64_t first,
                      Array<double>& coefficients) {
  const auto dataset = file.dataset(name);
  const auto samples = coefficients.extent(1);
  const bool is_by_term = dataset.extents() == hdf5::Extents{terms, samples};
  if (!is_by_term && dataset.extents() != hdf5::Extents{samples, terms})
    throw Error(dataset.subject(), fmt::format("[{}][{}], the samples of the scan", terms, samples),
                hdf5::text_of(dataset.extents()));
  const auto values =
      is_by_term ? dataset.read<double>({terms, samples}) : dataset.read<double>({samples, terms});
  for (std::int64_t term = 0; term < terms; ++term)
    for (std::int64_t m = 0; m < samples; ++m)
      coefficients[(first + term) * samples + m] =
          -values[is_by_term ? term * samples + m : m * terms + term];
}

}  // namespace

MeasuredFields read_matmri_fields(const hdf5::File& file, std::int64_t samples) {
  const bool has_maxwell = file.has("/phs_conc");
  constexpr std::int64_t harmonics = 9, maxwell_terms = 4;
  MeasuredFields measured;
  auto& [functions, coefficients, axes, displacement_mm] = measured.fields;
  functions = first_functions(harmonics, file.path());
  coefficients = Array<double>({harmonics + (has_maxwell ? maxwell_terms : 0), samples});
  add_matmri_terms(file, "/phs_spha", harmonics, 0, coefficients);
  if (!has_maxwell) return measured;
  using enum FieldFunction;
  functions.insert(functions.end(), {maxwell_z2, maxwell_x2_y2, maxwell_xz, maxwell_yz});
  add_matmri_terms(file, "/phs_conc", maxwell_terms, harmonics, coefficients);
  return measured;
}

}  // namespace fhd::io
