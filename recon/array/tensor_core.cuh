#pragma once
// Instructions of tensor cores, of caches and of copies beside the work of a kernel, for which CUDA C++ has no words: one function for
// each, named after what it does; the PTX ISA describes them under the names in the comments. Those of Hopper are in
// hopper.cuh.
#include <cuda_fp16.h>

#include <cstdint>

namespace fhd::device {

/// mma.sync m16n8k16, half-precision factors, single-precision sums: d += a b for one warp. Lane l = 4 g + t holds of a
/// [16][16] the columns {2t, 2t+1, 2t+8, 2t+9} of rows g and g + 8, {a0, a2} and {a1, a3}; of b [16][8] the same rows of
/// column g; of d [16][8] the columns {2t, 2t+1} of rows g, then g + 8. The lower index is in a word's lower half.
__device__ inline void mma_f16(float* d, const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Computes d = a b: no register has to be zeroed before.
__device__ inline void mma_f16_from_zero(float* d, const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%10,%10,%10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0f));
}

/// mma.sync m16n8k8 of double precision: d += a b for one warp. Lane l = 4 g + t holds of a [16][8] the columns {t, t + 4} of
/// rows g and g + 8, {a0, a2} and {a1, a3}; of b [8][8] the same rows of column g; d as mma_f16.
__device__ inline void mma_f64(double* d, const double (&a)[4], double b0, double b1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#else
#pragma unroll
  for (int i = 0; i < 4; ++i)  // [8][4] by [4][8]: upper and lower rows, first and second columns of a
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[2 * (i % 2)]), "+d"(d[2 * (i % 2) + 1])
                 : "d"(a[i]), "d"(i < 2 ? b0 : b1));
#endif
}

/// The address of shared memory as instructions take it.
__device__ inline std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// ldmatrix x4: four matrices of 8 rows of 16 bytes; lane l says where row l % 8 of matrix l / 8 lies, and gets of each
/// matrix the bytes 4 (l % 4) ... of row l / 4.
__device__ inline void load_matrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

/// cp.async: 16 bytes of global memory to shared memory, beside the thread.
__device__ inline void copy_async_16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global)
               : "memory");
}
/// Closes a group of this thread's copies.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `left` groups are under way.
template <int left>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

/// prefetch: the line of global memory at `address` on its way to the L2 cache.
__device__ inline void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/// Nothing: a branch with it inside stays one, where the compiler would compute both sides.
__device__ inline void keep_branch() { asm volatile(""); }

/// sum += value, in memory, without waiting. In the order of the calls where one thread alone adds to `sum`.
__device__ inline void add_in_memory(float2* sum, float re, float im) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v2.f32 [%0], {%1,%2};" ::"l"(sum), "f"(re), "f"(im) : "memory");
#else
  atomicAdd(&sum->x, re);
  atomicAdd(&sum->y, im);
#endif
}

}  // namespace fhd::device
