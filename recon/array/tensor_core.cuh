#pragma once
// Instructions of tensor cores and of caches, for which CUDA C++ has no words: one function for each, named
// after what it does; the PTX ISA describes them under the names in the comments. From sm_80 on.
#include <cstdint>

namespace fhd::device {

/// mma.sync m16n8k16, half-precision factors, single-precision sums: d += a b for one warp. Lane l = 4 g + t
/// holds of a [16][16] the columns {2t, 2t+1, 2t+8, 2t+9} of rows g and g + 8, {a0, a2} and {a1, a3}; of b
/// [16][8] the same rows of column g; of d [16][8] the columns {2t, 2t+1} of rows g, then g + 8. The lower
/// index is in a word's lower half.
__device__ inline void mma_f16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// The same, d = a b: no register has to be zeroed before.
__device__ inline void mma_f16_from_zero(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%10,%10,%10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0f));
}

/// prefetch: the line of global memory at `address` on its way to the L2 cache.
__device__ inline void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/// Nothing: a branch with it inside stays one, where the compiler would compute both sides.
__device__ inline void keep_branch() { asm volatile(""); }

}  // namespace fhd::device
