// Sparse terms and ADMM on the device, against the CPU: the functors are the same.
#include "recon/solve/admm.hpp"
#include "recon/solve/terms/terms.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using tests::random_values;

using GpuSparse = tests::GpuTest;

TEST_F(GpuSparse, terms_are_those_of_the_cpu) {
  for (const Shape& image : {Shape{1, 33, 48}, Shape{9, 17, 20}})
    for (const auto kind : {SparseKind::wavelet, SparseKind::tv, SparseKind::tgv}) {
      const auto on_device = sparse_term<float>(kind, image, Device::cuda()),
                 on_host = sparse_term<float>(kind, image, Device::cpu());
      const Shape unknowns{1 + on_host->auxiliary(), image[0], image[1], image[2]},
          planes{on_host->planes(), image[0], image[1], image[2]};
      const auto x = random_values<float>(unknowns, 1);
      Array<Complex<float>> c(planes), sum(unknowns), c_device(planes, Device::cuda()),
          sum_device(unknowns, Device::cuda());
      on_host->analyze(x, c);
      on_device->analyze(x.to(Device::cuda()), c_device);
      EXPECT_LE(tests::relative_error(c_device, c), 1e-6) << name_of(kind);
      EXPECT_NEAR(on_device->value(c_device), on_host->value(c), 1e-5 * on_host->value(c)) << name_of(kind);
      on_host->shrink(0.3F, c);
      on_device->shrink(0.3F, c_device);
      EXPECT_LE(tests::relative_error(c_device, c), 1e-6) << name_of(kind);
      on_host->add_adjoint(c, 0.5F, sum);
      on_device->add_adjoint(c_device, 0.5F, sum_device);
      EXPECT_LE(tests::relative_error(sum_device, sum), 1e-6) << name_of(kind);
      on_host->add_normal(x, 0.5F, sum);
      on_device->add_normal(x.to(Device::cuda()), 0.5F, sum_device);
      EXPECT_LE(tests::relative_error(sum_device, sum), 1e-6) << name_of(kind);
    }
}

TEST_F(GpuSparse, admm_gives_the_image_of_the_cpu) {
  const Shape image{1, 24, 24};
  const auto data = random_values<float>(image, 2);
  const auto solved = [&](Device device) {
    // E^H E = 2: J is a prox problem.
    const auto twice = hermitian_operator<float>(image, device, [](const auto& in, auto& out) {
      copy(in, out);
      scale(out, 2.0F);
    });
    Problem<float> problem{twice, {{identity_term<float>(), 0}}, {}};
    for (const auto kind : {SparseKind::wavelet, SparseKind::tgv})
      problem.sparse.push_back({sparse_term<float>(kind, image, device), 0.3});
    Array<Complex<float>> x(image, device);
    AdmmSettings settings{1000, 1e-4};
    EXPECT_TRUE(admm(problem, data.to(device), x, settings).converged);
    return x.to(Device::cpu());
  };
  EXPECT_LE(tests::relative_error(solved(Device::cuda()), solved(Device::cpu())), 1e-4);
}

}  // namespace
}  // namespace fhd
