#pragma once
// Instructions of Hopper (compute capability 9.0, machine code sm_90a) for which CUDA C++ has no words: products by a
// group of four warps, bulk copies, and barriers that count their bytes. Code that uses them stands under FHD_HOPPER; the
// PTX ISA describes them under the names in the comments.
#include <cstdint>

#include "recon/array/tensor_core.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FHD_HOPPER 1
#endif

#ifdef FHD_HOPPER
namespace fhd::device {

// --- mbarrier: a phase ends when all have arrived, and all bytes that were expected

__device__ __forceinline__ void init_barrier(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}
/// Makes initialised barriers known to copies.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void arrive_and_expect(std::uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Waits for the end of the phase of that parity.
__device__ __forceinline__ void wait(std::uint64_t* barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
/// cp.async.bulk: `bytes` (a multiple of 16) of global to shared memory, told to the barrier.
__device__ __forceinline__ void copy_bulk(void* shared, const void* global, int bytes,
                                          std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

// --- bar: barrier `name` (1 ... 15) of the block, whose phase ends with that many threads

/// Waits for the end of the phase.
__device__ __forceinline__ void sync_named(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
/// Does not wait.
__device__ __forceinline__ void arrive_named(int name, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

// --- wgmma: products by four warps, beside their other work

/// A matrix of numbers of half precision in shared memory, rows of 128 bytes in groups of eight, their sixteenths
/// exchanged (128-byte swizzle): the descriptor of 16 columns from `start` on.
__device__ __forceinline__ std::uint64_t describe_matrix(const void* start) {
  constexpr std::uint64_t group_of_rows = 1024 >> 4, swizzle_128 = 1;
  return static_cast<std::uint64_t>((shared_address(start) & 0x3ffff) >> 4) | std::uint64_t{1} << 16 |
         group_of_rows << 32 | swizzle_128 << 62;
}
/// Registers of products that follow are written; before them.
__device__ __forceinline__ void fence_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes a group of products.
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `left` groups are under way.
template <int left>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

/// wgmma m64n128k16, half-precision factors, single-precision sums: d += a b of four warps, or d = a b. Each warp holds its
/// 16 rows of a and d as for mma_f16, d in 16 groups of 8 columns; b [column][16] as described.
__device__ __forceinline__ void multiply_64x128(float (&d)[64], const std::uint32_t (&a)[4], std::uint64_t b,
                                                bool add = true) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64,%65,%66,%67}, %68, add, 1, 1, 0;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]),
        "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
        "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]),
        "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]),
        "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}

// --- setmaxnreg: registers move from the warps that copy to those that compute

template <int registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

}  // namespace fhd::device
#endif
