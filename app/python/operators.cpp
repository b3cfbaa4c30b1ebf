// F, F S and their normal operators on arrays of Python. The first array on a device and in a precision makes what it
// needs; later ones use it again.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "app/python/arrays.hpp"
#include "app/python/long_work.hpp"
#include "recon/array/device.hpp"
#include "recon/domain/scan.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/phase/phase.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/transform.hpp"

namespace fhd::python {
namespace {

/// One object for each device and precision, made on demand by make(device).
template <template <class> class Thing>
class OfEach {
 public:
  template <class T, class Make>
  std::shared_ptr<const Thing<T>> get(Device device, const Make& make) {
    auto& made = std::get<std::map<int, std::shared_ptr<const Thing<T>>>>(made_)[device.number()];
    if (!made) made = make();
    return made;
  }

 private:
  std::tuple<std::map<int, std::shared_ptr<const Thing<float>>>,
             std::map<int, std::shared_ptr<const Thing<double>>>>
      made_;
};

/// Starts a GPU before the first array of it is used.
class InUse {
 public:
  explicit InUse(Device device) : device_(device), current_((begin_work(), start(device), device)) {}
  /// The results are complete: whoever reads them next may be on another stream.
  void finish() const {
    if (device_.is_cuda()) device::synchronize(device_);
  }

 private:
  static void start(Device device) {
    if (device.is_cpu()) return;
    if constexpr (!built_with_cuda) refuse_cuda();
    static std::mutex mutex;
    static std::map<int, bool> started;
    const std::lock_guard lock(mutex);
    if (auto& is_started = started[device.number()]; !is_started) {
      device::start(device);
      is_started = true;
    }
  }

  Device device_;
  CurrentDevice current_;
};

/// The transform of one trajectory, by exact sums or gridding to an accuracy; or exact sums of phases of any form.
class Transform {
 public:
  Transform(const AnyArray& trajectory, std::array<int, 3> matrix_size, std::optional<double> accuracy)
      : matrix_size_(matrix_size), accuracy_(accuracy) {
    begin_work();
    if (trajectory.ndim() != 2 || trajectory.shape(0) != 3)
      throw Error("trajectory", "[axis][sample] with the axes x, y, z", text_of(trajectory));
    trajectory_.k = copy_of<double, double>(trajectory, {3, static_cast<std::int64_t>(trajectory.shape(1))},
                                            "trajectory", "float64");
    for (const int n : matrix_size)
      if (n < 1) throw Error("shape", "sizes >= 1", std::to_string(n));
    require_trajectory(trajectory_);
    require_positions(trajectory_, matrix_size, "");
    sample_count_ = trajectory_.sample_count();
  }
  /// coefficients [term][sample], basis [term][voxel]; decay [voxel] in 1/s and sample times [sample] in s, or neither; second
  /// decay and fraction of the first, [voxel], or neither.
  Transform(const AnyArray& coefficients, const AnyArray& basis, const std::optional<AnyArray>& decay,
            const std::optional<AnyArray>& sample_time, const std::optional<AnyArray>& second_decay,
            const std::optional<AnyArray>& fraction, std::array<int, 3> matrix_size)
      : matrix_size_(matrix_size) {
    begin_work();
    const auto copied = [](const AnyArray& array, const char* name) {
      const auto size = [&](std::size_t axis) { return static_cast<std::int64_t>(array.shape(axis)); };
      return copy_of<double, double>(array, array.ndim() == 2 ? Shape{size(0), size(1)} : Shape{size(0)},
                                     name, "float64");
    };
    PhaseTerms terms{copied(coefficients, "coefficients"), copied(basis, "basis"), {}, {}};
    if (decay) terms.decay_per_s = copied(*decay, "decay");
    if (sample_time) terms.sample_time_s = copied(*sample_time, "sample times");
    if (second_decay) terms.second_decay_per_s = copied(*second_decay, "decay of the second component");
    if (fraction) terms.fraction = copied(*fraction, "fraction of decay");
    require_phase_terms(terms, matrix_size);
    sample_count_ = terms.coefficients.extent(1);
    terms_ = std::move(terms);
  }

