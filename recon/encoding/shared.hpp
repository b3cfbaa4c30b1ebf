#pragma once
// Operators that a group of processes applies together: each encodes a share of the samples and applies the
// normal operator of a share of the coils; images are summed. Of a group of one: the operators themselves.
#include <memory>

#include "recon/array/execution.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {

/// E of all samples, of which this process has a part: forward gives that part, adjoint the whole image.
template <class T>
std::shared_ptr<const Encoding<T>> shared_encoding(std::shared_ptr<const Encoding<T>> part,
                                                   std::shared_ptr<const ProcessGroup> group);

/// The sum of Hermitian operators on images of `domain`, of which each process has one, or none (null).
template <class T>
std::shared_ptr<const HermitianOperator<T>> shared_sum(std::shared_ptr<const HermitianOperator<T>> part,
                                                       const Shape& domain, Device device,
                                                       std::shared_ptr<const ProcessGroup> group);

/// The Toeplitz operator of all coils of `maps`, each process with some of them (or none).
template <class T>
std::shared_ptr<const HermitianOperator<T>> shared_toeplitz_normal(const Array<Complex<T>>& point_spread,
                                                                   const Array<Complex<T>>& maps,
                                                                   std::int64_t coils_at_once,
                                                                   std::int64_t images_at_once,
                                                                   std::shared_ptr<const ProcessGroup> group);

}  // namespace fhd
