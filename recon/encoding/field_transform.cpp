#include "recon/encoding/field_transform.hpp"

#include <utility>

#include "recon/array/vector_math.hpp"
#include "recon/encoding/functors.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// Computes v_j on the device of the basis, [voxel], one term at a time.
template <class T>
class Turns {
 public:
  Turns(const PhaseTerms& terms, const PhaseFactors& factors, Device device)
      : basis_(terms.basis.to(device)),
        decay_(terms.decay_per_s.to(device)),
        second_decay_(terms.second_decay_per_s.to(device)),
        fraction_(terms.fraction.to(device)),
        coefficients_(factors.coefficients.to(device)),
        times_(factors.time_s) {}
  void set(std::int64_t j, Complex<T>* turn) const {
    const std::int64_t rows = basis_.extent(0), voxels = basis_.extent(1);
    for_each_with_coils(basis_.device(), voxels,
                        TurnByFields<T>{basis_.data(), coefficients_.data() + j * rows, values_of(decay_),
                                        values_of(second_decay_), values_of(fraction_), rows, voxels,
                                        times_.empty() ? 0.0 : times_.data()[j], turn});
  }

 private:
  static const double* values_of(const Array<double>& map) { return map.empty() ? nullptr : map.data(); }

  Array<double> basis_, decay_, second_decay_, fraction_, coefficients_, times_;
};

template <class T>
class FieldTransform final : public FourierTransform<T> {
 public:
  FieldTransform(std::shared_ptr<const FourierTransform<T>> plain,
                 std::shared_ptr<const HeldFactors<T>> factors)
      : FourierTransform<T>(plain->matrix_size(), plain->sample_count(), plain->device()),
        plain_(std::move(plain)),
        factors_(std::move(factors)),
        cost_(plain_->cost(),
              {plain_->matrix_size(), {plain_->sample_count()}, precision_of<T>(), plain_->device()},
              factors_->turns.extent(0)) {}

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    prepare(this->check_batch(images, samples));
    samples.fill_zero();
    for (std::int64_t j = 0; j < factors_->turns.extent(0); ++j) {
      multiply<false, false>(factors_->turns, j, images, images_);
      plain_->forward(images_, samples_);
      multiply<false, true>(factors_->weights, j, samples_, samples);
    }
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    prepare(this->check_batch(images, samples));
    images.fill_zero();
    for (std::int64_t j = 0; j < factors_->turns.extent(0); ++j) {
      multiply<true, false>(factors_->weights, j, samples, samples_);
      plain_->adjoint(samples_, images_);
      multiply<true, true>(factors_->turns, j, images_, images);
    }
  }
  const TransformCost& cost() const override { return cost_; }

 private:
  void prepare(std::int64_t coils) const {
    if (images_.shape() == this->images_shape(coils)) return;
    images_ = Array<Complex<T>>(this->images_shape(coils), this->device());
    samples_ = Array<Complex<T>>(this->samples_shape(coils), this->device());
  }
  template <bool conjugates, bool adds>
  void multiply(const Array<Complex<T>>& factors, std::int64_t j, const Array<Complex<T>>& from,
                Array<Complex<T>>& to) const {
    const std::int64_t count = factors.extent(1);
    for_each_with_coils(this->device(), count,
                        MultiplyEach<T, conjugates, adds>{factors.data() + j * count, from.data(),
                                                          from.size(), count, to.data()});
  }

  std::shared_ptr<const FourierTransform<T>> plain_;
  std::shared_ptr<const HeldFactors<T>> factors_;
  FieldCost cost_;
  mutable Array<Complex<T>> images_, samples_;  ///< those of one term
};

}  // namespace

template <class T>
std::shared_ptr<const HeldFactors<T>> held_factors(const PhaseTerms& terms, const PhaseFactors& factors,
                                                   Device device) {
  const std::int64_t voxels = terms.basis.extent(1);
  const Turns<T> turns(terms, factors, device);
  HeldFactors<T> held{Array<Complex<T>>({factors.count(), voxels}, device),
                      converted<Complex<T>>(factors.weights).to(device)};
  for (std::int64_t j = 0; j < factors.count(); ++j) turns.set(j, held.turns.data() + j * voxels);
  return std::make_shared<const HeldFactors<T>>(std::move(held));
}

template <class T>
std::shared_ptr<const FourierTransform<T>> make_field_transform(
    std::shared_ptr<const FourierTransform<T>> plain, std::shared_ptr<const HeldFactors<T>> factors) {
  return std::make_shared<FieldTransform<T>>(std::move(plain), std::move(factors));
}

