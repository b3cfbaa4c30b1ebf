// E^H E on the device by cuFFT; the formula is in toeplitz.hpp.
//
// Padded zeros are not transformed where that can be helped. A coil's image times its map fills the corner
// [0, N) of N planes [2N][2N]; one batched 2D FFT takes these N planes (not 2N), one batched FFT along z all
// columns. Columns go in groups of rows that stay in the cache while they are transformed, multiplied by the
// transfer function and transformed back. Then the inverse 2D FFT of the N planes that are kept, crop, and
// the sum over coils with conj(S). For 128^3 voxels on an H100 this takes 0.7 of the time of FFTs of the
// whole grid (validation/results). A 2D scan is one plane per coil, and a batch of coils is what stays in the
// cache.
//
// Pads are written once, when the buffers are made: every FFT from a padded buffer goes to another buffer.
// The passes are recorded once as a CUDA graph: launched one by one, gaps between them cost 8 ...
// 15 %.
//
// Floor: the FFTs, 2 (1/4 + 1/2 + 1) 5 (2N)^3 log2(2N) operations per coil, and in each of 8 passes about 2
// (2N)^3 / 2 complex numbers read and written.
#include <algorithm>
#include <utility>
#include <vector>

#include "recon/array/cuda_check.hpp"
#include "recon/array/cufft_library.hpp"
#include "recon/array/device.hpp"
#include "recon/transform/toeplitz/toeplitz_cuda.hpp"

namespace fhd {
namespace {

constexpr int block_size = 256;
unsigned blocks_for(std::int64_t size) { return static_cast<unsigned>((size + block_size - 1) / block_size); }

// --- Sizes ---

/// Bytes of the device's cache.
std::int64_t cache_bytes() {
  int ordinal = 0, bytes = 0;
  device::check(cudaGetDevice(&ordinal), "finding the current device");
  device::check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, ordinal),
                "reading the size of the cache");
  return bytes;
}

/// `count` in equal parts of at most `most`.
std::int64_t equal_part(std::int64_t count, std::int64_t most) {
  const std::int64_t parts = (count + most - 1) / most;
  return (count + parts - 1) / parts;
}

// --- Kernels: one thread per element, which it alone writes. Each moves its elements once. ---

// target(c, z, y, x) = S_c(z, y, x) rho(z, y, x), in the corner of planes [gy][gx]; coils `stride` apart.
template <class T>
__global__ void pad_kernel(const Complex<T>* rho, const Complex<T>* maps, unsigned nx, unsigned ny,
                           unsigned voxels, std::int64_t gx, std::int64_t gy, int coils, std::int64_t stride,
                           Complex<T>* target) {
  const unsigned p = blockIdx.x * block_size + threadIdx.x;
  if (p >= voxels) return;
  const unsigned row = p / nx;
  target += (row / ny * gy + row % ny) * gx + p % nx;
  const Complex<T> value = rho[p];
  for (int coil = 0; coil < coils; ++coil)
    target[coil * stride] = maps[std::int64_t{coil} * voxels + p] * value;
}

/// Elements that one instruction loads.
template <class Element, int count>
struct alignas(sizeof(Element) * count) Pack {
  Element at[count];
};

// spectra(c, i) *= transfer(i); blockIdx.y = c. One thread takes `count` neighbours; size is a multiple of
// it.
template <class T, int count>
__global__ void multiply_kernel(const T* transfer, std::int64_t size, Complex<T>* spectra) {
  const std::int64_t i = (std::int64_t{blockIdx.x} * block_size + threadIdx.x) * count;
  if (i >= size) return;
  auto& values = *reinterpret_cast<Pack<Complex<T>, count>*>(spectra + blockIdx.y * size + i);
  const auto factors = *reinterpret_cast<const Pack<T, count>*>(transfer + i);
  Pack<Complex<T>, count> products = values;
  for (int j = 0; j < count; ++j) products.at[j] *= factors.at[j];
  values = products;
}

// out(p) = (out(p) if `add`) + sum over c of conj(S_c(p)) padded(c, p), the coils in their order.
template <class T>
__global__ void crop_and_combine_kernel(const Complex<T>* padded, const Complex<T>* maps, unsigned nx,
                                        unsigned ny, unsigned voxels, std::int64_t gx, std::int64_t gy,
                                        int coils, std::int64_t stride, bool add, Complex<T>* out) {
  const unsigned p = blockIdx.x * block_size + threadIdx.x;
  if (p >= voxels) return;
  const unsigned row = p / nx;
  padded += (row / ny * gy + row % ny) * gx + p % nx;
  Complex<T> sum = add ? out[p] : Complex<T>();
  for (int coil = 0; coil < coils; ++coil)
    sum += conj(maps[std::int64_t{coil} * voxels + p]) * padded[coil * stride];
  out[p] = sum;
}

