// Fields in the layout of MatMRI (C. Baron, MIT): phs_spha, 9 harmonics in the order of the table, and phs_conc, 4 Maxwell
// terms, integrated phases in rad/m^order about the isocentre, whose signal is exp(+i phase); datatime, microseconds. MATLAB
// stores [sample][term] by columns, so that HDF5 holds [term][sample]; both are read.
#include <fmt/format.h>

#include "io/scan/companion_files.hpp"
#include "io/scan/fields_file.hpp"
#include "io/scan/foreign_files.hpp"
#include "io/scan/matlab_matrix.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// Returns a matrix of a MATLAB file of any version, or of HDF5; empty where there is none of this name.
Array<double> matrix_of(const std::string& path, const std::string& name) {
  if (is_matlab_5(path)) return read_matlab_matrix(path, name);
  return hdf5::File::open(path).has(name) ? read_number_table_here(path, name) : Array<double>();
}

/// Returns the rows of a matrix [row][sample] or [sample][row].
Array<double> rows_of(Array<double> matrix, std::int64_t rows, std::int64_t samples,
                      const std::string& subject) {
  if (matrix.shape() == Shape{rows, samples}) return matrix;
  if (matrix.shape() != Shape{samples, rows})
    throw Error(subject, fmt::format("[{}][{}], the samples of the scan", rows, samples),
                matrix.empty() ? "none" : matrix.shape().text());
  Array<double> turned({rows, samples});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t m = 0; m < samples; ++m) turned[row * samples + m] = matrix[m * rows + row];
  return turned;
}

}  // namespace

MeasuredFields read_matmri_fields(const std::string& path, std::int64_t samples) {
  constexpr std::int64_t harmonics = 9, maxwell_terms = 4;
  using enum FieldFunction;
  MeasuredFields measured;
  auto& [functions, coefficients, axes, displacement_mm] = measured.fields;
  functions = first_functions(harmonics, path);
  coefficients = rows_of(matrix_of(path, "phs_spha"), harmonics, samples, path + ":phs_spha");
  if (auto maxwell = matrix_of(path, "phs_conc"); !maxwell.empty()) {
    functions.insert(functions.end(), {maxwell_z2, maxwell_x2_y2, maxwell_xz, maxwell_yz});
    maxwell = rows_of(std::move(maxwell), maxwell_terms, samples, path + ":phs_conc");
    Array<double> all({harmonics + maxwell_terms, samples});
    std::copy(maxwell.begin(), maxwell.end(),
              std::copy(coefficients.begin(), coefficients.end(), all.begin()));
    coefficients = std::move(all);
  }
  for (double& value : coefficients) value = -value;
  if (auto times = matrix_of(path, "datatime"); !times.empty()) {
    measured.sample_time_s = rows_of(std::move(times), 1, samples, path + ":datatime").reshaped({samples});
    for (double& t : measured.sample_time_s) t *= 1e-6;
  }
  return measured;
}

}  // namespace fhd::io
