#include "io/hdf5/hdf5_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/files/stored_bytes.hpp"
#include "recon/error.hpp"

namespace fhd::io::hdf5 {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// By how much a filter shrinks values of so many bytes at most.
double limit_of_filter(H5Z_filter_t filter, std::size_t value_bytes) {
  // The first of each line, which has at most that many values, is stored as it is.
  constexpr double values_of_szip_line = 4096;
  switch (filter) {
    case H5Z_FILTER_DEFLATE:
      return deflate_limit;
    case H5Z_FILTER_SZIP:
      return values_of_szip_line;
    case H5Z_FILTER_NBIT:  // one bit is left of each
      return 8 * static_cast<double>(value_bytes);
    case H5Z_FILTER_SCALEOFFSET:  // equal values are none: what bounds them is the memory of inputs
      return unlimited;
    default:  // those for order and checksums, and nothing else is read here
      return 1;
  }
}

/// Of all filters, one after the other. Throws Error where this HDF5 library does not have one of them.
double limit_of_filters(hid_t properties, std::size_t value_bytes, const std::string& subject) {
  const int count = H5Pget_nfilters(properties);
  double limit = 1;
  for (unsigned i = 0; static_cast<int>(i) < count; ++i) {
    char name[64]{};
    unsigned flags = 0;
    std::size_t parameters = 0;
    const auto filter =
        H5Pget_filter2(properties, i, &flags, &parameters, nullptr, sizeof name, name, nullptr);
    if (filter >= 0 && H5Zfilter_avail(filter) <= 0)
      throw Error(subject, "values uncompressed or compressed by gzip or szip",
                  "the HDF5 filter '" + std::string(name) + "' (" + std::to_string(filter) + ")",
                  "rewrite the file with 'h5repack -f GZIP=4'");
    limit *= limit_of_filter(filter, value_bytes);
  }
  return limit;
}

/// A chunk is read as a whole, also where it is longer than the dataset.
double chunk_bytes(hid_t properties, std::size_t value_bytes) {
  hsize_t sizes[H5S_MAX_RANK]{};
  const int rank = H5Pget_chunk(properties, H5S_MAX_RANK, sizes);
  double bytes = rank > 0 ? static_cast<double>(value_bytes) : 0;
  for (int axis = 0; axis < rank; ++axis) bytes *= static_cast<double>(sizes[axis]);
  return bytes;
}

/// A dataset that is not compressed states the place that it takes itself: no more than the file has.
double stored_bytes_of_dataset(hid_t dataset, const std::string& subject) {
  const Handle file(H5Iget_file_id(dataset), H5Fclose, subject, "a readable file");
  hsize_t of_file = 0;
  check(H5Fget_filesize(file.get(), &of_file), subject, "a readable file");
  return static_cast<double>(std::min<hsize_t>(H5Dget_storage_size(dataset), of_file));
}

bool is_sound_float(hid_t type, std::size_t bits) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0) return false;
  constexpr std::size_t most_exponent_bits = 32;
  const auto is_within = [&](std::size_t begin, std::size_t count) {
    return begin <= bits && count <= bits - begin;
  };
  return sign < bits && exponent_bits <= most_exponent_bits && is_within(exponent, exponent_bits) &&
         is_within(mantissa, mantissa_bits);
}

bool is_sound_number(hid_t type) {
  constexpr std::size_t most_bytes = 16;
  const auto bytes = H5Tget_size(type), precision = H5Tget_precision(type);
  const int offset = H5Tget_offset(type);
  if (bytes == 0 || bytes > most_bytes || offset < 0 || precision == 0) return false;
  const auto bits = 8 * bytes;
  return precision <= bits && static_cast<std::size_t>(offset) <= bits - precision &&
         (H5Tget_class(type) != H5T_FLOAT || is_sound_float(type, bits));
}

bool is_sound(hid_t type, const std::string& subject, int depth);

bool is_sound_compound(hid_t type, const std::string& subject, int depth) {
  const auto bytes = H5Tget_size(type);
  const int count = H5Tget_nmembers(type);
  std::size_t together = 0;
  for (unsigned i = 0; static_cast<int>(i) < count; ++i) {
    const Handle member(H5Tget_member_type(type, i), H5Tclose, subject, "a readable type");
    const auto begin = H5Tget_member_offset(type, i), size = H5Tget_size(member.get());
    if (begin > bytes || size > bytes - begin || size > bytes - together ||
        !is_sound(member.get(), subject, depth + 1))
      return false;
    together += size;
  }
  return count > 0;
}

/// What an array or a list consists of.
bool has_sound_parts(hid_t type, const std::string& subject, int depth) {
  const Handle part(H5Tget_super(type), H5Tclose, subject, "a readable type");
  const auto part_bytes = H5Tget_size(part.get());
  if (!is_sound(part.get(), subject, depth + 1)) return false;
  if (H5Tget_class(type) != H5T_ARRAY) return true;
  const int rank = H5Tget_array_ndims(type);
  hsize_t sizes[H5S_MAX_RANK]{};
  if (rank < 1 || rank > H5S_MAX_RANK || H5Tget_array_dims2(type, sizes) < 0) return false;
  double bytes = static_cast<double>(part_bytes);
  for (int axis = 0; axis < rank; ++axis) bytes *= static_cast<double>(sizes[axis]);
  return bytes == static_cast<double>(H5Tget_size(type));
}

bool is_sound(hid_t type, const std::string& subject, int depth) {
  constexpr int deepest = 16;
  if (depth > deepest) return false;
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
      return is_sound_compound(type, subject, depth);
    case H5T_ARRAY:
    case H5T_VLEN:
      return has_sound_parts(type, subject, depth);
    case H5T_FLOAT:
    case H5T_INTEGER:
      return is_sound_number(type);
    default:
      return true;
  }
}

}  // namespace

double bytes_of(const Extents& extents, std::size_t value_bytes) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
  double bytes = static_cast<double>(value_bytes);
  for (const auto extent : extents) bytes *= static_cast<double>(extent);
  return bytes;
}

void require_stored(hid_t dataset, std::size_t value_bytes, const Extents& extents,
                    const std::string& subject) {
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose, subject, "a readable layout");
  const double limit = limit_of_filters(properties.get(), value_bytes, subject);
  const double claimed = bytes_of(extents, value_bytes);
  if (claimed == 0) return;
  const double needed = std::max(claimed, chunk_bytes(properties.get(), value_bytes)),
               stored = stored_bytes_of_dataset(dataset, subject);
  // Values that were never written take no space.
  if (stored > 0 && needed <= stored * limit) return;
  throw Error(subject, "values for its extents " + text_of(extents),
              fmt::format("{:.0f} stored bytes, where {:.0f} are claimed", stored, needed),
              "the file is damaged or was not written to its end");
}

void require_sound_type(hid_t type, const std::string& subject) {
  if (!is_sound(type, subject, 0))
    throw Error(subject, "a type whose parts lie within it", "another one", "the file is damaged");
}

}  // namespace fhd::io::hdf5
