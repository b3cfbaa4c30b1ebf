// Dominant eigenvectors of a matrix field on the device; the formulas are in matrix_field.hpp, the steps those of
// matrix_field_cpu.cpp and eigenvector_kernels_cpu.cpp in the same order, so that both differ by rounding alone:
//
//     plane(z)[pair][t_y][t_x] = sum over t_z of exp(-i 2 pi D_z r_z) h[pair][t_z][t_y][t_x]
//     row(z, y)[pair][t_x]     = sum over t_y of exp(-i 2 pi D_y r_y) plane(z)[pair][t_y][t_x]
//     G(r)[pair]               = sum over t_x of exp(-i 2 pi D_x r_x) row(z, y)[pair][t_x]
//
// with D = t - degree, of a slab of planes at a time. Then power iteration at every voxel, one thread each.
//
// Floor, of c coils, P = c (c + 1) / 2 pairs and t terms an axis: 8 P t operations a voxel for G, and 16 P for
// each product with it (some five where there is signal); 8 c bytes written a voxel: of a million voxels and one
// coil 2 us at 4.8 TB/s. As many are copied to the host, which takes longer than all else.
#include <algorithm>
#include <vector>

#include "recon/array/cuda_check.hpp"
#include "recon/array/memory.hpp"
#include "recon/coils/matrix_field.hpp"

namespace fhd {
namespace {

constexpr int block_size = 256;
constexpr int warp = eigenvector_threads;
unsigned blocks_for(std::int64_t size) { return static_cast<unsigned>((size + block_size - 1) / block_size); }

// out[n][outer][inner] = sum over t of phases[t][first + n] in[outer][t][inner], 0 <= n < count.
//
// One thread an element of out, which it alone writes; neighbours read neighbours.
__global__ void sum_axis_kernel(const Complex<float>* in, const Complex<float>* phases, int voxels, int first,
                                std::int64_t count, std::int64_t outer, int terms, std::int64_t inner,
                                Complex<float>* out) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (i >= count * outer * inner) return;
  const std::int64_t n = i / (outer * inner), rest = i % (outer * inner);
  const Complex<float>* from = in + rest / inner * terms * inner + rest % inner;
  Complex<float> sum;
  for (int t = 0; t < terms; ++t) sum += phases[std::int64_t{t} * voxels + first + n] * from[t * inner];
  out[i] = sum;
}

/// Rows of a slab of planes.
struct Rows {
  const Complex<float>* values;  ///< row(z, y): [z][y][pair][term]
  const Complex<float>* phases;  ///< along x, [term][x]
  const unsigned char* mask;     ///< [z][y][x]
  int coils, terms, voxels;      ///< of a row
  std::int64_t rows;
};

// G of one voxel into work[pair], real parts, then work[pairs + pair], imaginary parts; elements of `work` are a
// warp apart. A voxel beyond the row (x < 0) has G = 0.
__device__ void evaluate_field(const Rows& in, std::int64_t row, int x, float* work) {
  const int pairs = in.coils * (in.coils + 1) / 2;
  const Complex<float>* h = in.values + row * pairs * in.terms;
  for (int pair = 0; pair < pairs; ++pair) {
    float re = 0, im = 0;
    for (int t = 0; x >= 0 && t < in.terms; ++t) {
      const Complex<float> a = h[pair * in.terms + t], phase = in.phases[t * in.voxels + x];
      re += a.re * phase.re - a.im * phase.im;
      im += a.re * phase.im + a.im * phase.re;
    }
    work[pair * warp] = re;
    work[(pairs + pair) * warp] = im;
  }
}

/// One voxel's share of the work area, each array's elements a warp apart.
struct VoxelWork {
  float *g_re, *g_im;                ///< [pair]
  float *v_re, *v_im, *t_re, *t_im;  ///< [coil]

  __device__ VoxelWork(float* work, int coils) {
    const int pairs = coils * (coils + 1) / 2;
    g_re = work, g_im = g_re + pairs * warp;
    v_re = g_im + pairs * warp, v_im = v_re + coils * warp;
    t_re = v_im + coils * warp, t_im = t_re + coils * warp;
  }
};

// t = G v: row c of the upper triangle meets v from c on, and, conjugated, adds to the rows below.
__device__ void multiply_field(int coils, const VoxelWork& w) {
  for (int c = 0; c < coils; ++c) w.t_re[c * warp] = w.t_im[c * warp] = 0;
  int at = 0;  // of the pair (c, d)
  for (int c = 0; c < coils; ++c) {
    const float c_re = w.v_re[c * warp], c_im = w.v_im[c * warp], diagonal = w.g_re[at];  // it is real
    float sum_re = w.t_re[c * warp] + diagonal * c_re, sum_im = w.t_im[c * warp] + diagonal * c_im;
    at += warp;
    for (int d = c + 1; d < coils; ++d, at += warp) {
      const float g_re = w.g_re[at], g_im = w.g_im[at], d_re = w.v_re[d * warp], d_im = w.v_im[d * warp];
      sum_re += g_re * d_re - g_im * d_im;
      sum_im += g_re * d_im + g_im * d_re;
      w.t_re[d * warp] += g_re * c_re + g_im * c_im;
      w.t_im[d * warp] += g_re * c_im - g_im * c_re;
    }
    w.t_re[c * warp] = sum_re, w.t_im[c * warp] = sum_im;
  }
}

/// Vectors on a grid over the FOV of the field.
struct Reference {
  const Complex<float>* values;  ///< [coil][z][y][x]
  int points[3], voxels[3];      ///< along x, y, z: of the grid, of the field
  int first_plane;               ///< of the slab
};
/// The places of one voxel among its points.
struct ReferencePlace {
  const Reference& reference;
  GridPlace x, y, z;

