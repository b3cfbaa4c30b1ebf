#pragma once
// The functions that open files of others, as they are in a process that does nothing else, and the door to them:
//
//     return guard::apart<&read_image_here>({{path}}, path, dataset);
//
// calls `read_image_here(path, dataset)` in a process of its own where there is a host for it (guard.hpp), else here.
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/reader/archive.hpp"
#include "io/reader/guard.hpp"
#include "io/reader/process.hpp"

namespace fhd::io {

ImageSeries read_image_here(const std::string& path, const std::string& dataset);
Volume read_nifti_volume_here(const std::string& path);
GradientResponse read_gradient_response_here(const std::string& path);
Array<double> read_number_table_here(const std::string& path, const std::string& dataset);
std::optional<Hdf5Facts> facts_of_hdf5_here(const std::string& path, const Hdf5Question& question);
std::string text_in_hdf5_here(const std::string& path, const std::string& name);
/// What the page shows of a result, as JSON.
std::string result_text_here(const std::string& path, const std::string& title, std::uint64_t most_voxels);
/// A small picture as text of a page; empty where the file is no picture.
std::string thumbnail_here(const std::string& path);
std::vector<std::string> copy_ismrmrd_here(const std::string& from, const ReadOptions& options,
                                           const std::string& temporary, const std::string& path);
std::unique_ptr<ScanFile> open_scan_here(const std::string& path, const ReadOptions& options);

}  // namespace fhd::io

namespace fhd::io::guard {

template <auto... functions>
struct ReaderList {
  template <auto function>
  static constexpr std::uint32_t number_of() {
    std::uint32_t number = 0, found = sizeof...(functions);
    const auto look = [&](auto each) {
      if constexpr (std::is_same_v<decltype(each), std::integral_constant<decltype(function), function>>)
        found = number;
      ++number;
    };
    (look(std::integral_constant<decltype(functions), functions>{}), ...);
    return found;
  }
  /// visit(function) of this number; false: there is none.
  template <class Visit>
  static bool call(std::uint32_t number, Visit visit) {
    std::uint32_t each = 0;
    return ((each++ == number ? (visit(functions), true) : false) || ...);
  }
};

/// Both sides count by this list.
using Readers = ReaderList<&read_image_here, &read_nifti_volume_here, &read_gradient_response_here,
                           &read_number_table_here, &facts_of_hdf5_here, &text_in_hdf5_here,
                           &result_text_here, &thumbnail_here, &copy_ismrmrd_here>;

/// What function(arguments...) gives, called apart from this process. Throws Error: also where that process came to harm.
template <auto function, class... Arguments>
auto apart(const Task& task, const Arguments&... arguments) {
  using Result = decltype(function(arguments...));
  static_assert(Readers::number_of<function>() < most_readers);
  if (!is_on()) return function(arguments...);
  ReaderProcess process(task, 1);
  return process.ask<Result>(Readers::number_of<function>(), arguments...);
}

}  // namespace fhd::io::guard
