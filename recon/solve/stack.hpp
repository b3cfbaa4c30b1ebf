#pragma once
// Operators on every image of a stack, for a solver that sees one array: images [z][y][x], `count` of them, as one
// [image and z][y][x]. Terms that couple the images see that array, too.
#include <vector>

#include "recon/solve/problem.hpp"

namespace fhd {

/// Returns the shape of `count` images [z][y][x].
inline Shape stack_of(const Shape& image, std::int64_t count) {
  return {count * image[0], image[1], image[2]};
}

/// Each image has an operator of its own.
template <class T>
class StackedNormal final : public HermitianOperator<T> {
 public:
  /// Takes operators of one domain and device; at least one.
  explicit StackedNormal(std::vector<std::shared_ptr<const HermitianOperator<T>>> of_each)
      : of_each_(std::move(of_each)) {}
  Shape domain() const override {
    return stack_of(image(), static_cast<std::int64_t>(of_each_.size()));
  }
  Device device() const override { return of_each_.front()->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    for (std::size_t i = 0; i < of_each_.size(); ++i) {
      auto result = one_of(out, image(), static_cast<std::int64_t>(i));
      of_each_[i]->forward(one_of(in, image(), static_cast<std::int64_t>(i)), result);
    }
  }

 private:
  Shape image() const { return of_each_.front()->domain(); }
  std::vector<std::shared_ptr<const HermitianOperator<T>>> of_each_;
};

/// All images have the same operator.
template <class T>
class SameForStack final : public HermitianOperator<T> {
 public:
  SameForStack(std::shared_ptr<const HermitianOperator<T>> of_one, std::int64_t count)
      : of_one_(std::move(of_one)), count_(count) {}
  Shape domain() const override { return stack_of(of_one_->domain(), count_); }
  Device device() const override { return of_one_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    const Shape one = of_one_->domain(), all{count_, one[0], one[1], one[2]};
    auto results = one_of(out, all, 0);
    of_one_->forward_each(one_of(in, all, 0), results);
  }

 private:
  std::shared_ptr<const HermitianOperator<T>> of_one_;
  std::int64_t count_;
};

/// The sum of a quadratic term over the images.
template <class T>
class StackedTerm final : public Term<T> {
 public:
  StackedTerm(std::shared_ptr<const Term<T>> term, const Shape& image)
      : term_(std::move(term)), image_(image) {}
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    for (std::int64_t i = 0; i < in.size() / image_.size(); ++i) {
      auto result = one_of(out, image_, i);
      term_->add_normal(one_of(in, image_, i), factor, result);
    }
  }
  double circulant(const std::array<double, 3>& angles) const override { return term_->circulant(angles); }

 private:
  std::shared_ptr<const Term<T>> term_;
  Shape image_;
};

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

}  // namespace fhd
