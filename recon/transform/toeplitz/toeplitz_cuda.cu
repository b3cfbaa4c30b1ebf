// E^H E on the device by cuFFT, in double precision and for sizes that toeplitz_passes.cuh does not take; the
// formula is in toeplitz.hpp.
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
#include "recon/array/cufft.hpp"
#include "recon/transform/toeplitz/toeplitz_cuda.hpp"

namespace fhd {
namespace {

constexpr int block_size = 256;
unsigned blocks_for(std::int64_t size) { return static_cast<unsigned>((size + block_size - 1) / block_size); }

// --- Kernels: one thread per element, which it alone writes. Each moves its elements once. ---

// target(j, c, z, y, x) = S_c(z, y, x) rho_j(z, y, x), in the corner of planes [gy][gx]; coils `stride` apart,
// image j = blockIdx.y of a stack behind the coils of the one before.
template <class T>
__global__ void pad_kernel(const Complex<T>* rho, const Complex<T>* maps, unsigned nx, unsigned ny,
                           unsigned voxels, std::int64_t gx, std::int64_t gy, int coils, std::int64_t stride,
                           Complex<T>* target) {
  const unsigned p = blockIdx.x * block_size + threadIdx.x;
  if (p >= voxels) return;
  const unsigned row = p / nx;
  target += blockIdx.y * coils * stride + (row / ny * gy + row % ny) * gx + p % nx;
  const Complex<T> value = rho[std::int64_t{blockIdx.y} * voxels + p];
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

// out_j(p) = (out_j(p) if `add`) + sum over c of conj(S_c(p)) padded(j, c, p), the coils in their order; j as
// above.
template <class T>
__global__ void crop_and_combine_kernel(const Complex<T>* padded, const Complex<T>* maps, unsigned nx,
                                        unsigned ny, unsigned voxels, std::int64_t gx, std::int64_t gy,
                                        int coils, std::int64_t stride, bool add, Complex<T>* out) {
  const unsigned p = blockIdx.x * block_size + threadIdx.x;
  if (p >= voxels) return;
  const unsigned row = p / nx;
  padded += blockIdx.y * coils * stride + (row / ny * gy + row % ny) * gx + p % nx;
  out += std::int64_t{blockIdx.y} * voxels;
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
      cudaGetLastError();  // the next launch is asked for its own
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
  void launch() const {
    device::check(cudaGraphLaunch(handle_, device::cuda::default_stream()), "launching a graph");
  }

 private:
  cudaGraphExec_t handle_ = nullptr;
};

/// Never empty: cuFFT wants an address also for a plan that needs nothing.
Array<unsigned char> work_area(std::size_t bytes, Device device) {
  return Array<unsigned char>({std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 256)}, device);
}

// --- The operator ---

template <class T>
class ToeplitzByCufft final : public ToeplitzOnDevice<T> {
 public:
  /// The device of the maps is current.
  ToeplitzByCufft(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps, std::int64_t coils_at_once,
                  std::int64_t images_at_once)
      : ToeplitzOnDevice<T>(point_spread, std::move(maps), coils_at_once, images_at_once) {
    make_buffers();
    store_transfer(point_spread);
    make_plans();
    record_passes();
  }

 private:
  void add_coils(const Complex<T>* in, std::int64_t images, std::int64_t first,
                 Complex<T>* out) const override {
    const auto &n = extents_.n, &g = extents_.g;
    const std::int64_t count = this->batch_coils(first);
    const auto voxels = static_cast<unsigned>(extents_.voxels()), nx = static_cast<unsigned>(n[0]),
               ny = static_cast<unsigned>(n[1]);
    const dim3 blocks(blocks_for(voxels), static_cast<unsigned>(images));
    const Complex<T>* maps = maps_.data() + first * extents_.voxels();
    pad_kernel<<<blocks, block_size>>>(in, maps, nx, ny, voxels, g[0], g[1], static_cast<int>(count),
                                       extents_.padded(), padded_.data());
    device::check_launch("pad_kernel");
    if (passes_.empty())
      queue_passes(count, device::cuda::default_stream());
    else
      passes_[count == batch_.coils ? 0 : 1].launch();
    crop_and_combine_kernel<<<blocks, block_size>>>(results_.data(), maps, nx, ny, voxels, g[0], g[1],
                                                    static_cast<int>(count), extents_.grid(), first > 0, out);
    device::check_launch("crop_and_combine_kernel");
  }

