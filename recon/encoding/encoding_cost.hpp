#pragma once
// What encodings cost and hold, from sizes alone and the cost of their transform. Bytes are on its device.
#include "recon/array/operator_cost.hpp"
#include "recon/transform/transform_cost.hpp"

namespace fhd {

/// SenseEncoding. Its bytes are beside its maps and its transform, whose scratch is the scratch. `coils_at_once`
/// as there.
OperatorCost sense_cost(const TransformCost& transform, const TransformSizes& sizes, std::int64_t coils,
                        std::int64_t coils_at_once = 0);
/// The off-resonance encoding with so many time segments. Its bytes are beside the SenseEncoding that it shares.
OperatorCost off_resonance_cost(const TransformCost& transform, const TransformSizes& sizes,
                                std::int64_t coils, std::int64_t coils_at_once, int segments);

}  // namespace fhd
