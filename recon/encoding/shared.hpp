#pragma once
// Normal operators that a group of processes applies together, each of a share of the coils; images are summed. Of a group
// of one: the operators themselves.
#include <memory>

#include "recon/array/execution.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {

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