  template <class T>
  std::shared_ptr<const FourierTransform<T>> of(Device device) {
    return made_.get<T>(device, [&]() -> std::shared_ptr<const FourierTransform<T>> {
      if (terms_) return make_phase_transform<T>(*terms_, matrix_size_, device);
      if (accuracy_) return make_gridded_transform<T>(trajectory_, matrix_size_, *accuracy_, device);
      return make_direct_transform<T>(trajectory_, matrix_size_, device);
    });
  }
  template <class T>
  Array<Complex<T>> point_spread(const Array<double>* weights, Device device) const {
    if (accuracy_) return point_spread_gridded<T>(trajectory_, matrix_size_, weights, *accuracy_, device);
    return point_spread_direct<T>(trajectory_, matrix_size_, weights, device);
  }
  template <class T>
  static void run(const FourierTransform<T>& made, Array<Complex<T>>& images, Array<Complex<T>>& samples,
                  bool adjoint) {
    if (adjoint)
      made.adjoint(samples, images);
    else
      made.forward(images, samples);
  }
  Transform& transform() { return *this; }
  Shape range(std::int64_t batch) const { return {batch, sample_count()}; }
  std::array<int, 3> matrix_size() const { return matrix_size_; }
  std::int64_t sample_count() const { return sample_count_; }
  Array<double> density_weights() const { return density_compensation(trajectory_, matrix_size_); }
  /// Returns the relative l2 error that is promised for that precision on that device.
  double accuracy(bool in_double, int device) {
    const InUse in_use(device < 0 ? Device::cpu() : Device::cuda(device));
    const auto where = device < 0 ? Device::cpu() : Device::cuda(device);
    const std::lock_guard lock(mutex);
    return in_double ? of<double>(where)->cost().accuracy() : of<float>(where)->cost().accuracy();
  }

  std::mutex mutex;  ///< one call at a time: transforms share their scratch

 private:
  Trajectory trajectory_;
  std::optional<PhaseTerms> terms_;  ///< in place of the trajectory
  std::int64_t sample_count_ = 0;
  std::array<int, 3> matrix_size_;
  std::optional<double> accuracy_;
  OfEach<FourierTransform> made_;
};

/// Copies on each device, and in each precision, of maps [coil][z][y][x] in host memory.
template <class T>
Array<Complex<T>> maps_on(const Array<Complex<double>>& maps, Device device) {
  return converted<Complex<T>>(maps).to(device);
}

Array<Complex<double>> maps_of(const AnyArray& maps, std::array<int, 3> n) {
  if (maps.ndim() != 4) throw Error("maps", "[coil][z][y][x]", text_of(maps));
  return copy_of<Complex<double>, std::complex<double>>(
      maps, {static_cast<std::int64_t>(maps.shape(0)), n[2], n[1], n[0]}, "maps", "complex128");
}

/// E = F S.
class Sense {
 public:
  Sense(std::shared_ptr<Transform> transform, const AnyArray& maps)
      : transform_((begin_work(), std::move(transform))), maps_(maps_of(maps, transform_->matrix_size())) {}
  Transform& transform() { return *transform_; }
  Shape range(std::int64_t batch) const { return {batch, maps_.extent(0), transform_->sample_count()}; }
  template <class T>
  std::shared_ptr<const SenseEncoding<T>> of(Device device) {
    return made_.get<T>(device, [&] {
      return std::make_shared<const SenseEncoding<T>>(transform_->of<T>(device), maps_on<T>(maps_, device));
    });
  }
  template <class T>
  static void run(const SenseEncoding<T>& made, Array<Complex<T>>& images, Array<Complex<T>>& samples,
                  bool adjoint) {
    for (std::int64_t i = 0; i < images.extent(0); ++i) {
      auto image = one_of(images, made.domain(), i);
      auto data = one_of(samples, made.range(), i);
      if (adjoint)
        made.adjoint(data, image);
      else
        made.forward(image, data);
    }
  }