double FieldCost::voxels() const {
  return image_bytes(sizes_) / static_cast<double>(bytes_of_complex(sizes_.precision));
}
Work FieldCost::weighting(std::int64_t coils) const {
  const auto element = static_cast<double>(bytes_of_complex(sizes_.precision) * coils);
  return written_pass(element * voxels()) + written_pass(element * static_cast<double>(sizes_.samples.all));
}
Work FieldCost::making() const {
  // sin and cos in double, of a voxel and a term, take about as long as copying so many bytes.
  constexpr double turn = 128;
  return plain_.making() + Work(WorkUnit::byte, static_cast<double>(bytes())) +
         terms_ * written_pass(turn * voxels());
}
Work FieldCost::forward(std::int64_t coils) const {
  return terms_ * (plain_.forward(coils) + weighting(coils));
}
Work FieldCost::adjoint(std::int64_t coils) const {
  return terms_ * (plain_.adjoint(coils) + weighting(coils));
}
std::size_t FieldCost::bytes() const {
  return plain_.bytes() + whole_bytes(terms_ * static_cast<double>(bytes_of_complex(sizes_.precision)) *
                                      (voxels() + static_cast<double>(sizes_.samples.all)));
}
std::size_t FieldCost::scratch_bytes(std::int64_t coils) const {
  return plain_.scratch_bytes(coils) +
         whole_bytes(static_cast<double>(bytes_of_complex(sizes_.precision)) * static_cast<double>(coils) *
                     (voxels() + static_cast<double>(sizes_.samples.all)));
}

template <class T>
std::shared_ptr<const TurnedMaps<T>> turned_maps(const Array<Complex<T>>& maps, const PhaseTerms& terms,
                                                 const PhaseFactors& differences) {
  const Turns<T> turns(terms, differences, maps.device());
  Array<Complex<T>> turn(Shape{maps.extent(1), maps.extent(2), maps.extent(3)}, maps.device());
  TurnedMaps<T> turned;
  for (std::int64_t l = 0; l < differences.count(); ++l) {
    turns.set(l, turn.data());
    apply_maps(turn, maps, turned.emplace_back(maps.shape(), maps.device()));
  }
  return std::make_shared<const TurnedMaps<T>>(std::move(turned));
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> make_field_normal(
    const std::function<Array<Complex<T>>(const Array<double>&)>& point_spread,
    std::shared_ptr<const TurnedMaps<T>> maps, const PhaseFactors& differences, std::int64_t coils_at_once) {
  const std::int64_t samples = differences.weights.extent(1);
  std::vector<std::unique_ptr<HermitianOperator<T>>> terms;  // which see the maps
  for (std::int64_t l = 0; l < differences.count(); ++l) {
    Array<double> weights(Shape{samples});
    for (std::int64_t m = 0; m < samples; ++m) weights[m] = differences.weights[l * samples + m].re;
    const Array<Complex<T>>& of_term = (*maps)[l];
    terms.push_back(
        make_toeplitz_normal<T>(point_spread(weights), one_of(of_term, of_term.shape(), 0), coils_at_once));
  }
  const Shape image = terms.front()->domain();
  const Device device = terms.front()->device();
  return hermitian_operator<T>(image, device,
                               [maps = std::move(maps), terms = std::move(terms),
                                term = Array<Complex<T>>(image, device)](const auto& in, auto& out) mutable {
                                 terms.front()->forward(in, out);
                                 for (std::size_t i = 1; i < terms.size(); ++i) {
                                   terms[i]->forward(in, term);
                                   add_scaled(out, T(1), term);
                                 }
                               });
}

#define FHD_INSTANTIATE(T)                                                                                  \
  template std::shared_ptr<const HeldFactors<T>> held_factors<T>(const PhaseTerms&, const PhaseFactors&,    \
                                                                 Device);                                   \
  template std::shared_ptr<const FourierTransform<T>> make_field_transform<T>(                              \
      std::shared_ptr<const FourierTransform<T>>, std::shared_ptr<const HeldFactors<T>>);                   \
  template std::shared_ptr<const TurnedMaps<T>> turned_maps<T>(const Array<Complex<T>>&, const PhaseTerms&, \
                                                               const PhaseFactors&);                        \
  template std::shared_ptr<const HermitianOperator<T>> make_field_normal<T>(                                \
      const std::function<Array<Complex<T>>(const Array<double>&)>&, std::shared_ptr<const TurnedMaps<T>>,  \
      const PhaseFactors&, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