  __device__ ReferencePlace(const Reference& of, std::int64_t row, int column)
      : reference(of),
        x(grid_place(column, of.voxels[0], of.points[0])),
        y(grid_place(static_cast<int>(row % of.voxels[1]), of.voxels[1], of.points[1])),
        z(grid_place(of.first_plane + static_cast<int>(row / of.voxels[1]), of.voxels[2], of.points[2])) {}
  __device__ Complex<float> at(int coil, int plane, int line) const {
    const Complex<float>* from =
        reference.values + ((std::int64_t{coil} * reference.points[2] + plane) * reference.points[1] + line) *
                               reference.points[0];
    return (1 - x.share) * from[x.low] + x.share * from[x.high];
  }
  // The reference of one coil, interpolated linearly.
  __device__ Complex<float> operator()(int coil) const {
    const Complex<float> low = (1 - z.share) * at(coil, z.low, y.low) + z.share * at(coil, z.high, y.low),
                         high = (1 - z.share) * at(coil, z.low, y.high) + z.share * at(coil, z.high, y.high);
    return (1 - y.share) * low + y.share * high;
  }
};

// v = the reference over its length, where it is not 0.
__device__ void start_at_reference(int coils, const ReferencePlace& place, const VoxelWork& w) {
  float square = 0;
  for (int c = 0; c < coils; ++c) square += norm(place(c));
  if (!(square > 0)) return;
  const float factor = 1 / sqrtf(square);
  for (int c = 0; c < coils; ++c) {
    const Complex<float> start = factor * place(c);
    w.v_re[c * warp] = start.re, w.v_im[c * warp] = start.im;
  }
}

// v = the unit vector of the largest diagonal element's coil: G v is that column. |G|^2 (Frobenius) is returned.
__device__ float start_vector(int coils, const VoxelWork& w) {
  float frobenius = 0, best = 0;
  int column = 0, at = 0;
  for (int c = 0; c < coils; ++c) {
    w.v_re[c * warp] = w.v_im[c * warp] = 0;
    for (int d = c; d < coils; ++d, at += warp) {
      const float re = w.g_re[at], im = w.g_im[at];
      frobenius += (c == d ? 1.0f : 2.0f) * (re * re + im * im);
      if (c == d && re > best) best = re, column = c;
    }
  }
  w.v_re[column * warp] = 1;
  return frobenius;
}

// Power iteration, v <- G v / |G v|, until every voxel of the group of half a warp is done, as on the CPU, whose
// vectors of lanes these groups are. Returns the eigenvalue v^H G v. Called by whole warps.
__device__ float iterate_voxel(int coils, bool wanted, float least, const ReferencePlace& place,
                               const VoxelWork& w) {
  constexpr unsigned all_threads = 0xffffffff, half_warp = 0xffff;
  const bool counts = start_vector(coils, w) >= least * least && wanted;
  start_at_reference(coils, place, w);
  bool group_goes_on = true;
  float eigenvalue = 0;
  for (int iteration = 0; iteration < most_eigenvector_iterations; ++iteration) {
    multiply_field(coils, w);
    float square = 0, quotient = 0;
    for (int i = 0; i < coils * warp; i += warp) {
      square += w.t_re[i] * w.t_re[i] + w.t_im[i] * w.t_im[i];
      quotient += w.v_re[i] * w.t_re[i] + w.v_im[i] * w.t_im[i];
    }
    if (group_goes_on) {
      eigenvalue = quotient;
      const float factor = square > 0 ? 1 / sqrtf(square) : 0.0f;
      for (int i = 0; i < coils * warp; i += warp)
        w.v_re[i] = factor * w.t_re[i], w.v_im[i] = factor * w.t_im[i];
    }
    const bool unfinished = counts && square - quotient * quotient > eigenvector_tolerance * square;
    const unsigned votes = __ballot_sync(all_threads, group_goes_on && unfinished);
    group_goes_on = ((votes >> (threadIdx.x & eigenvector_group)) & half_warp) != 0;
    if (votes == 0) break;
  }
  return eigenvalue;
}

// vectors[coil][voxel of the slab] = v turned by the phase of v^H reference, so that sum_c conj(reference_c) v_c of
// the voxel is real; 0 where the mask is 0 or the eigenvalue below `least`.
//
// A block is one warp, and takes every gridDim.x-th warp of voxels: two groups of 16 neighbours of a row, the last
// group of a row filled up with nothing. A thread has one voxel, and of the work area in shared memory column
// threadIdx.x, which no other thread touches; it alone writes its voxel. A warp without a voxel that is wanted writes
// zeros.
__global__ void __launch_bounds__(warp)
    solve_voxels_kernel(const Rows in, const Reference reference, float least, Complex<float>* vectors) {
  extern __shared__ float shared_work[];
  float* work = shared_work + threadIdx.x;
  const std::int64_t groups_in_row = (in.voxels + eigenvector_group - 1) / eigenvector_group,
                     groups = in.rows * groups_in_row, volume = in.rows * in.voxels;
  for (std::int64_t pair = blockIdx.x; 2 * pair < groups; pair += gridDim.x) {
    const std::int64_t group = 2 * pair + threadIdx.x / eigenvector_group;
    const bool is_group = group < groups;
    const std::int64_t row = is_group ? group / groups_in_row : 0;
    const int column = static_cast<int>(is_group ? group % groups_in_row : 0) * eigenvector_group +
                       static_cast<int>(threadIdx.x % eigenvector_group);
    const int x = is_group && column < in.voxels ? column : -1;
    const std::int64_t p = row * in.voxels + (x < 0 ? 0 : x);
    const bool wanted = x >= 0 && in.mask[p] != 0;
    const float least_here = wanted && in.mask[p] == MapMask::tissue ? 0 : least;
    float value = 0;
    const VoxelWork voxel(work, in.coils);
    const ReferencePlace place(reference, row, x < 0 ? 0 : x);
    if (__any_sync(0xffffffff, wanted)) {
      evaluate_field(in, row, x, work);
      value = iterate_voxel(in.coils, wanted, least_here, place, voxel);
    }
    if (x < 0) continue;
    if (!(wanted && value >= least_here)) {
      for (int c = 0; c < in.coils; ++c) vectors[c * volume + p] = Complex<float>();
      continue;
    }
    Complex<float> projection;
    for (int c = 0; c < in.coils; ++c)
      projection += conj(place(c)) * Complex<float>(voxel.v_re[c * warp], voxel.v_im[c * warp]);
    const float magnitude = sqrtf(norm(projection));
    const Complex<float> turn = magnitude > 0 ? (1 / magnitude) * conj(projection) : Complex<float>(1);
    for (int c = 0; c < in.coils; ++c)
      vectors[c * volume + p] = turn * Complex<float>(voxel.v_re[c * warp], voxel.v_im[c * warp]);
  }
}

Array<Complex<float>> on_device(const std::vector<Complex<float>>& values, Device device) {
  Array<Complex<float>> copy(Shape{static_cast<std::int64_t>(values.size())}, device);
  copy_bytes(copy.data(), device, values.data(), Device::cpu(), values.size() * sizeof(Complex<float>));
  return copy;
}

/// Bytes of shared memory that one block may ask for on the current device.
std::int64_t largest_shared_memory(Device device) {
  int bytes = 0;
  device::check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.number()),
                "reading the size of the shared memory");
  return bytes;
}

