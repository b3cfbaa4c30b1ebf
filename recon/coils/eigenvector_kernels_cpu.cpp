#include "recon/coils/eigenvector_kernels_cpu.hpp"

#include <algorithm>
#include <cmath>

// See direct_kernels_cpu.cpp: the sets between these differ by nothing that is used here.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recon/coils/eigenvector_kernels_cpu.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // first: it includes this file once for every instruction set
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace fhd::eigenvector_cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// g[pair][lane] of `count` pairs from `pair` on, of one block of voxels: sums stay in registers, and
/// exponentials are read once for all of them.
template <int count>
HWY_ATTR void evaluate_pairs(const Row& row, std::int64_t first, int pair, float* g_re, float* g_im) {
  const hn::CappedTag<float, lanes> d;
  using V = hn::Vec<decltype(d)>;
  const int width = static_cast<int>(hn::Lanes(d));
  for (int l = 0; l < lanes; l += width) {
    V re[count], im[count];
    for (int p = 0; p < count; ++p) re[p] = im[p] = hn::Zero(d);
    for (int t = 0; t < row.terms; ++t) {
      const V c = hn::LoadU(d, row.cosine + t * row.padded_voxels + first + l),
              s = hn::LoadU(d, row.sine + t * row.padded_voxels + first + l);
      for (int p = 0; p < count; ++p) {
        const V a = hn::Set(d, row.real[(pair + p) * row.terms + t]),
                b = hn::Set(d, row.imag[(pair + p) * row.terms + t]);
        re[p] = hn::NegMulAdd(b, s, hn::MulAdd(a, c, re[p]));
        im[p] = hn::MulAdd(b, c, hn::MulAdd(a, s, im[p]));
      }
    }
    for (int p = 0; p < count; ++p) {
      hn::StoreU(re[p], d, g_re + (pair + p) * lanes + l);
      hn::StoreU(im[p], d, g_im + (pair + p) * lanes + l);
    }
  }
}

HWY_ATTR void evaluate(const Row& row, std::int64_t first, float* g_re, float* g_im) {
  constexpr int together = 4;
  const int pairs = row.coils * (row.coils + 1) / 2;
  int pair = 0;
  for (; pair + together <= pairs; pair += together) evaluate_pairs<together>(row, first, pair, g_re, g_im);
  for (; pair < pairs; ++pair) evaluate_pairs<1>(row, first, pair, g_re, g_im);
}

// From here on loops over `lanes` are plain: the compiler turns each into vectors of the instruction set at hand.

/// t = G v.
HWY_ATTR void multiply(int coils, const float* g_re, const float* g_im, const float* v_re, const float* v_im,
                       float* t_re, float* t_im) {
  std::fill_n(t_re, coils * lanes, 0.0f);
  std::fill_n(t_im, coils * lanes, 0.0f);
  for (int c = 0; c < coils; ++c) {
    float sum_re[lanes], sum_im[lanes], c_re[lanes], c_im[lanes];
    for (int l = 0; l < lanes; ++l) {
      c_re[l] = v_re[c * lanes + l], c_im[l] = v_im[c * lanes + l];
      sum_re[l] = t_re[c * lanes + l] + g_re[l] * c_re[l];  // the diagonal is real
      sum_im[l] = t_im[c * lanes + l] + g_re[l] * c_im[l];
    }
    g_re += lanes, g_im += lanes;
    for (int d = c + 1; d < coils; ++d, g_re += lanes, g_im += lanes) {
      const float *d_re = v_re + d * lanes, *d_im = v_im + d * lanes;
      float *u_re = t_re + d * lanes, *u_im = t_im + d * lanes;
      for (int l = 0; l < lanes; ++l) {
        sum_re[l] += g_re[l] * d_re[l] - g_im[l] * d_im[l];
        sum_im[l] += g_re[l] * d_im[l] + g_im[l] * d_re[l];
        u_re[l] += g_re[l] * c_re[l] + g_im[l] * c_im[l];
        u_im[l] += g_re[l] * c_im[l] - g_im[l] * c_re[l];
      }
    }
    for (int l = 0; l < lanes; ++l) t_re[c * lanes + l] = sum_re[l], t_im[c * lanes + l] = sum_im[l];
  }
}

/// t -= u (u^H t), u of the voxels from `first` on.
HWY_ATTR void project_out(const Row& row, std::int64_t first, float* t_re, float* t_im) {
  float sum_re[lanes] = {}, sum_im[lanes] = {};
  for (int c = 0; c < row.coils; ++c) {
    const float *u_re = row.beside_real + c * row.padded_voxels + first,
                *u_im = row.beside_imag + c * row.padded_voxels + first;
    for (int l = 0; l < lanes; ++l) {
      const int i = c * lanes + l;
      sum_re[l] += u_re[l] * t_re[i] + u_im[l] * t_im[i];
      sum_im[l] += u_re[l] * t_im[i] - u_im[l] * t_re[i];
    }
  }
  for (int c = 0; c < row.coils; ++c) {
    const float *u_re = row.beside_real + c * row.padded_voxels + first,
                *u_im = row.beside_imag + c * row.padded_voxels + first;
    for (int l = 0; l < lanes; ++l) {
      const int i = c * lanes + l;
      t_re[i] -= u_re[l] * sum_re[l] - u_im[l] * sum_im[l];
      t_im[i] -= u_re[l] * sum_im[l] + u_im[l] * sum_re[l];
    }
  }
}

