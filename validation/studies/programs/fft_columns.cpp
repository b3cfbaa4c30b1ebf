// FFTs of columns side by side, one thread: ColumnFft beside FFTW's plans, GFlop/s (5 n log2 n operations), as a table.
// The fastest of many runs counts, because other processes can only slow one down.
//
//     fft_columns
#include <fftw3.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "recon/array/array.hpp"
#include "recon/array/column_fft.hpp"

namespace {

using fhd::Array;
using fhd::ColumnFft;
using fhd::Complex;
using fhd::Shape;

constexpr int columns = ColumnFft<float>::columns;

template <class Work>
double gflops(int n, const Work& work) {
  constexpr int repetitions = 25;
  const double operations = 5.0 * n * std::log2(n) * columns;
  const int calls = std::max(1, static_cast<int>(1e7 / operations));
  double best = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call) work();
    best = std::min(best,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls);
  }
  return operations / best * 1e-9;
}

double gflops_of_fftw(int n, Array<Complex<float>>& data, unsigned planning) {
  auto* const at = reinterpret_cast<fftwf_complex*>(data.data());
  const auto plan = fftwf_plan_many_dft(1, &n, columns, at, nullptr, columns, 1, at, nullptr, columns, 1,
                                        FFTW_FORWARD, planning);
  data.fill_zero();
  const double found = gflops(n, [&] { fftwf_execute(plan); });
  fftwf_destroy_plan(plan);
  return found;
}

}  // namespace

int main() {
  std::printf("| n | FFTW, estimate | measure | patient | ColumnFft |\n|---|---|---|---|---|\n");
  for (const int n : {128, 160, 180, 192, 216, 240, 256, 320, 384, 512}) {
    Array<Complex<float>> data(Shape{n, columns}), scratch(data.shape());
    std::printf("| %d |", n);
    for (const unsigned planning : {FFTW_ESTIMATE, FFTW_MEASURE, FFTW_PATIENT})
      std::printf(" %.1f |", gflops_of_fftw(n, data, planning));
    const ColumnFft<float> fft(n);
    data.fill_zero();
    std::printf(" **%.1f** |\n", gflops(n, [&] { fft(data.data(), scratch.data(), false); }));
    std::fflush(stdout);
  }
}
