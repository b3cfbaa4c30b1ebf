#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <random>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device.hpp"
#include "recon/transform/direct/direct_backends.hpp"
#include "recon/transform/direct/pair_arithmetic.hpp"
#include "validation/bench/kernel_ladder.hpp"
#include "validation/bench/oracle_places.hpp"
#include "validation/bench/separable_rung.cuh"

namespace fhd {
namespace {

using device::check;
using device::check_launch;

// --- Ceilings ---

constexpr int chains = 8, steps = 4096;  // independent chains hide the latency of each step

// One special function per chain and step.
__global__ void special_function_kernel(float start, float* out) {
  float x[chains];
  for (int i = 0; i < chains; ++i) x[i] = start + static_cast<float>(threadIdx.x + i);
  for (int step = 0; step < steps; ++step)
#pragma unroll
    for (int i = 0; i < chains; ++i) x[i] = __sinf(x[i]);
  float sum = 0;
  for (int i = 0; i < chains; ++i) sum += x[i];
  if (sum == -1) *out = sum;  // never: keeps the work
}

__global__ void multiply_add_kernel(float factor, float* out) {
  float x[chains];
  for (int i = 0; i < chains; ++i) x[i] = static_cast<float>(threadIdx.x + i);
  for (int step = 0; step < steps; ++step)
#pragma unroll
    for (int i = 0; i < chains; ++i) x[i] = fmaf(x[i], factor, factor);
  float sum = 0;
  for (int i = 0; i < chains; ++i) sum += x[i];
  if (sum == -1) *out = sum;
}

double median_ms(int repeats, const std::function<void()>& work) {
  work();  // loads the module, fills caches, raises clocks
  device::Event start(device::Event::Timing::on), stop(device::Event::Timing::on);
  std::vector<double> ms;
  for (int i = 0; i < repeats; ++i) {
    start.record();
    work();
    stop.record();
    ms.push_back(stop.ms_since(start));
  }
  std::nth_element(ms.begin(), ms.begin() + repeats / 2, ms.end());
  return ms[static_cast<std::size_t>(repeats / 2)];
}

// --- The rungs before recon's kernels ---

enum class Phases {
  radians_accurate,  ///< sinf, cosf of 2 pi k . r
  radians_fast,      ///< __sinf, __cosf of the same
  turns_fast,        ///< k . r reduced to half a turn, then __sinf, __cosf
  whole_fast,        ///< k . r in whole numbers that wrap, then __sinf, __cosf
};

/// {kx, ky, kz, data}: k in turns per voxel, as float, or for `whole_fast` as a whole number.
template <int coils>
struct PlainPoint {
  std::uint32_t k[3];
  Complex<float> data[coils];
};

constexpr int half_bank = 32768;
__constant__ __align__(16) unsigned char ladder_bank[2][half_bank];

template <Phases phases>
__device__ Complex<float> phasor(float turns) {
  constexpr float two_pi = 6.28318530717959f;
  float sine, cosine;
  if constexpr (phases == Phases::radians_accurate)
    sincosf(two_pi * turns, &sine, &cosine);
  else if constexpr (phases == Phases::radians_fast)
    __sincosf(two_pi * turns, &sine, &cosine);
  else
    __sincosf(two_pi * (turns - rintf(turns)), &sine, &cosine);
  return {cosine, sine};
}

// image_c(p) += sum_m d_c(m) exp(+i 2 pi k_m . r_p) over `count` points (= for the first tile). One thread
// owns `voxels` neighbours along x; points come from constant memory or, where `global` is given, from there.
template <Phases phases, int voxels, int unroll, int coils, bool constant_memory>
__global__ void plain_adjoint_kernel(int nx, int ny, int nz, int half, const PlainPoint<coils>* global,
                                     int count, bool first_tile, Complex<float>* images) {
  const int groups = (nx + voxels - 1) / voxels;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int begin_x = static_cast<int>(thread % groups) * voxels;
  const int y = static_cast<int>(thread / groups % ny);
  const std::int64_t z = thread / groups / ny;
  if (z >= nz) return;
  const int x0 = begin_x - nx / 2, y0 = y - ny / 2, z0 = static_cast<int>(z) - nz / 2;

  const auto* points =
      constant_memory ? reinterpret_cast<const PlainPoint<coils>*>(ladder_bank[half]) : global;
  Complex<float> sums[coils][voxels];
#pragma unroll(unroll)
  for (int m = 0; m < count; ++m) {
    const PlainPoint<coils>& point = points[m];
    float turns = 0, kx = 0;
    std::uint32_t phase = 0;
    if constexpr (phases == Phases::whole_fast) {
      phase = point.k[0] * static_cast<std::uint32_t>(x0) + point.k[1] * static_cast<std::uint32_t>(y0) +
              point.k[2] * static_cast<std::uint32_t>(z0);
    } else {
      kx = __uint_as_float(point.k[0]);
      turns = kx * static_cast<float>(x0) + __uint_as_float(point.k[1]) * static_cast<float>(y0) +
              __uint_as_float(point.k[2]) * static_cast<float>(z0);
    }
#pragma unroll
    for (int v = 0; v < voxels; ++v) {
      Complex<float> e;
      if constexpr (phases == Phases::whole_fast)
        e = unit_phasor_fast(phase + static_cast<std::uint32_t>(v) * point.k[0]);
      else
        e = phasor<phases>(turns + static_cast<float>(v) * kx);
#pragma unroll
      for (int coil = 0; coil < coils; ++coil) multiply_add(point.data[coil], e, sums[coil][v]);
    }
  }
#pragma unroll
  for (int coil = 0; coil < coils; ++coil)
#pragma unroll
    for (int v = 0; v < voxels; ++v) {
      if (begin_x + v >= nx) break;
      Complex<float>& out = images[((coil * std::int64_t{nz} + z) * ny + y) * nx + begin_x + v];
      out = first_tile ? sums[coil][v] : out + sums[coil][v];
    }
}

// --- The problem and its reference ---

constexpr int most_coils = 8, checked_results = 256;

struct Problem {
  std::array<int, 3> matrix_size;
  Trajectory trajectory;
  Array<Complex<float>> data, images;  // [coil][sample], [coil][z][y][x]: random inputs
  Array<Complex<float>> data_device, images_device;
  std::vector<std::int64_t> checked_voxels, checked_samples;
  oracle::Values adjoint_reference, forward_reference;  // [coil][checked]

