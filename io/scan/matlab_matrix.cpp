#include "io/scan/matlab_matrix.hpp"

#include <fmt/format.h>

#if FHD_HAS_MATIO
#include <matio.h>
#endif

#include <memory>

#include "io/hdf5/hdf5.hpp"
#include "recon/error.hpp"

namespace fhd::io {

#if FHD_HAS_MATIO

constexpr std::int64_t most_numbers = std::int64_t{1} << 26;

Array<double> read_matlab_matrix(const std::string& path, const std::string& name) {
  const auto subject = path + ":" + name;
  const std::unique_ptr<mat_t, decltype(&Mat_Close)> file(Mat_Open(path.c_str(), MAT_ACC_RDONLY), Mat_Close);
  if (!file) throw Error(path, "a MATLAB file that can be read", "none");
  const std::unique_ptr<matvar_t, decltype(&Mat_VarFree)> matrix(Mat_VarReadInfo(file.get(), name.c_str()),
                                                                 Mat_VarFree);
  if (!matrix) return {};
  const bool is_single = matrix->class_type == MAT_C_SINGLE;
  if (matrix->rank != 2 || matrix->isComplex != 0 || !(is_single || matrix->class_type == MAT_C_DOUBLE))
    throw Error(subject, "a matrix of real numbers, single or double", "another array");
  const hdf5::Extents extents{static_cast<std::int64_t>(matrix->dims[0]),
                              static_cast<std::int64_t>(matrix->dims[1])};
  const auto [rows, columns] = std::pair(extents[0], extents[1]);
  if (rows < 1 || columns < 1 || rows > most_numbers / columns)
    throw Error(subject, fmt::format("1 ... {} numbers", most_numbers), hdf5::text_of(extents));
  const auto bytes = static_cast<std::size_t>(rows * columns) * (is_single ? sizeof(float) : sizeof(double));
  if (Mat_VarReadDataAll(file.get(), matrix.get()) != 0 || matrix->data == nullptr || matrix->nbytes != bytes)
    throw Error(subject, "readable values", "none");
  Array<double> table({rows, columns});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      table[row * columns + column] = is_single
                                          ? static_cast<const float*>(matrix->data)[column * rows + row]
                                          : static_cast<const double*>(matrix->data)[column * rows + row];
  return table;
}

#else

Array<double> read_matlab_matrix(const std::string& path, const std::string&) {
  throw Error(path, "HDF5 or text",
              "a MATLAB file of version 5 to 7, which a build without libmatio cannot read",
              "in MATLAB: save(..., '-v7.3')");
}

#endif

}  // namespace fhd::io
