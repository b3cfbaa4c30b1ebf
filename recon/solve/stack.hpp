#pragma once
// Operators on every image of a stack, for a solver that sees one array: images [z][y][x], `count` of them, as one
// [image and z][y][x]. Terms that couple the images see that array, too.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "recon/solve/problem.hpp"

namespace fhd {

/// Returns the shape of `count` images [z][y][x].
inline Shape stack_of(const Shape& image, std::int64_t count) {
  return {count * image[0], image[1], image[2]};
}

/// Returns the operator of a stack whose images have one each, of one domain and device.
template <class T>
std::shared_ptr<const HermitianOperator<T>> stacked_normal(
    std::vector<std::shared_ptr<const HermitianOperator<T>>> of_each) {
  const Shape image = of_each.front()->domain();
  const Device device = of_each.front()->device();
  const auto count = static_cast<std::int64_t>(of_each.size());
  return hermitian_operator<T>(stack_of(image, count), device,
                               [image, of_each = std::move(of_each)](const auto& in, auto& out) {
                                 for (std::size_t i = 0; i < of_each.size(); ++i) {
                                   const auto place = static_cast<std::int64_t>(i);
                                   auto result = one_of(out, image, place);
                                   of_each[i]->forward(one_of(in, image, place), result);
                                 }
                               });
}

/// Returns the sum of a quadratic term over the images.
template <class T>
std::shared_ptr<const Term<T>> stacked_term(const std::shared_ptr<const Term<T>>& term, const Shape& image) {
  return std::make_shared<const Term<T>>(
      Term<T>{[term, image](const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) {
                for (std::int64_t i = 0; i < in.size() / image.size(); ++i) {
                  auto result = one_of(out, image, i);
                  term->add_normal(one_of(in, image, i), factor, result);
                }
              },
              term->circulant});
}

/// The sum of a term without squares over the images. Coefficients are [image][plane][z][y][x].
template <class T>
class StackedSparseTerm final : public SparseTerm<T> {
 public:
  /// Throws Error where the term has unknowns of its own.
  StackedSparseTerm(std::shared_ptr<const SparseTerm<T>> term, const Shape& image, std::int64_t count)
      : term_(std::move(term)),
        image_{1, image[0], image[1], image[2]},
        planes_{term_->planes(), image[0], image[1], image[2]},
        count_(count) {
    if (term_->auxiliary() > 0)
      throw Error(Field{"regularizer"}, "wavelet or tv for frames", "a term with unknowns of its own",
                  "use tv in the place of tgv");
  }
  int planes() const override { return term_->planes(); }
  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    for (std::int64_t i = 0; i < count_; ++i) {
      auto of_image = one_of(coefficients, planes_, i);
      term_->analyze(one_of(unknowns, image_, i), of_image);
    }
  }
  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    for (std::int64_t i = 0; i < count_; ++i) {
      auto of_image = one_of(unknowns, image_, i);
      term_->add_adjoint(one_of(coefficients, planes_, i), factor, of_image);
    }
  }
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    for (std::int64_t i = 0; i < count_; ++i) {
      auto of_image = one_of(out, image_, i);
      term_->add_normal(one_of(in, image_, i), factor, of_image);
    }
  }
  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    for (std::int64_t i = 0; i < count_; ++i) {
      auto of_image = one_of(coefficients, planes_, i);
      term_->shrink(threshold, of_image);
    }
  }
  double value(const Array<Complex<T>>& coefficients) const override {
    double sum = 0;
    for (std::int64_t i = 0; i < count_; ++i) sum += term_->value(one_of(coefficients, planes_, i));
    return sum;
  }
  double circulant(const std::array<double, 3>& angles) const override { return term_->circulant(angles); }

 private:
  std::shared_ptr<const SparseTerm<T>> term_;
  Shape image_, planes_;
  std::int64_t count_;
};

// Stacks of images that are sums of a few: image t = sum_k phi_k(t) component k, with orthonormal real courses phi
// (Phi, from components to images; Phi^H Phi = 1).

/// Phi and Phi^H.
template <class T>
class Subspace {
 public:
  /// `courses` [component][image], orthonormal.
  Subspace(const Array<double>& courses, Device device)
      : components_(courses.extent(0)), images_(courses.extent(1)) {
    Array<T> to_components(Shape{components_, images_}), to_images(Shape{images_, components_});
    for (std::int64_t k = 0; k < components_; ++k)
      for (std::int64_t t = 0; t < images_; ++t)
        to_images[t * components_ + k] = to_components[k * images_ + t] =
            static_cast<T>(courses[k * images_ + t]);
    to_components_ = to_components.to(device);
    to_images_ = to_images.to(device);
  }
  std::int64_t components() const { return components_; }
  std::int64_t images() const { return images_; }
  /// images = Phi components
  void expand(const Array<Complex<T>>& components, Array<Complex<T>>& images) const {
    combine_images(to_images_, components, images);
  }
  /// components = Phi^H images
  void project(const Array<Complex<T>>& images, Array<Complex<T>>& components) const {
    combine_images(to_components_, images, components);
  }

 private:
  std::int64_t components_, images_;
  Array<T> to_components_, to_images_;
};

/// Returns Phi^H A Phi, A of all images, of which `image` is the shape of one.
template <class T>
std::shared_ptr<const HermitianOperator<T>> subspace_normal(
    std::shared_ptr<const HermitianOperator<T>> of_images, std::shared_ptr<const Subspace<T>> subspace,
    const Shape& image) {
  const Device device = of_images->device();
  const Shape components = stack_of(image, subspace->components());
  Array<Complex<T>> images(of_images->domain(), device), products(of_images->domain(), device);
  return hermitian_operator<T>(
      components, device,
      [of_images = std::move(of_images), subspace = std::move(subspace), images = std::move(images),
       products = std::move(products)](const auto& in, auto& out) mutable {
        subspace->expand(in, images);
        of_images->forward(images, products);
        subspace->project(products, out);
      });
}

/// Returns the same where A does T_t to image t and T_t is linear in something that the images differ in:
///
///     (Phi^H A Phi)_kl = sum_t phi_k(t) phi_l(t) T_t,
///
/// symmetric in k and l, so that K (K + 1) / 2 operators stand for those of any number of images: (0, 0), (0, 1), ...
/// (0, K - 1), (1, 1), ...
template <class T>
std::shared_ptr<const HermitianOperator<T>> coupled_normal(
    std::vector<std::shared_ptr<const HermitianOperator<T>>> of_pairs) {
  const Shape image = of_pairs.front()->domain();
  const Device device = of_pairs.front()->device();
  std::int64_t count = 0;
  while (count * (count + 1) / 2 < static_cast<std::int64_t>(of_pairs.size())) ++count;
  return hermitian_operator<T>(
      stack_of(image, count), device,
      [image, count, of_pairs = std::move(of_pairs), product = Array<Complex<T>>(image, device)](
          const auto& in, auto& out) mutable {
        for (std::int64_t k = 0; k < count; ++k) {
          auto result = one_of(out, image, k);
          for (std::int64_t l = 0; l < count; ++l) {
            const std::int64_t less = std::min(k, l),
                               pair = less * (2 * count - less - 1) / 2 + std::max(k, l);
            of_pairs[static_cast<std::size_t>(pair)]->forward(one_of(in, image, l),
                                                              l == 0 ? result : product);
            if (l > 0) add_scaled(result, T(1), product);
          }
        }
      });
}

}  // namespace fhd