  std::int64_t samples() const { return trajectory.sample_count(); }
  std::int64_t voxels() const { return std::int64_t{matrix_size[0]} * matrix_size[1] * matrix_size[2]; }
};

Problem make_problem(const LadderSettings& settings) {
  Problem p;
  p.matrix_size = settings.matrix_size;
  std::mt19937 generator(2008);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  std::normal_distribution<float> normal;
  p.trajectory.k = Array<double>({3, settings.sample_count});
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < settings.sample_count; ++m)
      p.trajectory.k[axis * settings.sample_count + m] =
          uniform(generator) * p.matrix_size[static_cast<std::size_t>(axis)];
  p.data = Array<Complex<float>>({most_coils, p.samples()});
  p.images = Array<Complex<float>>({most_coils, p.matrix_size[2], p.matrix_size[1], p.matrix_size[0]});
  for (auto* values : {&p.data, &p.images})
    for (auto& value : *values) value = {normal(generator), normal(generator)};
  p.data_device = p.data.to(Device::cuda());
  p.images_device = p.images.to(Device::cuda());

  const auto choose = [&](std::int64_t all) {
    std::vector<std::int64_t> chosen(checked_results);
    for (auto& i : chosen) i = std::uniform_int_distribution<std::int64_t>(0, all - 1)(generator);
    return chosen;
  };
  p.checked_voxels = choose(p.voxels());
  p.checked_samples = choose(p.samples());
  p.checked_samples.resize(checked_results / 8);  // a sum over all voxels each: the oracle is slow
  const Array<double> r = oracle::voxel_positions(p.matrix_size);
  p.adjoint_reference =
      oracle::adjoint(p.trajectory.k, columns(r, p.checked_voxels), first_coil(p.data, p.samples()));
  p.forward_reference =
      oracle::forward(columns(p.trajectory.k, p.checked_samples), r, first_coil(p.images, p.voxels()));
  return p;
}

class Climber {
 public:
  Climber(const LadderSettings& settings, const Ceilings& ceilings)
      : settings_(settings), ceilings_(ceilings), problem_(make_problem(settings)) {}

