// Texts of HDF5 files, of a fixed length or with a length of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "io/hdf5/hdf5_library.hpp"
#include "recon/error.hpp"

namespace fhd::io::hdf5 {
namespace {

constexpr std::size_t longest_text = 1 << 24;
constexpr std::size_t longest_report = std::size_t{1} << 30;  // of a long series

void require_length(std::size_t bytes, std::size_t longest, const std::string& subject) {
  if (bytes > longest)
    throw Error(subject, fmt::format("text of at most {} bytes", longest), fmt::format("{} bytes", bytes));
}

/// Reads one text of at most `longest` bytes; `read` is H5Aread or H5Dread.
template <class Read>
std::string read_string(const Handle& type, hid_t space_id, const std::string& subject, std::size_t longest,
                        Read read) {
  const Handle space(space_id, H5Sclose, subject, "a readable dataspace");
  if (H5Tget_class(type.get()) != H5T_STRING) throw Error(subject, "text", "another type");
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()));
  if (count != 1) throw Error(subject, "one text", std::to_string(count));
  if (H5Tis_variable_str(type.get()) > 0) {
    const auto memory = text_type(H5T_VARIABLE, H5Tget_cset(type.get()), subject);
    char* found = nullptr;
    check(read(memory.get(), &found), subject, "readable text");
    const std::unique_ptr<char, herr_t (*)(void*)> owner(found, H5free_memory);
    const std::string_view text(found != nullptr ? found : "");
    require_length(text.size(), longest, subject);
    return std::string(text);
  }
  const std::size_t size = H5Tget_size(type.get());
  require_length(size, longest, subject);
  std::string text(size + 1, '\0');
  const auto memory = text_type(size + 1, H5Tget_cset(type.get()), subject);
  check(read(memory.get(), text.data()), subject, "readable text");
  text.resize(strnlen(text.data(), size));
  return text;
}

}  // namespace

std::string File::read_text(const std::string& name) const {
  const auto where = subject(name);
  const Handle dataset = open_dataset(name);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose, where, "a readable type");
  // A report is as long as what is stored.
  const auto stored = static_cast<std::size_t>(H5Dget_storage_size(dataset.get()));
  return read_string(type, H5Dget_space(dataset.get()), where,
                     std::max(longest_text, std::min(stored, longest_report)), [&](hid_t memory, void* text) {
                       return H5Dread(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
                     });
}

std::string File::text_attribute(const std::string& object, const std::string& name) const {
  const auto where = subject_of(*this, object, name);
  const auto attribute = open_attribute(*this, object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose, where, "a readable type");
  return read_string(type, H5Aget_space(attribute.get()), where, longest_text,
                     [&](hid_t memory, void* text) { return H5Aread(attribute.get(), memory, text); });
}

}  // namespace fhd::io::hdf5