/// Returns the planes that are worked on together: their field summed along z, and along y, eigenvectors and mask fit.
int planes_together(std::int64_t coils, const std::array<int, 3>& terms, const std::array<int, 3>& n) {
  const double pairs = static_cast<double>(coils * (coils + 1) / 2),
               voxels = static_cast<double>(n[1]) * n[0],
               bytes =
                   8 * (pairs * terms[0] * (terms[1] + n[1]) + voxels * static_cast<double>(coils)) + voxels;
  constexpr double most_bytes = 96 << 20;
  return static_cast<int>(std::clamp(most_bytes / bytes, 1.0, static_cast<double>(n[2])));
}

/// The field and what it is summed and solved with, on the current device.
class FieldOnDevice {
 public:
  FieldOnDevice(const MatrixField& field, const EigenvectorRequest& request, int slab_planes, Device device)
      : matrix_size_(request.matrix_size),
        coils_(field.coils),
        pairs_(field.pair_count()),
        least_(request.least),
        field_(field.coefficients.to(device)),
        reference_(request.reference.to(device)) {
    for (int axis = 0; axis < 3; ++axis) {
      terms_[axis] = 2 * field.degree[axis] + 1;
      phases_[axis] = on_device(axis_phases(field.degree[axis], matrix_size_[axis]), device);
    }
    const std::int64_t rows = std::int64_t{slab_planes} * matrix_size_[1];
    planes_ = Array<Complex<float>>(Shape{slab_planes, pairs_, terms_[1], terms_[0]}, device);
    rows_ = Array<Complex<float>>(Shape{rows, pairs_, terms_[0]}, device);
    mask_ = Array<unsigned char>(Shape{rows, matrix_size_[0]}, device);
    vectors_ = Array<Complex<float>>(Shape{coils_, rows, matrix_size_[0]}, device);
    device::check(cudaFuncSetAttribute(solve_voxels_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(eigenvector_warp_bytes(coils_))),
                  "asking for shared memory");
  }

