#pragma once
// Sums by several threads that are the same to the last digit with any number of them.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "recon/array/parallel_failure.hpp"

namespace fhd::validation {

/// Returns the sums that of(begin, end, sum) adds to `zero` for parts of the items below `count`, in their order: the same
/// digits with any number of threads.
template <class Sum, class Of>
Sum sum_of_parts(std::int64_t count, const Sum& zero, const Of& of) {
  constexpr std::int64_t parts = 16;
  std::vector<Sum> sums(parts, zero);
  ParallelFailure failure;
#pragma omp parallel for schedule(static)
  for (std::int64_t part = 0; part < parts; ++part)
    failure.guard([&] {
      const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
      if (begin < end) of(begin, end, sums[static_cast<std::size_t>(part)]);
    });
  failure.rethrow();
  for (std::size_t part = 1; part < parts; ++part) sums[0] += sums[part];
  return std::move(sums[0]);
}

}  // namespace fhd::validation
