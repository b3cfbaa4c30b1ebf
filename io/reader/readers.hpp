#pragma once
// The functions that run in reader processes.
#include <cstdint>
#include <type_traits>

#include "io/hdf5/hdf5_facts.hpp"
#include "io/page/report_page.hpp"
#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "io/scan/fields_file.hpp"
#include "io/scan/mrd/noise_readouts.hpp"
#include "io/scan/pulseq/sequence.hpp"
#include "io/scan/scan_parts.hpp"

namespace fhd::io::reader {

template <auto a, auto b>
constexpr bool is_same(std::uint32_t& others_before) {
  if constexpr (std::is_same_v<std::integral_constant<decltype(a), a>,
                               std::integral_constant<decltype(b), b>>)
    return true;
  ++others_before;
  return false;
}

template <auto... functions>
struct ReaderList {
  template <auto function>
  static constexpr std::uint32_t number_of() {
    std::uint32_t number = 0;
    static_cast<void>((is_same<functions, function>(number) || ...));
    return number;
  }
  /// Calls visit(function) for the function of this number. Returns false if there is none.
  template <class Visit>
  static bool call(std::uint32_t number, Visit visit) {
    std::uint32_t each = 0;
    return ((each++ == number ? (visit(functions), true) : false) || ...);
  }
};

/// Both processes number the functions by this list. The first argument of each is the path of the file.
using Readers = ReaderList<&read_image_here, &read_nifti_volume_here, &read_gradient_response_here,
                           &read_number_table_here, &read_fields_here, &facts_of_hdf5_here,
                           &text_in_hdf5_here, &result_text_here, &copy_ismrmrd_here,
                           &mrd::kind_of_measurement_here, &pulseq::describe_sequence_here>;

/// Has in_reader() (io/files/in_reader.hpp) use reader processes.
void register_readers();

}  // namespace fhd::io::reader