  /// Runs, verifies, times and records.
  void climb(Rung rung, const std::function<void()>& work, const std::function<double()>& error) {
    work();
    rung.error = error();
    if (!(rung.error <= 1e-3))
      throw Error("bench kernels: " + rung.name, "an error below 1e-3", std::to_string(rung.error),
                  "this kernel is wrong on this device: please report it");
    rung.ms = median_ms(settings_.repeats, work);
    rung.pairs_per_s = static_cast<double>(problem_.voxels()) * static_cast<double>(problem_.samples()) *
                       rung.coils / (rung.ms * 1e-3);
    rung.share_of_ceiling = rung.pairs_per_s / ceilings_.special_function_pairs_per_s();
    rungs_.push_back(std::move(rung));
  }

  template <Phases phases, int voxels, int unroll, int coils, bool constant_memory>
  void plain(const std::string& name, int block_size, int tile_points, bool overlapped) {
    const auto kernel = plain_adjoint_kernel<phases, voxels, unroll, coils, constant_memory>;
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "reading the properties of a kernel");
    if (block_size > attributes.maxThreadsPerBlock) return;

    using Point = PlainPoint<coils>;
    const std::int64_t samples = problem_.samples();
    Array<Point> points_host({samples});
    for (std::int64_t m = 0; m < samples; ++m) {
      for (int axis = 0; axis < 3; ++axis) {
        const double turns =
            problem_.trajectory.k[axis * samples + m] / problem_.matrix_size[static_cast<std::size_t>(axis)];
        points_host[m].k[axis] = phases == Phases::whole_fast
                                     ? phase_of_turns<float>(turns)
                                     : std::bit_cast<std::uint32_t>(static_cast<float>(turns));
      }
      for (int coil = 0; coil < coils; ++coil) points_host[m].data[coil] = problem_.data[coil * samples + m];
    }
    const Array<Point> points = points_host.to(Device::cuda());
    Array<Complex<float>> images(
        {coils, problem_.matrix_size[2], problem_.matrix_size[1], problem_.matrix_size[0]}, Device::cuda());
    const auto [nx, ny, nz] = problem_.matrix_size;
    const std::int64_t threads = std::int64_t{(nx + voxels - 1) / voxels} * ny * nz;
    const auto blocks = static_cast<unsigned>((threads + block_size - 1) / block_size);
    tile_points = std::min<int>(tile_points, half_bank / sizeof(Point));
    const auto work = [&, nx = nx, ny = ny, nz = nz] {
      if constexpr (!constant_memory) {
        kernel<<<blocks, block_size>>>(nx, ny, nz, 0, points.data(), static_cast<int>(samples), true,
                                       images.data());
        check_launch(name);
      } else {
        for (auto& event : computed_) event.record();
        for (std::int64_t first = 0, tile = 0; first < samples; first += tile_points, ++tile) {
          const int count = static_cast<int>(std::min<std::int64_t>(tile_points, samples - first));
          const int half = overlapped ? static_cast<int>(tile % 2) : 0;
          const cudaStream_t stream = overlapped ? upload_.get() : nullptr;
          if (overlapped) upload_.wait(computed_[half]);
          check(cudaMemcpyToSymbolAsync(ladder_bank, points.data() + first, count * sizeof(Point),
                                        half * half_bank, cudaMemcpyDeviceToDevice, stream),
                "uploading a tile");
          if (overlapped) {
            uploaded_[half].record(upload_);
            uploaded_[half].hold_default_stream();
          }
          kernel<<<blocks, block_size>>>(nx, ny, nz, half, nullptr, count, tile == 0, images.data());
          check_launch(name);
          computed_[half].record();
        }
      }
    };
    Rung rung{.name = name,
              .coils = coils,
              .block_size = block_size,
              .tile_points = constant_memory ? tile_points : 0,
              .registers = attributes.numRegs};
    climb(rung, work, [&] { return error_at(problem_.checked_voxels, problem_.adjoint_reference, images); });
  }

