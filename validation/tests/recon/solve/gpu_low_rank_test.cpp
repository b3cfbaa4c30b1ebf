// llr on a GPU beside the CPU.
#include "recon/solve/terms/terms.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/recon/solve/term_checks.hpp"

namespace {

using namespace fhd;
using namespace fhd::tests;

/// Fewer and more frames than voxels, odd numbers, cut blocks, 3D, more frames than a tile.
class LowRankOnGpu : public GpuTest {};

/// The prox does not lengthen errors, and both round its result to float once, 6e-8 of each element.
TEST_F(LowRankOnGpu, shortens_as_on_the_cpu) {
  for (const auto& [image, frames] : {std::pair{Shape{1, 20, 21}, std::int64_t{60}},
                                      {Shape{1, 13, 9}, 5},
                                      {Shape{6, 7, 9}, 150},
                                      {Shape{1, 1, 9}, 2},
                                      {Shape{1, 30, 30}, 64}}) {
    const auto term = low_rank_term<float>(image, frames);
    const auto given = random_values<float>({term->planes(), frames * image[0], image[1], image[2]}, 12);
    for (const float threshold : {0.05F, 0.4F, 100.0F}) {
      Array<Complex<float>> host(given);
      auto on_gpu = given.to(Device::cuda());
      EXPECT_NEAR(term->value(on_gpu), term->value(host), 1e-7 * term->value(host)) << image.text();
      term->shrink(threshold, host);
      term->shrink(threshold, on_gpu);
      auto difference = on_gpu.to(Device::cpu());
      add_scaled(difference, -1.0F, host);
      EXPECT_LE(length(difference), 1.3e-7 * length(given))
          << image.text() << ' ' << frames << ' ' << threshold;
      if (threshold == 0.4F) {
        EXPECT_GT(length(host), 0) << image.text();
      }
      if (threshold == 100.0F) {
        EXPECT_EQ(length(host), 0) << image.text();
      }
    }
  }
}

TEST_F(LowRankOnGpu, shortens_few_large_singular_values_among_many_small_ones) {
  const Shape image{1, 16, 16};
  constexpr std::int64_t frames = 40;
  const auto term = low_rank_term<double>(image, frames);
  Array<Complex<double>> given(Shape{term->planes(), frames, 16, 16});
  const auto course = random_values<double>({2, frames}, 13), form = random_values<double>({2, 2 * 256}, 14);
  const auto noise = random_values<double>(given.shape(), 15);
  for (int grid = 0; grid < 2; ++grid)
    for (std::int64_t t = 0; t < frames; ++t)
      for (int p = 0; p < 256; ++p) {
        const std::int64_t at = (grid * frames + t) * 256 + p;
        given[at] = 1e-4 * noise[at];
        for (int j = 0; j < 2; ++j) given[at] += course[j * frames + t] * form[j * 512 + grid * 256 + p];
      }
  auto on_gpu = given.to(Device::cuda());
  Array<Complex<double>> host(given);
  term->shrink(1e-4, host);
  term->shrink(1e-4, on_gpu);
  auto difference = on_gpu.to(Device::cpu());
  add_scaled(difference, -1.0, host);
  // Squares are known to the rounding of G, 1e-16 of the largest or some times that: singular values at the threshold, 1e-4 of it,
  // to 1e-16 / 1e-4 / 2 of the largest, and there are forty.
  EXPECT_LE(length(difference), 1e-10 * length(given));
}

}  // namespace
