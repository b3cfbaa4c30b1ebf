#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "recon/array/parallel_failure.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {
namespace {

using Values = Array<Complex<float>>;

/// c(r) = sum_k omega(k) s(k) exp(i 2 pi k . r) / sqrt(voxels) of one coil, and its adjoint, axis by axis.
class SmoothSensitivity {
 public:
  explicit SmoothSensitivity(const Shape& image) {
    constexpr int largest_k = 8;
    double square[3][2 * largest_k + 1];
    for (int axis = 0; axis < 3; ++axis) {
      voxels_[axis] = image[2 - axis];
      const auto reach = std::min<std::int64_t>(largest_k, (voxels_[axis] - 1) / 2);
      terms_[axis] = 2 * reach + 1;
      const double unitary = 1 / std::sqrt(static_cast<double>(voxels_[axis]));
      for (std::int64_t t = 0; t < terms_[axis]; ++t) {
        const auto k = static_cast<double>(t - reach);
        square[axis][t] = k * k;
        for (std::int64_t n = 0; n < voxels_[axis]; ++n) {
          const double angle = 2 * std::numbers::pi * k * static_cast<double>(n - voxels_[axis] / 2) /
                               static_cast<double>(voxels_[axis]);
          phasors_[axis].push_back(
              Complex<float>(unitary * Complex<double>(std::cos(angle), std::sin(angle))));
        }
      }
    }
    for (std::int64_t z = 0; z < terms_[2]; ++z)
      for (std::int64_t y = 0; y < terms_[1]; ++y)
        for (std::int64_t x = 0; x < terms_[0]; ++x)
          omega_.push_back(
              static_cast<float>(std::pow(1 + (square[0][x] + square[1][y] + square[2][z]) / 100, -12)));
  }

  /// Unknowns of one coil.
  std::int64_t size() const { return static_cast<std::int64_t>(omega_.size()); }

  /// s -> c.
  void forward(const Complex<float>* s, Complex<float>* c) const {
    std::vector<Complex<float>> weighted(omega_.size());
    for (std::size_t i = 0; i < omega_.size(); ++i) weighted[i] = omega_[i] * s[i];
    std::vector<Complex<float>> along_x(terms_[2] * terms_[1] * voxels_[0]),
        along_y(terms_[2] * voxels_[1] * voxels_[0]);
    sum<Sum::terms>(0, terms_[2] * terms_[1], 1, weighted.data(), along_x.data());
    sum<Sum::terms>(1, terms_[2], voxels_[0], along_x.data(), along_y.data());
    std::fill_n(c, voxels_[0] * voxels_[1] * voxels_[2], Complex<float>());
    sum<Sum::terms>(2, 1, voxels_[1] * voxels_[0], along_y.data(), c);
  }
  /// c -> s.
  void adjoint(const Complex<float>* c, Complex<float>* s) const {
    std::vector<Complex<float>> along_z(terms_[2] * voxels_[1] * voxels_[0]),
        along_y(terms_[2] * terms_[1] * voxels_[0]);
    sum<Sum::voxels>(2, 1, voxels_[1] * voxels_[0], c, along_z.data());
    sum<Sum::voxels>(1, terms_[2], voxels_[0], along_z.data(), along_y.data());
    std::fill_n(s, omega_.size(), Complex<float>());
    sum<Sum::voxels>(0, terms_[2] * terms_[1], 1, along_y.data(), s);
    for (std::size_t i = 0; i < omega_.size(); ++i) s[i] = omega_[i] * s[i];
  }

 private:
  enum class Sum { terms, voxels };
  /// out[outer][voxel][inner] += sum over terms of exp(+i ...) in[outer][term][inner], or over voxels the
  /// other way with exp(-i ...).
  template <Sum over>
  void sum(int axis, std::int64_t outer, std::int64_t inner, const Complex<float>* in,
           Complex<float>* out) const {
    const std::int64_t voxels = voxels_[axis], terms = terms_[axis];
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < terms * voxels; ++i) {
        const std::int64_t at_term = (o * terms + i / voxels) * inner,
                           at_voxel = (o * voxels + i % voxels) * inner;
        const Complex<float> phasor = phasors_[axis][i];
        if constexpr (over == Sum::terms)
          add_scaled_row(phasor, in + at_term, out + at_voxel, inner);
        else
          add_scaled_row(conj(phasor), in + at_voxel, out + at_term, inner);
      }
  }
  static void add_scaled_row(Complex<float> factor, const Complex<float>* from, Complex<float>* to,
                             std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
  }

