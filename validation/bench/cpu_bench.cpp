#include "validation/bench/cpu_bench.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/transform.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"

namespace fhd {
namespace {

/// A problem with random samples, k-space values and voxels, the same on every run.
struct Problem {
  Problem(std::array<int, 3> matrix, std::int64_t samples, int coil_count) : matrix_size(matrix) {
    std::mt19937 generator(11);
    const auto uniform = [&] { return generator() * 0x1p-32 - 0.5; };
    trajectory.k = Array<double>(Shape{3, samples});
    for (int axis = 0; axis < 3; ++axis)
      for (std::int64_t m = 0; m < samples; ++m)
        trajectory.k[axis * samples + m] = matrix[axis] == 1 ? 0 : uniform() * matrix[axis];
    kspace = Array<Complex<float>>(Shape{coil_count, samples});
    images = Array<Complex<float>>(Shape{coil_count, matrix[2], matrix[1], matrix[0]});
    for (auto& v : kspace) v = {static_cast<float>(uniform()), static_cast<float>(uniform())};
    for (auto& v : images) v = {static_cast<float>(uniform()), static_cast<float>(uniform())};
  }
  double pairs() const {
    return static_cast<double>(images.size()) * static_cast<double>(trajectory.sample_count());
  }
  std::string text() const {
    return std::to_string(matrix_size[0]) + " x " + std::to_string(matrix_size[1]) +
           (matrix_size[2] > 1 ? " x " + std::to_string(matrix_size[2]) : "") + ", " +
           std::to_string(trajectory.sample_count()) + " samples, " + std::to_string(images.extent(0)) +
           (images.extent(0) == 1 ? " coil" : " coils");
  }
  std::array<int, 3> matrix_size;
  Trajectory trajectory;
  Array<Complex<float>> kspace, images;
};

template <class Work>
double median_seconds(int repetitions, Work work) {
  work();  // warm up: pages, plans
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const double begin = omp_get_wtime();
    work();
    seconds.push_back(omp_get_wtime() - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + repetitions / 2, seconds.end());
  return seconds[repetitions / 2];
}

/// Columns of a double array [row][column] picked at equal distances.
template <class Out, class In>
Array<Out> picked(const Array<In>& from, std::int64_t rows, std::int64_t count) {
  const std::int64_t columns = from.size() / rows;
  Array<Out> to(Shape{rows, count});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < count; ++i)
      to[row * count + i] = static_cast<Out>(from[row * columns + i * columns / count]);
  return to;
}

constexpr std::int64_t checked = 200;  // voxels or samples compared with the oracle

double adjoint_error(const Problem& p, const Array<Complex<float>>& images) {
  const auto positions = picked<double>(oracle::voxel_positions(p.matrix_size), 3, checked);
  const auto expected = oracle::adjoint(p.trajectory.k, positions, converted<Complex<double>>(p.kspace));
  return metrics::relative_l2(picked<Complex<double>>(images, p.kspace.extent(0), checked), expected);
}
double forward_error(const Problem& p, const Array<Complex<float>>& samples) {
  const auto k = picked<double>(p.trajectory.k, 3, 20);
  const auto expected =
      oracle::forward(k, oracle::voxel_positions(p.matrix_size), converted<Complex<double>>(p.images));
  return metrics::relative_l2(picked<Complex<double>>(samples, p.kspace.extent(0), 20), expected);
}

/// Runs every operation on `threads` threads and notes it.
class CpuBench {
 public:
  CpuBench(bool quick, const ProgressCallback& progress) : quick_(quick), progress_(progress) {}
  std::vector<BenchRow> rows;

  /// Times direct sums.
  void direct(const Problem& p, int threads, double fma_rate) {
    const auto transform = make_direct_transform<float>(p.trajectory, p.matrix_size, Device::cpu());
    Array<Complex<float>> images(p.images.shape()), samples(p.kspace.shape());
    const auto add = [&](const std::string& name, double seconds, double error) {
      const double rate = p.pairs() / seconds;
      rows.push_back(
          {name, instruction_set(), threads, seconds, rate, rate * 2 / (fma_rate * threads), error});
    };
    const double adjoint = timed("direct F^H, " + p.text(), 3, [&] { transform->adjoint(p.kspace, images); });
    add("direct F^H, " + p.text(), adjoint, adjoint_error(p, images));
    const double forward = timed("direct F, " + p.text(), 3, [&] { transform->forward(p.images, samples); });
    add("direct F, " + p.text(), forward, forward_error(p, samples));
  }

  void toeplitz(const Problem& p, int threads) {
    const auto q = point_spread_direct<float>(p.trajectory, p.matrix_size, nullptr, Device::cpu());
    const auto normal = make_toeplitz_normal(q, p.images);  // any maps do
    Array<Complex<float>> in(normal->domain()), out(normal->domain());
    std::copy_n(p.images.data(), in.size(), in.data());
    const std::string name = "Toeplitz F^H F, " + p.text();
    const double seconds = timed(name, quick_ ? 3 : 11, [&] { normal->forward(in, out); });
    rows.push_back({name, instruction_set(), threads, seconds, 0, 0, -1});
  }

  void gridded(const Problem& p, int threads, double accuracy) {
    const auto transform =
        make_gridded_transform<float>(p.trajectory, p.matrix_size, accuracy, Device::cpu());
    Array<Complex<float>> images(p.images.shape()), samples(p.kspace.shape());
    const std::string name =
        "gridded to " + std::string(accuracy == 1e-3 ? "1e-3" : "1e-5") + ", " + p.text();
    double seconds = timed(name, 3, [&] { transform->adjoint(p.kspace, images); });
    rows.push_back({"F^H " + name, instruction_set(), threads, seconds, 0, 0, adjoint_error(p, images)});
    seconds = timed(name, 3, [&] { transform->forward(p.images, samples); });
    rows.push_back({"F " + name, instruction_set(), threads, seconds, 0, 0, forward_error(p, samples)});
  }

 private:
  template <class Work>
  double timed(const std::string& what, int repetitions, Work work) const {
    if (progress_) progress_({what, 0, 1, -1});
    return median_seconds(repetitions, work);
  }

  bool quick_;
  const ProgressCallback& progress_;
};

}  // namespace

std::vector<BenchRow> run_cpu_bench(bool quick, const ProgressCallback& progress) {
  CpuBench bench(quick, progress);
  const int all_threads = omp_get_max_threads();
  const std::vector<int> thread_counts = all_threads > 1 ? std::vector{1, all_threads} : std::vector{1};

  const double fma_rate = measured_fma_rate();
  for (const int threads : thread_counts) {
    omp_set_num_threads(threads);
    bench.direct({{64, 64, 64}, quick ? 8192 : 65536, 1}, threads, fma_rate);
    bench.direct({{256, 256, 1}, quick ? 10291 : 102912, 8}, threads, fma_rate);
  }

  for (const int threads : thread_counts) {
    omp_set_num_threads(threads);
    bench.toeplitz({{256, 256, 1}, 20000, 8}, threads);
    bench.toeplitz({{64, 64, 64}, 4096, 8}, threads);
    if (!quick) bench.toeplitz({{128, 128, 128}, 512, 1}, threads);
    for (const double accuracy : {1e-3, 1e-5}) {
      bench.gridded({{256, 256, 1}, 102912, 8}, threads, accuracy);
      bench.gridded({{128, 128, 128}, quick ? 40000 : 400000, 1}, threads, accuracy);
    }
  }
  omp_set_num_threads(all_threads);
  return std::move(bench.rows);
}

}  // namespace fhd