  void make_buffers() {
    const Device device = this->device();
    transfer_ = Array<T>({extents_.grid()}, device);
    padded_ = Array<Complex<T>>({batch_.planes(), extents_.padded()}, device);
    results_ = Array<Complex<T>>({batch_.planes(), extents_.grid()}, device);
    if (extents_.flat()) return;
    columns_ = Array<Complex<T>>({batch_.coils, extents_.grid()}, device);
    group_ = Array<Complex<T>>({batch_.group(extents_)}, device);
  }

  void store_transfer(const Array<Complex<T>>& point_spread) {
    const auto& g = extents_.g;
    if (extents_.grid() > 1) transform_point_spread(point_spread, results_.data());
    store_transfer_kernel<<<blocks_for(extents_.grid()), block_size>>>(
        extents_.grid() > 1 ? results_.data() : point_spread.data(), g[0], g[1], g[2], batch_.rows,
        transfer_.data());
    device::check_launch("store_transfer_kernel");
  }

  void make_plans() {
    const auto &n = extents_.n, &g = extents_.g;
    const std::int64_t plane = extents_.plane();
    if (g[0] > 1) {
      std::vector<long long> sizes{g[0]};
      if (g[1] > 1) sizes = {g[1], g[0]};
      plans_.emplace_back(sizes, cufft::Layout{1, plane}, cufft::Layout{1, plane},
                          extents_.flat() ? batch_.planes() : n[2], this->device());
    }
    if (!extents_.flat())
      for (const bool is_last : {false, true}) {  // the last group may be smaller
        const std::int64_t rows = is_last ? g[1] % batch_.rows : batch_.rows;
        if (rows == 0) continue;
        const std::int64_t columns = rows * g[0];
        plans_.emplace_back(std::vector<long long>{g[2]}, cufft::Layout{plane, 1}, cufft::Layout{columns, 1},
                            columns, this->device());
        plans_.emplace_back(std::vector<long long>{g[2]}, cufft::Layout{columns, 1}, cufft::Layout{plane, 1},
                            columns, this->device());
      }
    std::size_t work_bytes = 0;
    for (const auto& plan : plans_) work_bytes = std::max(work_bytes, plan.work_bytes());
    work_ = work_area(work_bytes, this->device());
  }

