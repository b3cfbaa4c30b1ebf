#pragma once
// E^H E of a SenseEncoding with T by FFT (toeplitz.hpp). A group of processes applies it together, each to a share of the
// coils; images are summed.
#include <memory>

#include "recon/array/execution.hpp"
#include "recon/encoding/sense.hpp"

namespace fhd {

/// The sum of Hermitian operators on images of `domain`, of which each process has one, or none (null). Of a group of one:
/// the operator itself.
template <class T>
std::shared_ptr<const HermitianOperator<T>> shared_sum(std::shared_ptr<const HermitianOperator<T>> part,
                                                       const Shape& domain, Device device,
                                                       std::shared_ptr<const ProcessGroup> group);

/// `point_spread` is q on the periodic difference grid. coils_at_once: see make_toeplitz_normal.
template <class T>
std::shared_ptr<const HermitianOperator<T>> make_sense_normal(std::shared_ptr<const SenseEncoding<T>> sense,
                                                              const Array<Complex<T>>& point_spread,
                                                              std::int64_t coils_at_once);

}  // namespace fhd