  /// Sums one coil; nothing for matrices with an odd extent along y or z.
  void separable(const std::string& name) {
    const auto [nx, ny, nz] = problem_.matrix_size;
    if (ny % 2 != 0 || nz % 2 != 0) return;
    const std::int64_t samples = problem_.samples();
    Array<std::uint32_t> half_voxel({3, samples});
    for (int axis = 0; axis < 3; ++axis)
      for (std::int64_t m = 0; m < samples; ++m)
        half_voxel[axis * samples + m] =
            phase_of_ratio<float>(problem_.trajectory.k[axis * samples + m],
                                  2.0 * problem_.matrix_size[static_cast<std::size_t>(axis)]);
    const auto phases = half_voxel.to(Device::cuda());
    Array<Complex<float>> image({1, nz, ny, nx}, Device::cuda());
    const auto parts = [](int count, int of) { return static_cast<unsigned>((count + of - 1) / of); };
    const dim3 blocks(parts(nx, ladder::separable_columns), parts(ny / 2, ladder::separable_pairs),
                      parts(nz / 2, ladder::separable_pairs));
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, ladder::separable_adjoint_kernel),
          "reading the properties of a kernel");
    Rung rung{.name = name,
              .coils = 1,
              .block_size = ladder::separable_block,
              .tile_points = ladder::separable_tile,
              .registers = attributes.numRegs};
    climb(
        rung,
        [&, nx = nx, ny = ny, nz = nz] {
          ladder::separable_adjoint_kernel<<<blocks, ladder::separable_block>>>(
              nx, ny, nz, phases.data(), reinterpret_cast<const float2*>(problem_.data_device.data()),
              static_cast<int>(samples), reinterpret_cast<float2*>(image.data()));
          check_launch(name);
        },
        [&] { return error_at(problem_.checked_voxels, problem_.adjoint_reference, image); });
  }

  void production(const std::string& name, DirectChoice choice, int coils, bool forward) {
    const auto transform =
        make_direct_transform<float>(problem_.trajectory, problem_.matrix_size, Device::cuda(), choice);
    const auto first_coils = [coils](const Array<Complex<float>>& all, Shape shape) {
      Array<Complex<float>> some(shape, Device::cuda());
      check(
          cudaMemcpy(some.data(), all.data(), static_cast<std::size_t>(some.size()) * sizeof(Complex<float>),
                     cudaMemcpyDeviceToDevice),
          "copying on the device");
      return some;
    };
    const Rung rung{.name = name, .coils = coils};
    auto images = first_coils(problem_.images_device, transform->images_shape(coils));
    auto data = first_coils(problem_.data_device, transform->samples_shape(coils));
    if (forward)
      climb(
          rung, [&] { transform->forward(images, data); },
          [&] { return error_at(problem_.checked_samples, problem_.forward_reference, data); });
    else
      climb(
          rung, [&] { transform->adjoint(data, images); },
          [&] { return error_at(problem_.checked_voxels, problem_.adjoint_reference, images); });
  }

  std::vector<Rung> take() { return std::move(rungs_); }

 private:
  LadderSettings settings_;
  Ceilings ceilings_;
  Problem problem_;
  device::Stream upload_;
  device::Event uploaded_[2], computed_[2];
  std::vector<Rung> rungs_;
};

}  // namespace

