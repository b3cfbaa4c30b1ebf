#pragma once
// Files of fields that are not linear in space (recon/domain/fields.hpp), as field cameras measure them beside a scan:
//
//   HDF5 of fhd (also datasets of a scan's own file)
//     /field_coefficients  real  [term][sample], or [repetition][slice][term][sample], 1 of either for all: integrated
//                                phases, rad/m^order
//     /field_basis         names or numbers of FieldFunction, one for each term; absent: the first of its table
//     /field_axes          real  [3][3], directions of the magnet's x, y, z in LPS, rows; absent: the unit matrix
//     /field_centre        text  "isocentre" (so without it too): linear terms are about the origin, as all others; or
//                                "fov": they are about the centre of the field of view, where the samples were demodulated
//     /field_sign          1 (so without it too): the signal is exp(-i phase); or -1: it is exp(+i phase)
//   MATLAB of MatMRI: phs_spha of 9 terms and phs_conc of 4 Maxwell terms, whose signal is exp(+i phase); datatime
//   text of numbers, as of Skope: a line for each sample with 4, 9 or 16 terms of the table, or 20 with Maxwell terms
//
// Terms x, y and z together are the measured trajectory.
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// Fields as a file states them, with the sign of the program.
struct MeasuredFields {
  Fields fields;
  bool is_about_isocentre = true;  ///< of the linear terms
  Array<double> sample_time_s{};   ///< empty: not stated
  std::int64_t repetitions = 1, slices = 1;  ///< of the file; 1: for all
};

constexpr auto fields_name = "/field_coefficients";

/// Reads /field_coefficients of a volume and what belongs to it. Throws Error.
MeasuredFields read_stored_fields(const hdf5::File& file, std::int64_t slice, std::int64_t repetition);
/// Writes the fields of scans, all of the same functions and axes. Throws Error.
void write_fields(hdf5::File& file, const ScanSeries& series);
/// Reads the layout of MatMRI, of which `samples` tells samples and terms apart. Throws Error.
MeasuredFields read_matmri_fields(const std::string& path, std::int64_t samples);
/// Reads a table of numbers in text. Throws Error.
MeasuredFields read_text_fields(const std::string& path);
/// Reads a file of any of these layouts. Throws Error.
MeasuredFields read_fields(const std::string& path, std::int64_t slice, std::int64_t repetition,
                           std::int64_t samples);
MeasuredFields read_fields_here(const std::string& path, std::int64_t slice, std::int64_t repetition,
                                std::int64_t samples);
/// Returns the first `count` functions of the table. Throws Error naming `subject` where there are not so many.
std::vector<FieldFunction> first_functions(std::int64_t count, const std::string& subject);

/// Gives a scan measured fields in place of its own, and what their terms x, y, z say in place of its positions, and times
/// where it has none; samples that then lie beyond the matrix are left out. Adds messages. Throws Error naming `subject`, a
/// file, where they are of another number of samples, hold one or two of x, y, z, need a field of view that is not known, or
/// fit the positions of the scan only with other axes or in another unit.
void put_fields(MeasuredFields measured, const std::string& subject, Scan& scan);
/// Warns once where fields beyond linear ones are functions of a position that the scan does not state.
void warn_of_place(Scan& scan);

}  // namespace fhd::io