// transfer = Re spectrum / grid points, rows in groups: [group][z][row of the group][x]. Of a flat grid: as
// it is.
template <class T>
__global__ void store_transfer_kernel(const Complex<T>* spectrum, std::int64_t gx, std::int64_t gy,
                                      std::int64_t gz, std::int64_t group_rows, T* transfer) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (i >= gx * gy * gz) return;
  const std::int64_t x = i % gx, y = i / gx % gy, z = i / (gx * gy);
  const std::int64_t first = y / group_rows * group_rows, rows = min(group_rows, gy - first);
  transfer[first * gx * gz + (z * rows + y - first) * gx + x] = spectrum[i].re / static_cast<T>(gx * gy * gz);
}

// --- cuFFT ---

/// Where the elements of a batch of FFTs lie: neighbours along the fastest axis `stride` apart, transforms
/// `distance`.
struct Layout {
  std::int64_t stride, distance;
};

/// A cuFFT plan without a work area of its own.
template <class T>
class Plan {
 public:
  /// `sizes`: 1 ... 3 axes, slowest first.
  Plan(std::vector<long long> sizes, Layout in, Layout out, std::int64_t batch) {
    const auto& cufft = cufft::library();
    cufft::check(cufft.create(&handle_), "making a plan");
    created_ = true;
    cufft::check(cufft.set_auto_allocation(handle_, 0), "making a plan");
    const auto type = sizeof(T) == 4 ? CUFFT_C2C : CUFFT_Z2Z;
    cufft::check(
        cufft.make_plan_many(handle_, static_cast<int>(sizes.size()), sizes.data(), sizes.data(), in.stride,
                             in.distance, sizes.data(), out.stride, out.distance, type, batch, &work_bytes_),
        "making a plan");
  }
  Plan(Plan&& other) noexcept
      : handle_(other.handle_),
        created_(std::exchange(other.created_, false)),
        work_bytes_(other.work_bytes_) {}
  Plan& operator=(Plan&&) = delete;
  ~Plan() {
    if (created_) cufft::library().destroy(handle_);
  }

  std::size_t work_bytes() const { return work_bytes_; }
  void use_work_area(Array<unsigned char>& work) {
    cufft::check(cufft::library().set_work_area(handle_, work.data()), "setting a work area");
  }
  void execute(const Complex<T>* in, Complex<T>* out, int direction, CUstream_st* stream) const {
    const auto& cufft = cufft::library();
    cufft::check(cufft.set_stream(handle_, stream), "choosing a stream");
    auto* from = const_cast<Complex<T>*>(in);  // cuFFT keeps the input of complex transforms out of place
    if constexpr (sizeof(T) == 4)
      cufft::check(cufft.execute_c2c(handle_, reinterpret_cast<cufftComplex*>(from),
                                     reinterpret_cast<cufftComplex*>(out), direction),
                   "executing a plan");
    else
      cufft::check(cufft.execute_z2z(handle_, reinterpret_cast<cufftDoubleComplex*>(from),
                                     reinterpret_cast<cufftDoubleComplex*>(out), direction),
                   "executing a plan");
  }

 private:
  cufftHandle handle_ = 0;
  bool created_ = false;
  std::size_t work_bytes_ = 0;
};