Ceilings measure_ceilings() {
  const device::Description description = device::start(Device::cuda());
  Ceilings ceilings;
  ceilings.device = description.text();
  const unsigned blocks = 16 * static_cast<unsigned>(description.multiprocessor_count);
  constexpr int threads = 256, repeats = 5;
  const double operations = double(blocks) * threads * chains * steps;
  Array<float> out({1}, Device::cuda());
  const auto rate = [&](const auto& kernel) {
    return operations / (1e-3 * median_ms(repeats, [&] {
                           kernel<<<blocks, threads>>>(0.5f, out.data());
                           check_launch("ceiling kernel");
                         }));
  };
  ceilings.special_functions_per_s = rate(special_function_kernel);
  ceilings.multiply_adds_per_s = rate(multiply_add_kernel);
  constexpr std::int64_t copied = std::int64_t{1} << 30;
  const Array<unsigned char> from({copied}, Device::cuda());
  Array<unsigned char> to({copied}, Device::cuda());
  const double ms = median_ms(repeats, [&] {
    check(cudaMemcpyAsync(to.data(), from.data(), copied, cudaMemcpyDeviceToDevice, nullptr),
          "copying on the device");
  });
  ceilings.copy_bytes_per_s = 2.0 * copied / (ms * 1e-3);
  return ceilings;
}

std::vector<Rung> run_kernel_ladder(const LadderSettings& settings, const Ceilings& ceilings) {
  Climber ladder(settings, ceilings);
  using enum Phases;
  ladder.plain<radians_accurate, 1, 1, 1, false>("global memory, sinf and cosf", 256, 0, false);
  ladder.plain<radians_accurate, 1, 1, 1, true>("constant-memory tile", 256, 1024, false);
  ladder.plain<radians_accurate, 1, 1, 1, true>("tile within the 2 KiB first-level constant cache", 256, 64,
                                                false);
  ladder.plain<radians_fast, 1, 1, 1, true>("fast intrinsics", 256, 64, false);
  ladder.plain<turns_fast, 1, 1, 1, true>("phase in turns", 256, 64, false);
  ladder.plain<turns_fast, 1, 4, 1, true>("unrolled 4 times", 256, 64, false);
  ladder.plain<turns_fast, 8, 4, 1, true>("8 voxels per thread", 256, 1024, false);
  ladder.plain<whole_fast, 8, 4, 1, true>("phase in whole numbers", 256, 1024, false);
  ladder.plain<whole_fast, 8, 4, 1, true>("overlapped tile upload", 256, 1024, true);
  ladder.plain<whole_fast, 4, 2, 8, true>("8 coils share sin and cos", 256, 256, true);
  ladder.production("symmetric voxel runs (recon, fast)", {GpuSums::fast}, 1, false);
  ladder.production("symmetric voxel runs (recon, accurate)", {GpuSums::accurate}, 1, false);
  ladder.production("symmetric voxel runs, 8 coils (recon, fast)", {GpuSums::fast}, 8, false);
  ladder.production("symmetric voxel runs, 8 coils (recon, accurate)", {GpuSums::accurate}, 8, false);
  ladder.production("forward (recon, fast)", {GpuSums::fast}, 1, true);
  ladder.production("forward (recon, accurate)", {GpuSums::accurate}, 1, true);
  ladder.production("forward, 8 coils (recon, fast)", {GpuSums::fast}, 8, true);
  ladder.separable("matrix form on CUDA cores");
  for (const int coils : {1, 8})
    for (const bool forward : {false, true}) {
      const auto name = std::string(forward ? "forward" : "adjoint") + " on tensor cores" +
                        (coils == 1 ? ", " : ", 8 coils, ");
      ladder.production(name + "1 part, 1 product", {GpuSums::tensor_cores, 1e-3}, coils, forward);
      ladder.production(name + "2 parts, 3 products", {GpuSums::tensor_cores}, coils, forward);
    }
  if (settings.sweep)
    for (const int block_size : {64, 128, 256, 512})
      for (const int tile_points : {128, 512, 1365})
        ladder.plain<whole_fast, 8, 4, 1, true>("sweep of the overlapped rung", block_size, tile_points,
                                                true);
  return ladder.take();
}

}  // namespace fhd