  std::int64_t voxels_[3], terms_[3];
  std::vector<Complex<float>> phasors_[3];  ///< exp(i 2 pi k r) / sqrt(voxels), [term][voxel]
  std::vector<float> omega_;
};

/// DG^H T DG at (rho, c). Unknowns are one row: the image, then s of every coil. Coils are shared among
/// threads; the sums over coils are made in their order.
class LinearizedNormal final : public HermitianOperator<float> {
 public:
  LinearizedNormal(const MakeNormal& make_normal, const Values& right_hand_side)
      : right_hand_side_(right_hand_side),
        image_(Shape{right_hand_side.extent(1), right_hand_side.extent(2), right_hand_side.extent(3)}),
        coils_(right_hand_side.extent(0)),
        voxels_(image_.size()),
        smooth_(image_),
        sensitivities_({coils_, voxels_}),
        rho_({voxels_}),
        contributions_({coils_, voxels_}) {
    // Waiting for each other in every iteration costs threads more than a few thousand voxels do.
    constexpr std::int64_t worth_threads = 1 << 15;
    const auto threads =
        coils_ * voxels_ < worth_threads ? 1 : std::min<std::int64_t>(omp_get_max_threads(), coils_);
    const ThreadLimit one_thread(1);  // operators made now stay on the thread that applies them
    for (std::int64_t thread = 0; thread < threads; ++thread)
      workers_.push_back({make_normal(), Values(image_), Values(image_)});
  }

  Shape domain() const override { return {voxels_ + coils_ * smooth_.size()}; }
  Device device() const override { return Device::cpu(); }

  /// Moves to the point x.
  void linearize_at(const Values& x) {
    std::copy_n(x.data(), voxels_, rho_.data());
    for_each_coil([&](std::int64_t coil, const Worker&) {
      smooth_.forward(x.data() + voxels_ + coil * smooth_.size(), sensitivities_.data() + coil * voxels_);
    });
  }
  /// rho c_j, [coil][z][y][x].
  Values coil_images() const {
    Values images(right_hand_side_.shape());
    for (std::int64_t i = 0; i < images.size(); ++i) images[i] = rho_[i % voxels_] * sensitivities_[i];
    return images;
  }
  /// out = DG^H (b - T G(x)).
  void gradient(Values& out) const {
    apply_adjoint(
        [&](std::int64_t coil, const Worker& worker) {
          const Complex<float>*c = sensitivities_.data() + coil * voxels_,
                *b = right_hand_side_.data() + coil * voxels_;
          for (std::int64_t p = 0; p < voxels_; ++p) worker.image.data()[p] = rho_.data()[p] * c[p];
          worker.normal->forward(worker.image, worker.product);
          for (std::int64_t p = 0; p < voxels_; ++p)
            worker.product.data()[p] = b[p] - worker.product.data()[p];
        },
        out);
  }
  void forward(const Values& in, Values& out) const override {
    apply_adjoint(
        [&](std::int64_t coil, const Worker& worker) {
          const Complex<float>* c = sensitivities_.data() + coil * voxels_;
          Complex<float>* image = worker.image.data();
          smooth_.forward(in.data() + voxels_ + coil * smooth_.size(), image);
          for (std::int64_t p = 0; p < voxels_; ++p)
            image[p] = in.data()[p] * c[p] + rho_.data()[p] * image[p];
          worker.normal->forward(worker.image, worker.product);
        },
        out);
  }

 private:
  struct Worker {
    std::shared_ptr<const HermitianOperator<float>> normal;
    mutable Values image, product;
  };

