#pragma once
// The signal by which readouts went into bins, as a page draws it.
#include <nlohmann/json.hpp>

#include "io/hdf5/hdf5.hpp"

namespace fhd::io {

/// Reads the curve of the first slice of a result of 'fhd recon --gate': source, readouts (how many there are), signal, bins (-1: in
/// none), stride, and slices (how many). Of more than `most` readouts every stride-th; what is not finite is null.
/// Null where there is none. Throws Error when the two do not agree.
nlohmann::ordered_json gating_curve(const hdf5::File& file, std::int64_t most = 10000);

}  // namespace fhd::io