/// Work recorded once and launched many times.
class Graph {
 public:
  /// Records what `work(stream)` queues.
  template <class Work>
  Graph(const device::Stream& stream, const Work& work) {
    device::check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
                  "recording a graph");
    cudaGraph_t graph = nullptr;
    try {
      work(stream.get());
    } catch (...) {
      cudaStreamEndCapture(stream.get(), &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    device::check(cudaStreamEndCapture(stream.get(), &graph), "recording a graph");
    const cudaError_t status = cudaGraphInstantiate(&handle_, graph, 0);
    cudaGraphDestroy(graph);
    device::check(status, "preparing a graph");
  }
  Graph(Graph&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Graph& operator=(Graph&&) = delete;
  ~Graph() {
    if (handle_ != nullptr) cudaGraphExecDestroy(handle_);
  }
  /// On the default stream.
  void launch() const { device::check(cudaGraphLaunch(handle_, nullptr), "launching a graph"); }

 private:
  cudaGraphExec_t handle_ = nullptr;
};

// --- The operator ---

template <class T>
class ToeplitzNormalCuda final : public HermitianOperator<T> {
 public:
  ToeplitzNormalCuda(const Array<Complex<T>>& point_spread, const Array<Complex<T>>& maps,
                     std::int64_t coils_at_once)
      : extents_({maps.extent(3), maps.extent(2), maps.extent(1)},
                 {point_spread.extent(2), point_spread.extent(1), point_spread.extent(0)}),
        domain_{maps.extent(1), maps.extent(2), maps.extent(3)},
        coils_(maps.extent(0)),
        maps_(maps) {
    for (int axis = 0; axis < 3; ++axis)
      if (point_spread.extent(axis) < 2 * domain_[axis] - 1)
        throw Error("point-spread kernel", "a grid of at least twice the matrix size",
                    point_spread.shape().text());
    if (extents_.voxels() > 0x7fffffff) throw Error("image", "fewer than 2^31 voxels", domain_.text());
    choose_sizes(coils_at_once);
    make_buffers();
    store_transfer(point_spread);
    make_plans();
    passes_ = recorded(false);
  }
  Shape domain() const override { return domain_; }
  Device device() const override { return Device::cuda(); }

  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    require_shape(in, domain_, "image");
    require_shape(out, domain_, "image");
    if (in.device().is_cpu() || out.device().is_cpu())
      throw Error("Toeplitz operator", "images on the device", "an image on the host");
    for (std::int64_t first = 0; first < coils_; first += coils_at_once_) {
      const std::int64_t count = std::min(coils_at_once_, coils_ - first);
      const auto& [n, g] = extents_;
      const unsigned voxels = static_cast<unsigned>(extents_.voxels()), blocks = blocks_for(voxels);
      const auto nx = static_cast<unsigned>(n[0]), ny = static_cast<unsigned>(n[1]);
      const Complex<T>* maps = maps_.data() + first * voxels;
      pad_kernel<<<blocks, block_size>>>(in.data(), maps, nx, ny, voxels, g[0], g[1], static_cast<int>(count),
                                         extents_.padded(), padded_.data());
      device::check_launch("pad_kernel");
      launch(passes_, count);
      crop_and_combine_kernel<<<blocks, block_size>>>(results_.data(), maps, nx, ny, voxels, g[0], g[1],
                                                      static_cast<int>(count), extents_.grid(), first > 0,
                                                      out.data());
      device::check_launch("crop_and_combine_kernel");
    }
  }

  ToeplitzTiming time(int repetitions) const {
    const std::vector<Graph> cufft_passes = recorded(true);
    Array<Complex<T>> in(domain_, Device::cuda()), out(domain_, Device::cuda());
    device::check(
        cudaMemcpyAsync(in.data(), maps_.data(), static_cast<std::size_t>(in.size()) * sizeof(Complex<T>),
                        cudaMemcpyDeviceToDevice, nullptr),
        "copying on the device");
    const auto median_ms = [&](const auto& work) {
      work();
      std::vector<double> ms;
      for (int i = 0; i < repetitions; ++i) {
        device::Event start(device::Event::Timing::on), stop(device::Event::Timing::on);
        start.record();
        work();
        stop.record();
        ms.push_back(stop.ms_since(start));
      }
      std::nth_element(ms.begin(), ms.begin() + repetitions / 2, ms.end());
      return ms[static_cast<std::size_t>(repetitions / 2)];
    };
    ToeplitzTiming timing;
    timing.ms = median_ms([&] { forward(in, out); });
    timing.cufft_ms = median_ms([&] {
      for (std::int64_t first = 0; first < coils_; first += coils_at_once_)
        launch(cufft_passes, std::min(coils_at_once_, coils_ - first));
    });
    return timing;
  }

 private:
  void choose_sizes(std::int64_t coils_at_once) {
    const std::int64_t most_coils = coils_at_once > 0 ? coils_at_once : coils_;
    const std::int64_t cache = cache_bytes(), element = sizeof(Complex<T>);
    if (extents_.flat()) {
      // Padded planes and spectra of a batch of coils stay in the cache.
      const std::int64_t fit = std::max<std::int64_t>(cache / (2 * extents_.plane() * element), 1);
      coils_at_once_ = equal_part(coils_, std::min(most_coils, fit));
      group_rows_ = extents_.g[1];
    } else {
      coils_at_once_ = equal_part(coils_, std::min(most_coils, most_toeplitz_coils));
      // Half of the cache for a group of rows: the other half streams past.
      const std::int64_t row_bytes = extents_.g[0] * extents_.g[2] * element;
      group_rows_ = equal_part(extents_.g[1], std::max<std::int64_t>(cache / 2 / row_bytes, 1));
    }
  }
  void make_buffers() {
    transfer_ = Array<T>({extents_.grid()}, Device::cuda());
    padded_ = Array<Complex<T>>({coils_at_once_, extents_.padded()}, Device::cuda());
    results_ = Array<Complex<T>>({coils_at_once_, extents_.grid()}, Device::cuda());
    if (extents_.flat()) return;
    columns_ = Array<Complex<T>>({coils_at_once_, extents_.grid()}, Device::cuda());
    group_ = Array<Complex<T>>({extents_.g[2] * group_rows_ * extents_.g[0]}, Device::cuda());
  }

  /// Never empty: cuFFT wants an address also for a plan that needs nothing.
  static Array<unsigned char> work_area(std::size_t bytes) {
    return Array<unsigned char>({std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 256)},
                                Device::cuda());
  }