  /// Planes z ... z + count - 1 of eigenvectors, [coil][plane][y][x]; `mask` is that of these planes, in host
  /// memory.
  const Array<Complex<float>>& solve(int z, int count, const std::uint8_t* mask) {
    const std::int64_t rows = std::int64_t{count} * matrix_size_[1], voxels = rows * matrix_size_[0];
    copy_bytes(mask_.data(), mask_.device(), mask, Device::cpu(), static_cast<std::size_t>(voxels));
    const std::int64_t plane = std::int64_t{terms_[1]} * terms_[0], row = terms_[0];
    sum_axis_kernel<<<blocks_for(count * pairs_ * plane), block_size>>>(field_.data(), phases_[2].data(),
                                                                        matrix_size_[2], z, count, pairs_,
                                                                        terms_[2], plane, planes_.data());
    device::check_launch("sum_axis_kernel");
    for (int i = 0; i < count; ++i) {  // of every plane
      sum_axis_kernel<<<blocks_for(matrix_size_[1] * pairs_ * row), block_size>>>(
          planes_.data() + i * pairs_ * plane, phases_[1].data(), matrix_size_[1], 0, matrix_size_[1], pairs_,
          terms_[1], row, rows_.data() + i * matrix_size_[1] * pairs_ * row);
      device::check_launch("sum_axis_kernel");
    }
    const Rows in{rows_.data(), phases_[0].data(), mask_.data(), coils_, terms_[0], matrix_size_[0], rows};
    const std::int64_t groups = rows * ((matrix_size_[0] + eigenvector_group - 1) / eigenvector_group),
                       warps = (groups + 1) / 2;
    solve_voxels_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(warps, 0x7fffffff)), warp,
                          static_cast<std::size_t>(eigenvector_warp_bytes(coils_))>>>(
        in, reference_from(z), least_, vectors_.data());
    device::check_launch("solve_voxels_kernel");
    return vectors_;
  }

 private:
  Reference reference_from(int first_plane) const {
    Reference reference{reference_.data(), {}, {}, first_plane};
    for (int axis = 0; axis < 3; ++axis) {
      reference.points[axis] = static_cast<int>(reference_.extent(3 - axis));
      reference.voxels[axis] = matrix_size_[axis];
    }
    return reference;
  }

  std::array<int, 3> matrix_size_, terms_{};
  int coils_;
  std::int64_t pairs_;
  float least_;
  Array<Complex<float>> field_, reference_, phases_[3], planes_, rows_, vectors_;
  Array<unsigned char> mask_;
};

}  // namespace

void dominant_eigenvectors_cuda(const MatrixField& field, const EigenvectorRequest& request,
                                std::int64_t first_plane, Device device, Array<Complex<float>>& vectors) {
  const CurrentDevice guard(device);
  if (eigenvector_warp_bytes(field.coils) > largest_shared_memory(device))
    return dominant_eigenvectors_cpu(field, request, first_plane, vectors);
  const auto& n = request.matrix_size;
  std::array<int, 3> terms;
  for (int axis = 0; axis < 3; ++axis) terms[axis] = 2 * field.degree[axis] + 1;
  const int slab = planes_together(field.coils, terms, n);
  FieldOnDevice eigenvectors(field, request, slab, device);
  const std::int64_t plane = std::int64_t{n[0]} * n[1], volume = request.mask.size();
  for (int z = 0; z < n[2]; z += slab) {
    const int count = std::min(slab, n[2] - z);
    const std::int64_t first = (first_plane + z) * plane, voxels = count * plane;
    const auto& found = eigenvectors.solve(z, count, request.mask.data() + first);
    const bool is_whole = voxels == volume;
    const std::int64_t copies = is_whole ? 1 : field.coils, size = is_whole ? field.coils * voxels : voxels;
    for (std::int64_t coil = 0; coil < copies; ++coil)
      copy_bytes(vectors.data() + coil * volume + first, Device::cpu(), found.data() + coil * voxels, device,
                 static_cast<std::size_t>(size) * sizeof(Complex<float>));
  }
}

}  // namespace fhd
