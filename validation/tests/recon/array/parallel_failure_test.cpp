// Exceptions in OpenMP regions: what is thrown there comes out, wherever memory ends.
#include "recon/array/parallel_failure.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "data/simulate.hpp"
#include "io/reader/sanitizer.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/certificate.hpp"

namespace {

/// How many allocations in parallel regions are still granted; below 0: all.
std::atomic<std::int64_t> granted = -1;

}  // namespace

// In place of the standard library's, for this program. (clang's sanitizers, which are linked in, have their own there.)
#if defined(__clang__) && FHD_HAS_SANITIZER
constexpr bool can_refuse = false;
#else
constexpr bool can_refuse = true;
void* operator new(std::size_t bytes) {
  if (granted >= 0 && omp_in_parallel() && granted.fetch_sub(1) == 0) throw std::bad_alloc();
  if (void* data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
#endif

namespace fhd {
namespace {

TEST(ParallelFailure, hands_out_what_one_thread_throws) {
  ParallelFailure failure;
  std::atomic<int> done = 0;
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 100; ++i)
    failure.guard([&] {
      if (i % 10 == 7) throw Error("work", "", std::to_string(i));
      ++done;
    });
  EXPECT_THROW(failure.rethrow(), Error);
  EXPECT_EQ(done, 90);
  EXPECT_NO_THROW(ParallelFailure().rethrow());
}

TEST(ParallelFailure, of_a_threads_own_memory_leaves_it_none) {
  ParallelFailure failure;
  const auto made = failure.made_by([]() -> std::vector<int> { throw std::bad_alloc(); });
  EXPECT_FALSE(made.has_value());
  EXPECT_THROW(failure.rethrow(), std::bad_alloc);
  ParallelFailure none;
  EXPECT_EQ(none.made_by([] { return std::vector<int>(3); })->size(), 3u);
  EXPECT_NO_THROW(none.rethrow());
}

/// Calls `work` again and again, each time with memory for more allocations in parallel regions, until there is enough. How
/// often it ended by an exception.
int attempts(const std::function<void()>& work) {
  int failed = 0;
  for (std::int64_t enough = 0;; enough += 1 + enough / 2) {
    granted = enough;
    try {
      work();
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    const bool was_enough = granted >= 0;
    granted = -1;
    if (was_enough) return failed;
  }
}

/// Less than a thousand samples, which GCC sorts without threads.
data::SimulationSettings small_scan() {
  omp_set_num_threads(2);
  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::golden_radial;
  settings.trajectory.matrix_size = {12, 12, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 3;
  return settings;
}

TEST(MemoryThatEndsInAParallelRegion, is_an_exception_of_a_simulation) {
  if (!can_refuse) GTEST_SKIP() << "memory is a sanitizer's";
  auto settings = small_scan();
  EXPECT_GE(attempts([&] { data::simulate(settings); }), 10);
  settings.field_hz = 20;
  EXPECT_GE(attempts([&] { data::simulate(settings); }), 10);
  settings.field_hz = 0;
  settings.readouts_per_frame = 5;
  EXPECT_GE(attempts([&] { data::simulate(settings); }), 10);
}

TEST(MemoryThatEndsInAParallelRegion, is_an_exception_of_a_reconstruction_and_its_certificate) {
  if (!can_refuse) GTEST_SKIP() << "memory is a sanitizer's";
  Scan scan = data::simulate(small_scan()).scan;
  Services services;
  services.verifier = validation::make_verifier();
  const auto attempts_with = [&](CoilMaps maps) {
    Settings settings{LeastSquares{.iterations = 3}};
    settings.coils.maps = maps;
    const auto run = [&] { reconstruct(scan, settings, {}, services, {}); };
    run();  // what is kept for the process is there
    return attempts(run);
  };
  EXPECT_GT(attempts_with(CoilMaps::automatic), 0);  // those of the scan; of the certificate
  scan.sensitivity_maps.reset();
  for (const auto maps : {CoilMaps::espirit, CoilMaps::adaptive, CoilMaps::joint})
    EXPECT_GT(attempts_with(maps), 0);
}

}  // namespace
}  // namespace fhd