  void store_transfer(const Array<Complex<T>>& point_spread) {
    const Complex<T>* spectrum = point_spread.data();
    const auto& g = extents_.g;
    if (extents_.grid() > 1) {
      std::vector<long long> sizes;
      for (int axis = 2; axis >= 0; --axis)
        if (g[axis] > 1) sizes.push_back(g[axis]);
      Plan<T> plan(sizes, {1, extents_.grid()}, {1, extents_.grid()}, 1);
      Array<unsigned char> work = work_area(plan.work_bytes());
      plan.use_work_area(work);
      plan.execute(point_spread.data(), results_.data(), CUFFT_FORWARD, nullptr);
      device::synchronize(device());  // the work area goes
      spectrum = results_.data();
    }
    store_transfer_kernel<<<blocks_for(extents_.grid()), block_size>>>(spectrum, g[0], g[1], g[2],
                                                                       group_rows_, transfer_.data());
    device::check_launch("store_transfer_kernel");
  }

  void make_plans() {
    const auto& [n, g] = extents_;
    const std::int64_t plane = extents_.plane();
    if (g[0] > 1) {
      std::vector<long long> sizes{g[0]};
      if (g[1] > 1) sizes = {g[1], g[0]};
      plans_.emplace_back(sizes, Layout{1, plane}, Layout{1, plane}, extents_.flat() ? coils_at_once_ : n[2]);
    }
    if (!extents_.flat())
      for (const std::int64_t rows : {group_rows_, g[1] % group_rows_}) {  // the last group may be smaller
        if (rows == 0) continue;
        const std::int64_t columns = rows * g[0];
        plans_.emplace_back(std::vector<long long>{g[2]}, Layout{plane, 1}, Layout{columns, 1}, columns);
        plans_.emplace_back(std::vector<long long>{g[2]}, Layout{columns, 1}, Layout{plane, 1}, columns);
      }
    std::size_t work_bytes = 0;
    for (const auto& plan : plans_) work_bytes = std::max(work_bytes, plan.work_bytes());
    work_ = work_area(work_bytes);
    for (auto& plan : plans_) plan.use_work_area(work_);
  }