  template <class Body>
  void for_each_coil(Body body) const {
    ParallelFailure failure;
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(workers_.size()))
    for (std::int64_t coil = 0; coil < coils_; ++coil)
      failure.guard([&] { body(coil, workers_[omp_get_thread_num()]); });
    failure.rethrow();
  }

  /// out = DG^H of the product that `residual` leaves with the worker, coil by coil.
  template <class Residual>
  void apply_adjoint(Residual residual, Values& out) const {
    for_each_coil([&](std::int64_t coil, const Worker& worker) {
      residual(coil, worker);
      const Complex<float>* c = sensitivities_.data() + coil * voxels_;
      Complex<float>* product = worker.product.data();
      for (std::int64_t p = 0; p < voxels_; ++p) {
        contributions_.data()[coil * voxels_ + p] = conj(c[p]) * product[p];
        product[p] = conj(rho_.data()[p]) * product[p];
      }
      smooth_.adjoint(product, out.data() + voxels_ + coil * smooth_.size());
    });
    std::copy_n(contributions_.data(), voxels_, out.data());
    for (std::int64_t coil = 1; coil < coils_; ++coil)
      for (std::int64_t p = 0; p < voxels_; ++p) out.data()[p] += contributions_.data()[coil * voxels_ + p];
  }

  const Values& right_hand_side_;
  Shape image_;
  std::int64_t coils_, voxels_;
  SmoothSensitivity smooth_;
  Values sensitivities_, rho_;
  std::vector<Worker> workers_;
  mutable Values contributions_;
};

}  // namespace

JointEstimate estimate_jointly(const MakeNormal& make_normal, const Array<Complex<float>>& right_hand_side) {
  constexpr int newton_steps = 6, inner_iterations = 20;
  constexpr double inner_tolerance = 0.05;
  // alpha compares |x - x_0|^2 with the data, so that these have a fixed size: that of an image of ones.
  Values b(right_hand_side);
  const double size = norm_l2(b);
  const SmoothSensitivity smooth(Shape{b.extent(1), b.extent(2), b.extent(3)});
  if (size == 0) return {b, Values({b.extent(0), smooth.size()})};
  const double unit = std::sqrt(static_cast<double>(b.size() / b.extent(0))) / size;
  scale(b, static_cast<float>(unit));

  const auto linearized = std::make_shared<LinearizedNormal>(make_normal, b);
  Values x(linearized->domain()), start(x.shape()), gradient(x.shape()), step(x.shape());
  std::fill_n(start.data(), b.size() / b.extent(0), Complex<float>(1));
  copy(start, x);
  double alpha = 1;
  for (int newton = 0; newton < newton_steps; ++newton, alpha /= 4) {
    linearized->linearize_at(x);
    linearized->gradient(gradient);
    add_scaled(gradient, static_cast<float>(alpha), start);
    add_scaled(gradient, static_cast<float>(-alpha), x);
    step.fill_zero();
    conjugate_gradient(RegularizedNormal<float>(linearized, {{identity_term<float>(), alpha}}), gradient,
                       step,
                       {.iterations = inner_iterations, .tolerance = inner_tolerance, .from_zero = true});
    add_scaled(x, 1.0f, step);
  }
  linearized->linearize_at(x);
  JointEstimate estimate{linearized->coil_images(), Values({b.extent(0), smooth.size()})};
  scale(estimate.coil_images, static_cast<float>(1 / unit));
  std::copy_n(x.data() + b.size() / b.extent(0), estimate.smooth.size(), estimate.smooth.data());
  return estimate;
}

Array<Complex<float>> smooth_maps(const CalibrationRegion& region, const Array<std::uint8_t>& mask) {
  const SmoothSensitivity smooth(mask.shape());
  const std::int64_t coils = region.smooth.extent(0), voxels = mask.size();
  Values maps({coils, mask.extent(0), mask.extent(1), mask.extent(2)});
  ParallelFailure failure;
#pragma omp parallel for schedule(static)
  for (std::int64_t coil = 0; coil < coils; ++coil)
    failure.guard(
        [&] { smooth.forward(region.smooth.data() + coil * smooth.size(), maps.data() + coil * voxels); });
  failure.rethrow();
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < voxels; ++p) {
    const float square = sum_of_squares(maps.data(), maps.size(), voxels, p);
    const float factor = square > 0 && mask.data()[p] != 0 ? 1 / std::sqrt(square) : 0;
    for (std::int64_t i = p; i < maps.size(); i += voxels) maps.data()[i] = factor * maps.data()[i];
  }
  return maps;
}

}  // namespace fhd