  /// From padded planes to planes that are convolved, into results_, for the first `coils` of a batch (all,
  /// when the scan is flat). A group of rows is taken for every coil in turn: its transfer function stays in
  /// the cache.
  void queue_passes(std::int64_t coils, CUstream_st* stream) const {
    const auto& g = extents_.g;
    void* const work = work_.data();
    const auto multiply = [&](const T* transfer, std::int64_t size, std::int64_t count, Complex<T>* spectra) {
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
                                    static_cast<std::size_t>(batch_.planes()) * sizeof(Complex<T>),
                                    cudaMemcpyDeviceToDevice, stream),
                    "copying on the device");
      return multiply(transfer_.data(), 1, batch_.planes(), results_.data());
    }
    const cufft::Plan<T>& planes = plans_[0];
    if (extents_.flat()) {
      planes.execute(padded_.data(), results_.data(), CUFFT_FORWARD, work, stream);
      multiply(transfer_.data(), extents_.grid(), batch_.planes(), results_.data());
      return planes.execute(results_.data(), results_.data(), CUFFT_INVERSE, work, stream);
    }
    for (std::int64_t coil = 0; coil < coils; ++coil)
      planes.execute(padded_.data() + coil * extents_.padded(), columns_.data() + coil * extents_.grid(),
                     CUFFT_FORWARD, work, stream);
    for (std::int64_t row = 0; row < g[1]; row += batch_.rows) {
      const std::int64_t rows = std::min(batch_.rows, g[1] - row);
      const std::size_t plan = rows == batch_.rows ? 1 : 3;
      for (std::int64_t coil = 0; coil < coils; ++coil) {
        const std::int64_t first = coil * extents_.grid() + row * g[0];
        plans_[plan].execute(columns_.data() + first, group_.data(), CUFFT_FORWARD, work, stream);
        multiply(transfer_.data() + row * g[0] * g[2], rows * g[0] * g[2], 1, group_.data());
        plans_[plan + 1].execute(group_.data(), results_.data() + first, CUFFT_INVERSE, work, stream);
      }
    }
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      Complex<T>* result = results_.data() + coil * extents_.grid();
      planes.execute(result, result, CUFFT_INVERSE, work, stream);
    }
  }

  /// Records a whole batch of coils, and the last batch where that is smaller. None where a recording fails
  /// (other programs and tools may wait for the whole device meanwhile, which spoils it): add_coils() needs none.
  void record_passes() {
    const device::Stream stream;
    device::synchronize(this->device());  // the buffers are made
    // Kernels are loaded at their first launch, which no graph can record.
    queue_passes(batch_.coils, stream.get());
    stream.synchronize();
    const std::lock_guard lock(device::state_of(this->device()).recording);
    try {
      for (const bool is_last : {false, true})
        if (const std::int64_t coils = is_last ? this->coils() % batch_.coils : batch_.coils; coils > 0)
          passes_.emplace_back(stream, [&](CUstream_st* to) { queue_passes(coils, to); });
    } catch (const DeviceError&) {
      passes_.clear();
    }
  }

  using ToeplitzOnDevice<T>::maps_;
  using ToeplitzOnDevice<T>::extents_;
  using ToeplitzOnDevice<T>::batch_;
  Array<T> transfer_;                 // [group][z][row of the group][x]
  mutable Array<Complex<T>> padded_;  // [image][coil][nz][gy][gx], zero outside the image
  mutable Array<Complex<T>> columns_,
      results_;                      // [image][coil][gz][gy][gx]; columns_ is zero from plane nz on
  mutable Array<Complex<T>> group_;  // [gz][row][gx]
  mutable Array<unsigned char> work_;
  // Planes; along z: in and out of a group, in and out of the smaller last group.
  std::vector<cufft::Plan<T>> plans_;
  std::vector<Graph> passes_;
};

}  // namespace

std::int64_t cache_bytes_of(Device device) noexcept {
  int bytes = 0;
  if (cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device.number()) == cudaSuccess) return bytes;
  cudaGetLastError();
  return 0;
}

template <class T>
void transform_point_spread(const Array<Complex<T>>& point_spread, Complex<T>* spectrum) {
  std::vector<long long> sizes;
  for (int axis = 0; axis < 3; ++axis)
    if (point_spread.extent(axis) > 1) sizes.push_back(point_spread.extent(axis));
  const cufft::Layout layout{1, point_spread.size()};
  const cufft::Plan<T> plan(sizes, layout, layout, 1, point_spread.device());
  Array<unsigned char> work = work_area(plan.work_bytes(), point_spread.device());
  plan.execute(point_spread.data(), spectrum, CUFFT_FORWARD, work.data());
  device::synchronize(point_spread.device());  // the work area goes
}

template <class T>
std::unique_ptr<ToeplitzNormal<T>> make_toeplitz_normal_cuda(const Array<Complex<T>>& point_spread,
                                                             Array<Complex<T>> maps,
                                                             std::int64_t coils_at_once,
                                                             std::int64_t images_at_once) {
  const CurrentDevice guard(maps.device());
  if constexpr (sizeof(T) == sizeof(float)) {
    const ToeplitzExtents extents({maps.extent(3), maps.extent(2), maps.extent(1)},
                                  {point_spread.extent(2), point_spread.extent(1), point_spread.extent(0)},
                                  precision_of<T>());
    if (extents.by_passes)
      return make_toeplitz_passes(point_spread, std::move(maps), coils_at_once, images_at_once);
  }
  return std::make_unique<ToeplitzByCufft<T>>(point_spread, std::move(maps), coils_at_once, images_at_once);
}

#define FHD_INSTANTIATE(T)                                                        \
  template void transform_point_spread<T>(const Array<Complex<T>>&, Complex<T>*); \
  template std::unique_ptr<ToeplitzNormal<T>> make_toeplitz_normal_cuda<T>(       \
      const Array<Complex<T>>&, Array<Complex<T>>, std::int64_t, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