 private:
  std::shared_ptr<Transform> transform_;
  Array<Complex<double>> maps_;
  OfEach<SenseEncoding> made_;
};

/// sum over coils of conj(S_c) F^H W F S_c by its point spread; no maps: one coil of ones.
class Normal {
 public:
  Normal(std::shared_ptr<Transform> transform, const std::optional<AnyArray>& maps,
         const std::optional<AnyArray>& weights)
      : transform_((begin_work(), std::move(transform))) {
    const auto n = transform_->matrix_size();
    if (maps) {
      maps_ = maps_of(*maps, n);
    } else {
      maps_ = Array<Complex<double>>(Shape{1, n[2], n[1], n[0]});
      for (auto& value : maps_) value = 1.0;
    }
    if (!weights) return;
    weights_ = copy_of<double, double>(*weights, {transform_->sample_count()}, "weights", "float64");
    for (const double weight : *weights_)
      if (!(weight >= 0 && weight < 1e300))
        throw Error("weights", "finite numbers >= 0", std::to_string(weight));
  }
  Transform& transform() { return *transform_; }
  template <class T>
  std::shared_ptr<const ToeplitzNormal<T>> of(Device device) {
    return made_.get<T>(device, [&]() -> std::shared_ptr<const ToeplitzNormal<T>> {
      const auto q = transform_->point_spread<T>(weights_ ? &*weights_ : nullptr, device);
      return make_toeplitz_normal<T>(q, maps_on<T>(maps_, device));
    });
  }
  Shape range(std::int64_t batch) const {
    const auto n = transform_->matrix_size();
    return {batch, n[2], n[1], n[0]};
  }
  template <class T>
  static void run(const ToeplitzNormal<T>& made, Array<Complex<T>>& images, Array<Complex<T>>& results,
                  bool) {
    made.forward_each(images, results);
  }

 private:
  std::shared_ptr<Transform> transform_;
  Array<Complex<double>> maps_;
  std::optional<Array<double>> weights_;
  OfEach<ToeplitzNormal> made_;
};

/// Applies a map to images [batch][z][y][x] and what it makes of them, or is made of: both contiguous, of one precision, on one
/// device. Writes the images if `adjoint`, else the others.
template <class Map>
void apply(Map& map, const AnyArray& images, const AnyArray& others, bool adjoint) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const auto n = map.transform().matrix_size();
    const auto batch = static_cast<std::int64_t>(images.size()) / Shape{n[2], n[1], n[0]}.size();
    auto all_images = view_of<T>(images, {batch, n[2], n[1], n[0]}, "image");
    auto all_others = view_of<T>(others, map.range(batch), "samples");
    const Device device = device_of(images);
    run_interruptibly([&] {
      const InUse in_use(device);
      const std::lock_guard lock(map.transform().mutex);
      Map::run(*map.template of<T>(device), all_images, all_others, adjoint);
      in_use.finish();
    });
  };
  if (is_double(images, "image"))
    run(0.0);
  else
    run(0.0F);
}

}  // namespace

void bind_operators(nb::module_& module) {
  const auto any = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<Transform>(module, "Transform")
      .def(nb::init<const AnyArray&, std::array<int, 3>, std::optional<double>>(), any("trajectory"),
           nb::arg("matrix_size"), nb::arg("accuracy").none())
      .def(nb::init<const AnyArray&, const AnyArray&, const std::optional<AnyArray>&,
                    const std::optional<AnyArray>&, const std::optional<AnyArray>&,
                    const std::optional<AnyArray>&, std::array<int, 3>>(),
           any("coefficients"), any("basis"), any("decay").none(), any("sample_time").none(),
           any("second_decay").none(), any("fraction").none(), nb::arg("matrix_size"))
      .def_prop_ro("sample_count", &Transform::sample_count)
      .def("accuracy", &Transform::accuracy, nb::arg("in_double"), nb::arg("device"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("density_weights",
           [](const Transform& transform) {
             begin_work();
             Array<double> weights;
             run_interruptibly([&] { weights = transform.density_weights(); });
             return to_numpy(std::move(weights));
           })
      .def("apply", &apply<Transform>, any("images"), any("samples"), nb::arg("adjoint"));
  nb::class_<Sense>(module, "Sense")
      .def(nb::init<std::shared_ptr<Transform>, const AnyArray&>(), nb::arg("transform"), any("maps"))
      .def("apply", &apply<Sense>, any("images"), any("samples"), nb::arg("adjoint"));
  nb::class_<Normal>(module, "Normal")
      .def(nb::init<std::shared_ptr<Transform>, const std::optional<AnyArray>&,
                    const std::optional<AnyArray>&>(),
           nb::arg("transform"), nb::arg("maps").noconvert().none(), nb::arg("weights").noconvert().none())
      .def("apply", &apply<Normal>, any("images"), any("samples"), nb::arg("adjoint") = false);
}

}  // namespace fhd::python