/// v = the column of largest diagonal, beside the given vectors: unit vectors to start from.
HWY_ATTR void start(const Row& row, std::int64_t first, const float* diagonal, float* v_re, float* v_im) {
  float best[lanes], share[lanes];
  int column[lanes] = {};
  const auto rest = [&](int c, int l) {  // of a column beside u
    if (row.beside_real == nullptr) return 1.0f;
    const float re = row.beside_real[c * row.padded_voxels + first + l],
                im = row.beside_imag[c * row.padded_voxels + first + l];
    return 1 - re * re - im * im;
  };
  for (int l = 0; l < lanes; ++l) best[l] = 0, share[l] = 1;
  for (int c = 0; c < row.coils; ++c)
    for (int l = 0; l < lanes; ++l) {
      const float here = rest(c, l), size = diagonal[c * lanes + l] * here;
      if (size > best[l]) best[l] = size, share[l] = here, column[l] = c;
    }
  for (int i = 0; i < row.coils * lanes; ++i) v_re[i] = 0, v_im[i] = 0;
  for (int l = 0; l < lanes; ++l) v_re[column[l] * lanes + l] = 1 / std::sqrt(share[l]);
  if (row.beside_real != nullptr) project_out(row, first, v_re, v_im);
}

/// v = the given start over its length, where it is not 0.
HWY_ATTR void start_as_given(const Row& row, std::int64_t first, float* v_re, float* v_im) {
  float square[lanes] = {};
  for (int c = 0; c < row.coils; ++c) {
    const float *re = row.start_real + c * row.padded_voxels + first,
                *im = row.start_imag + c * row.padded_voxels + first;
    for (int l = 0; l < lanes; ++l) square[l] += re[l] * re[l] + im[l] * im[l];
  }
  float factor[lanes];
  for (int l = 0; l < lanes; ++l) factor[l] = square[l] > 0 ? 1 / std::sqrt(square[l]) : 0;
  for (int c = 0; c < row.coils; ++c) {
    const float *re = row.start_real + c * row.padded_voxels + first,
                *im = row.start_imag + c * row.padded_voxels + first;
    for (int l = 0; l < lanes; ++l) {
      const int i = c * lanes + l;
      v_re[i] = factor[l] > 0 ? factor[l] * re[l] : v_re[i];
      v_im[i] = factor[l] > 0 ? factor[l] * im[l] : v_im[i];
    }
  }
}

HWY_ATTR void eigenvectors(const Row& row, float* work, float* value, float* vector_real,
                           float* vector_imag) {
  const int coils = row.coils, pairs = coils * (coils + 1) / 2;
  float *g_re = work, *g_im = g_re + pairs * lanes, *v_re = g_im + pairs * lanes,
        *v_im = v_re + coils * lanes, *t_re = v_im + coils * lanes, *t_im = t_re + coils * lanes;
  for (std::int64_t first = 0; first < row.padded_voxels; first += lanes) {
    const std::uint8_t* wanted = row.wanted + first;
    if (std::all_of(wanted, wanted + lanes, [](std::uint8_t w) { return w == 0; })) continue;
    evaluate(row, first, g_re, g_im);
    float frobenius[lanes] = {};
    for (int c = 0, pair = 0; c < coils; ++c)
      for (int d = c; d < coils; ++d, ++pair)
        for (int l = 0; l < lanes; ++l) {
          const float re = g_re[pair * lanes + l], im = g_im[pair * lanes + l];
          frobenius[l] += (c == d ? 1.0f : 2.0f) * (re * re + im * im);
          if (c == d) t_re[c * lanes + l] = re;
        }
    start(row, first, t_re, v_re, v_im);  // G v is the largest column
    if (row.beside_real == nullptr) start_as_given(row, first, v_re, v_im);

    float eigenvalue[lanes] = {};
    for (int iteration = 0; iteration < most_eigenvector_iterations; ++iteration) {
      multiply(coils, g_re, g_im, v_re, v_im, t_re, t_im);
      if (row.beside_real != nullptr) project_out(row, first, t_re, t_im);
      float square[lanes] = {}, quotient[lanes] = {}, factor[lanes];
      for (int c = 0; c < coils; ++c)
        for (int l = 0; l < lanes; ++l) {
          const int i = c * lanes + l;
          square[l] += t_re[i] * t_re[i] + t_im[i] * t_im[i];
          quotient[l] += v_re[i] * t_re[i] + v_im[i] * t_im[i];
        }
      bool done = true;
      for (int l = 0; l < lanes; ++l) {
        eigenvalue[l] = quotient[l];
        factor[l] = square[l] > 0 ? 1 / std::sqrt(square[l]) : 0;
        const bool counts = wanted[l] != 0 && frobenius[l] >= row.least * row.least;
        done = done && !(counts && square[l] - quotient[l] * quotient[l] > eigenvector_tolerance * square[l]);
      }
      for (int c = 0; c < coils; ++c)
        for (int l = 0; l < lanes; ++l) {
          const int i = c * lanes + l;
          v_re[i] = factor[l] * t_re[i], v_im[i] = factor[l] * t_im[i];
        }
      if (done) break;
    }
    for (int l = 0; l < lanes; ++l) value[first + l] = eigenvalue[l];
    for (int c = 0; c < coils; ++c)
      for (int l = 0; l < lanes; ++l) {
        vector_real[c * row.padded_voxels + first + l] = v_re[c * lanes + l];
        vector_imag[c * row.padded_voxels + first + l] = v_im[c * lanes + l];
      }
  }
}

}  // namespace fhd::eigenvector_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fhd::eigenvector_cpu {

HWY_EXPORT(eigenvectors);

void dominant_eigenvectors(const Row& row, float* work, float* value, float* vector_real,
                           float* vector_imag) {
  HWY_DYNAMIC_DISPATCH(eigenvectors)(row, work, value, vector_real, vector_imag);
}
std::int64_t work_size(int coils) { return std::int64_t{lanes} * (coils * (coils + 1) + 4 * coils); }

}  // namespace fhd::eigenvector_cpu
#endif  // HWY_ONCE