  /// From padded planes to planes that are convolved, into results_, for the first `coils` of a batch (all,
  /// when the scan is flat). A group of rows is taken for every coil in turn: its transfer function stays in
  /// the cache.
  void queue_passes(std::int64_t coils, bool cufft_only, CUstream_st* stream) const {
    const auto& g = extents_.g;
    const auto multiply = [&](const T* transfer, std::int64_t size, std::int64_t count, Complex<T>* spectra) {
      if (cufft_only) return;
      const auto blocks = [&](int per_thread) {
        return dim3(blocks_for((size + per_thread - 1) / per_thread), static_cast<unsigned>(count));
      };
      if (g[0] % 2 == 0)  // then every group begins at an even element
        multiply_kernel<T, 2><<<blocks(2), block_size, 0, stream>>>(transfer, size, spectra);
      else
        multiply_kernel<T, 1><<<blocks(1), block_size, 0, stream>>>(transfer, size, spectra);
      device::check_launch("multiply_kernel");
    };
    if (plans_.empty()) {  // one voxel
      device::check(cudaMemcpyAsync(results_.data(), padded_.data(),
                                    static_cast<std::size_t>(coils_at_once_) * sizeof(Complex<T>),
                                    cudaMemcpyDeviceToDevice, stream),
                    "copying on the device");
      return multiply(transfer_.data(), 1, coils_at_once_, results_.data());
    }
    const Plan<T>& planes = plans_[0];
    if (extents_.flat()) {
      planes.execute(padded_.data(), results_.data(), CUFFT_FORWARD, stream);
      multiply(transfer_.data(), extents_.grid(), coils_at_once_, results_.data());
      return planes.execute(results_.data(), results_.data(), CUFFT_INVERSE, stream);
    }
    for (std::int64_t coil = 0; coil < coils; ++coil)
      planes.execute(padded_.data() + coil * extents_.padded(), columns_.data() + coil * extents_.grid(),
                     CUFFT_FORWARD, stream);
    for (std::int64_t row = 0; row < g[1]; row += group_rows_) {
      const std::int64_t rows = std::min(group_rows_, g[1] - row);
      const std::size_t plan = rows == group_rows_ ? 1 : 3;
      for (std::int64_t coil = 0; coil < coils; ++coil) {
        const std::int64_t first = coil * extents_.grid() + row * g[0];
        plans_[plan].execute(columns_.data() + first, group_.data(), CUFFT_FORWARD, stream);
        multiply(transfer_.data() + row * g[0] * g[2], rows * g[0] * g[2], 1, group_.data());
        plans_[plan + 1].execute(group_.data(), results_.data() + first, CUFFT_INVERSE, stream);
      }
    }
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      Complex<T>* result = results_.data() + coil * extents_.grid();
      planes.execute(result, result, CUFFT_INVERSE, stream);
    }
  }

  /// Of a whole batch of coils, and of the last batch where that is smaller.
  std::vector<Graph> recorded(bool cufft_only) const {
    const device::Stream stream;
    std::vector<Graph> graphs;
    device::synchronize(device());  // the buffers are made
    // Kernels are loaded at their first launch, which no graph can record.
    queue_passes(coils_at_once_, cufft_only, stream.get());
    stream.synchronize();
    for (const std::int64_t coils : {coils_at_once_, coils_ % coils_at_once_})
      if (coils > 0)
        graphs.emplace_back(stream, [&](CUstream_st* to) { queue_passes(coils, cufft_only, to); });
    return graphs;
  }

  void launch(const std::vector<Graph>& graphs, std::int64_t coils) const {
    graphs[coils == coils_at_once_ ? 0 : 1].launch();
  }

  ToeplitzExtents extents_;
  Shape domain_;
  std::int64_t coils_, coils_at_once_ = 1;
  std::int64_t group_rows_ = 1;  ///< rows y whose columns along z are transformed together
  Array<Complex<T>> maps_;
  Array<T> transfer_;                            // [group][z][row of the group][x]
  mutable Array<Complex<T>> padded_;             // [coil][nz][gy][gx], zero outside the image
  mutable Array<Complex<T>> columns_, results_;  // [coil][gz][gy][gx]; columns_ is zero from plane nz on
  mutable Array<Complex<T>> group_;              // [gz][row][gx]
  Array<unsigned char> work_;
  std::vector<Plan<T>>
      plans_;  // planes; along z: in and out of a group, in and out of the smaller last group
  std::vector<Graph> passes_;
};

}  // namespace

template <class T>
std::unique_ptr<HermitianOperator<T>> make_toeplitz_normal_cuda(const Array<Complex<T>>& point_spread,
                                                                const Array<Complex<T>>& maps,
                                                                std::int64_t coils_at_once) {
  return std::make_unique<ToeplitzNormalCuda<T>>(point_spread, maps, coils_at_once);
}

ToeplitzTiming time_toeplitz_cuda(const HermitianOperator<float>& toeplitz, int repetitions) {
  return dynamic_cast<const ToeplitzNormalCuda<float>&>(toeplitz).time(repetitions);
}

template std::unique_ptr<HermitianOperator<float>> make_toeplitz_normal_cuda<float>(
    const Array<Complex<float>>&, const Array<Complex<float>>&, std::int64_t);
template std::unique_ptr<HermitianOperator<double>> make_toeplitz_normal_cuda<double>(
    const Array<Complex<double>>&, const Array<Complex<double>>&, std::int64_t);

}  // namespace fhd
