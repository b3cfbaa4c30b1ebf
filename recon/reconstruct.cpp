#include "recon/reconstruct.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

#include "recon/array/device.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/coils/sense.hpp"
#include "recon/fourier/cartesian.hpp"
#include "recon/fourier/direct.hpp"
#include "recon/fourier/fourier_transform.hpp"
#include "recon/fourier/gridded.hpp"
#include "recon/fourier/off_resonance.hpp"
#include "recon/fourier/toeplitz.hpp"
#include "recon/memory_plan.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/regularizer.hpp"

namespace fhd {
namespace {

// Pairs of voxels and samples up to which `--transform auto` sums directly: about 10 s on two cores with
// AVX-512, and 10 s on an H100.
constexpr double affordable_pairs_cpu = 1e12, affordable_pairs_cuda = 1e13;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Divides values by the power of two nearest to their largest magnitude, exactly; returns it, or 0 when all
/// are zero.
template <class T>
double bring_near_one(Array<Complex<T>>& values) {
  double largest = 0;
  for (const auto& v : values) largest = std::max({largest, std::abs(double(v.re)), std::abs(double(v.im))});
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest);
  for (auto& v : values) v = {std::scalbn(v.re, -exponent), std::scalbn(v.im, -exponent)};
  return std::scalbn(1.0, exponent);
}

bool same(const Array<double>& a, const Array<double>& b) {
  return a.shape() == b.shape() && std::equal(a.begin(), a.end(), b.begin());
}

void check(const Settings& settings) {
  if (settings.lambda && !(*settings.lambda >= 0 && std::isfinite(*settings.lambda)))
    throw Error("--lambda", "a number >= 0, relative to the largest eigenvalue of F^H F",
                number(*settings.lambda));
  if (!(settings.accuracy > 0 && settings.accuracy <= 0.1))
    throw Error("--accuracy", "a relative error in (0, 0.1]", number(settings.accuracy));
  if (settings.prior && settings.regularizer != RegularizerKind::roughness)
    throw Error("--prior", "--regularizer roughness, whose weights it gives", "--regularizer identity");
  if (settings.iterations < 1) throw Error("--iterations", "at least 1", std::to_string(settings.iterations));
  if (!(settings.tolerance >= 0 && settings.tolerance < 1))
    throw Error("--tolerance", "a relative residual in [0, 1)", number(settings.tolerance));
}

}  // namespace

class Reconstructor::Implementation {
 public:
  virtual ~Implementation() = default;
  virtual Reconstruction reconstruct(const Scan& scan, const ProgressCallback& progress) = 0;
};

template <class T>
class Reconstructor::ImplementationOf final : public Reconstructor::Implementation {
 public:
  explicit ImplementationOf(const Settings& settings) : settings_(settings) {
    if (settings_.method == Method::fft)
      settings_.backend = Backend::cpu;  // one FFT: not worth the way to a GPU
  }

  Reconstruction reconstruct(const Scan& measured, const ProgressCallback& progress) override {
    progress_ = progress;
    report_ = {};
    const bool uses_maps = settings_.method == Method::cg;
    const std::optional<Scan> prepared =
        prepare_coils(measured, settings_.coils, uses_maps, report_, progress);
    const Scan& scan = prepared ? *prepared : measured;
    use_trajectory(scan);
    choose_transform(scan);
    describe_settings();
    plan_memory(scan);

    Array<Complex<T>> samples = converted<Complex<T>>(scan.kspace.values);
    // Data and maps are brought to a largest magnitude near 1 and the image back again: no scale of a scanner
    // or of a map leaves the range of T.
    const double data_unit = bring_near_one(samples);
    if (data_unit == 0) report_.notes.push_back("all k-space values are zero, and so is the image");

    Array<Complex<T>> maps;  // empty without maps
    map_unit_ = 1;
    if (scan.sensitivity_maps) {
      maps = converted<Complex<T>>(scan.sensitivity_maps->values);
      map_unit_ = bring_near_one(maps);
      if (map_unit_ == 0)
        throw Error("sensitivity maps", "values other than zero", "zeros",
                    "leave them out: --coils espirit or none");
    } else if (scan.kspace.coil_count() > 1)
      report_.notes.push_back(
          "no sensitivity maps are used: each coil is reconstructed on its own, the image is their "
          "root of the sum of squares");
    scan_ = &scan;
    corrects_off_resonance_ = decide_off_resonance(scan);

    if (settings_.method == Method::gridded) weight(samples);
    if (settings_.backend == Backend::cuda)
      stage("copy to the device", [&] {
        samples = samples.to(settings_.backend);
        maps = maps.to(settings_.backend);
      });
    Array<Complex<T>> image;
    switch (settings_.method) {
      case Method::cg:
        image = maps.empty() ? solve_each_coil(samples) : solve(make_system(std::move(maps)), samples);
        break;
      case Method::gridded:
        image = combine(gridded_images(samples), maps);
        break;
      case Method::fft:
        image = combine(fft_images(samples), maps);
        break;
      case Method::adjoint:
        image = adjoint_image(samples, maps);
        break;
    }
    const double map_scale = settings_.method == Method::adjoint ? map_unit_ : 1 / map_unit_;
    scale(image, static_cast<T>((data_unit == 0 ? 1 : data_unit) * map_scale));
    if (settings_.backend == Backend::cuda)
      stage("copy from the device", [&] { image = image.to(Backend::cpu); });
    return {crop(image, scan), std::move(report_)};
  }

 private:
  // --- What depends on the trajectory alone
  // ---------------------------------------------------------------------------

  void use_trajectory(const Scan& scan) {
    if (matrix_size_ == scan.geometry.matrix_size && same(trajectory_.k, scan.trajectory.k)) return;
    matrix_size_ = scan.geometry.matrix_size;
    trajectory_ = scan.trajectory;
    transform_.reset();
    point_spread_ = {};
    density_ = {};
  }

  void choose_transform(const Scan& scan) {
    const TransformKind before = kind_;
    choose_kind(scan);
    if (kind_ != before) transform_.reset(), point_spread_ = {};
  }

  void choose_kind(const Scan& scan) {
    kind_ = settings_.transform;
    const double voxels = static_cast<double>(scan.geometry.voxel_count());
    const double pairs = static_cast<double>(trajectory_.sample_count()) * voxels;
    // F^H d and the final residual for every coil, Q on half of the difference grid.
    double difference_points = 1;
    for (int n : difference_grid(matrix_size_)) difference_points *= n;
    pairs_ =
        pairs * 2 * static_cast<double>(scan.kspace.coil_count()) + pairs * difference_points / voxels / 2;
    if (settings_.method == Method::adjoint) pairs_ = pairs * static_cast<double>(scan.kspace.coil_count());
    if (kind_ != TransformKind::automatic || settings_.method == Method::gridded ||
        settings_.method == Method::fft)
      return;
    const double affordable =
        settings_.backend == Backend::cuda ? affordable_pairs_cuda : affordable_pairs_cpu;
    // Explicit products transform twice in every iteration.
    const double factor = settings_.method == Method::cg && settings_.normal == NormalKind::explicit_product
                              ? settings_.iterations
                              : 1;
    kind_ = pairs_ * factor <= affordable ? TransformKind::direct : TransformKind::gridded;
    report_.notes.push_back(
        kind_ == TransformKind::direct
            ? "transform: direct (exact), " + number(pairs_) + " pairs of voxels and samples"
            : "transform: gridded to " + number(settings_.accuracy) + ", because " + number(pairs_ * factor) +
                  " pairs of voxels and samples are too many for the direct sums");
  }

  /// Chooses how many coils go together, and refuses what a GPU cannot hold before it starts.
  void plan_memory(const Scan& scan) {
    if (settings_.backend == Backend::cpu) return;
    const bool gridded = settings_.method == Method::gridded || kind_ == TransformKind::gridded;
    // What is kept from the scan before is part of the plan.
    const auto use = device::memory_use();
    const MemoryPlan plan = plan_device_memory(
        {matrix_size_, trajectory_.sample_count(), scan.kspace.coil_count(),
         scan.sensitivity_maps.has_value(), gridded ? TransformKind::gridded : TransformKind::direct},
        settings_, use.free_bytes + use.used_bytes);
    coils_at_once_ = plan.coils_at_once;
    for (const auto& item : plan.items) report_.device_memory.push_back({item.what, item.bytes});
    report_.device_memory.push_back({"at most together", plan.peak_bytes()});
    if (coils_at_once_ < scan.kspace.coil_count() && scan.sensitivity_maps)
      report_.notes.push_back("GPU memory: " + std::to_string(coils_at_once_) + " of " +
                              std::to_string(scan.kspace.coil_count()) + " coils at a time");
  }

  const std::shared_ptr<const FourierTransform<T>>& transform() {
    if (!transform_) {
      if (kind_ == TransformKind::direct)
        transform_ =
            make_direct_transform<T>(trajectory_, matrix_size_, settings_.backend, settings_.direct_variant);
      else
        transform_ =
            make_gridded_transform<T>(trajectory_, matrix_size_, settings_.accuracy, settings_.backend);
    }
    return transform_;
  }

  const Array<Complex<T>>& point_spread() {
    if (point_spread_.empty())
      stage("Q", [&] {
        point_spread_ = kind_ == TransformKind::direct
                            ? point_spread_direct<T>(trajectory_, matrix_size_, nullptr, settings_.backend,
                                                     settings_.direct_variant)
                            : point_spread_gridded<T>(trajectory_, matrix_size_, nullptr, settings_.accuracy,
                                                      settings_.backend);
      });
    return point_spread_;
  }

  const Array<double>& density() {
    if (density_.empty())
      stage("density compensation",
            [&] { density_ = density_compensation(trajectory_, matrix_size_, settings_.backend); });
    return density_;
  }

  // --- Methods
  // --------------------------------------------------------------------------------------------------------

  /// One coil at a time; the report keeps the residuals of the coil that converged least.
  Array<Complex<T>> solve_each_coil(const Array<Complex<T>>& samples) {
    const std::int64_t coils = samples.extent(0), sample_count = samples.extent(1);
    Array<Complex<T>> ones(Shape{1, matrix_size_[2], matrix_size_[1], matrix_size_[0]});
    std::fill(ones.begin(), ones.end(), Complex<T>(1));
    const System system = make_system(ones.to(settings_.backend));
    Array<Complex<T>> images(Shape{coils, matrix_size_[2], matrix_size_[1], matrix_size_[0]},
                             settings_.backend);
    Array<Complex<T>> one(Shape{1, sample_count}, settings_.backend);
    Report slowest;
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      copy_range(samples, coil * sample_count, one, 0, sample_count);
      const Array<Complex<T>> image = solve(system, one);
      copy_range(image, 0, images, coil * image.size(), image.size());
      if (coil == 0 || report_.relative_residuals.back() > slowest.relative_residuals.back()) {
        slowest.relative_residuals = report_.relative_residuals;
        slowest.converged = report_.converged;
      }
      slowest.data_residual = std::max(slowest.data_residual, report_.data_residual);
    }
    report_.relative_residuals = slowest.relative_residuals;
    report_.data_residual = slowest.data_residual;
    report_.converged = slowest.converged;
    return combine(std::move(images), {});
  }

  /// E and E^H E + lambda W^H W.
  struct System {
    std::shared_ptr<const LinearOperator<T>> encoding;
    std::shared_ptr<const HermitianOperator<T>> normal, regularized;
  };

  System make_system(Array<Complex<T>> coil_maps) {
    System system;
    const auto sense = std::make_shared<SenseEncoding<T>>(transform(), std::move(coil_maps), coils_at_once_);
    const Array<Complex<T>>& maps = sense->maps();
    system.encoding = sense;
    if (corrects_off_resonance_) {
      include_off_resonance(maps, system);
    } else if (settings_.normal == NormalKind::toeplitz) {
      const auto& q = point_spread();
      stage("transfer function", [&] { system.normal = make_toeplitz_normal(q, maps, coils_at_once_); });
    } else {
      system.normal = std::make_shared<ExplicitNormal<T>>(system.encoding);
    }
    double largest = 0, lambda = 0;  // of the maps as they are here, brought near 1
    stage("largest eigenvalue", [&] { largest = largest_eigenvalue(*system.normal); });
    if (settings_.lambda) {
      lambda = *settings_.lambda * largest;
    } else {
      // trace(E^H E) / voxels: every sample meets every voxel with |S|^2.
      const double mean_eigenvalue = static_cast<double>(trajectory_.sample_count()) *
                                     std::pow(norm_l2(maps), 2) /
                                     static_cast<double>(system.encoding->domain().size());
      lambda = default_regularization * mean_eigenvalue;
    }
    report_.largest_eigenvalue = largest * map_unit_ * map_unit_;
    report_.lambda = lambda * map_unit_ * map_unit_;
    if (settings_.regularizer == RegularizerKind::identity)
      system.regularized = std::make_shared<IdentityRegularized<T>>(system.normal, lambda);
    else
      system.regularized =
          std::make_shared<RoughnessRegularized<T>>(system.normal, lambda, roughness_weights());
    return system;
  }

  /// Whether the field map of a scan is used; says why not.
  bool decide_off_resonance(const Scan& scan) {
    if (!scan.field_map) return false;
    const bool flat =
        std::all_of(scan.field_map->begin(), scan.field_map->end(), [](float omega) { return omega == 0; });
    if (flat) return false;
    if (settings_.method != Method::cg)
      report_.notes.push_back(
          "the field map of the scan is not used: only --method cg corrects off-resonance");
    else if (!scan.sample_time_s)
      report_.notes.push_back(
          "the field map of the scan is not used: the scan does not say when its samples were taken");
    return settings_.method == Method::cg && scan.sample_time_s;
  }

  /// E and E^H E with the field map of the scan, in time segments.
  void include_off_resonance(const Array<Complex<T>>& maps, System& system) {
    const Array<float>& field_map = *scan_->field_map;
    const double accuracy = std::max(settings_.accuracy, 1e-6);
    TimeSegments segments, differences;
    stage("time segments", [&] {
      segments = time_segments(field_map, *scan_->sample_time_s, accuracy);
      if (settings_.normal == NormalKind::toeplitz)
        differences = difference_time_segments(field_map, *scan_->sample_time_s, accuracy);
    });
    system.encoding = make_off_resonance_encoding<T>(transform(), maps, field_map, segments);
    std::string note = "off-resonance: " + std::to_string(segments.time_s.size()) + " time segments";
    if (settings_.normal == NormalKind::toeplitz) {
      note += ", " + std::to_string(differences.time_s.size()) + " for the Toeplitz operator";
      const auto kernel = [&](const Array<double>& weights) {
        return kind_ == TransformKind::direct
                   ? point_spread_direct<T>(trajectory_, matrix_size_, &weights, settings_.backend,
                                            settings_.direct_variant)
                   : point_spread_gridded<T>(trajectory_, matrix_size_, &weights, settings_.accuracy,
                                             settings_.backend);
      };
      stage("Q", [&] { system.normal = make_off_resonance_normal<T>(kernel, maps, field_map, differences); });
    } else {
      system.normal = std::make_shared<ExplicitNormal<T>>(system.encoding);
    }
    report_.notes.push_back(note + ", error " + number(std::max(segments.error, differences.error)));
  }

  /// Of the anatomical prior, on the backend; empty without one.
  Array<T> roughness_weights() {
    if (!settings_.prior) return {};
    Array<T> weights;
    stage("anatomical prior", [&] {
      weights = edge_weights<T>(resampled(*settings_.prior, scan_->geometry), settings_.prior_strength)
                    .to(settings_.backend);
    });
    return weights;
  }

  Array<Complex<T>> solve(const System& system, const Array<Complex<T>>& samples) {
    Array<Complex<T>> right_hand_side(system.encoding->domain(), settings_.backend);
    stage("FhD", [&] { system.encoding->adjoint(samples, right_hand_side); });
    Array<Complex<T>> image(system.encoding->domain(), settings_.backend);
    stage("conjugate gradient", [&] {
      const int check_every = settings_.backend == Backend::cuda ? 5 : 1;
      const auto result =
          conjugate_gradient(*system.regularized, right_hand_side, image,
                             {settings_.iterations, settings_.tolerance, check_every}, progress_);
      report_.relative_residuals = result.relative_residuals;
      report_.converged = result.converged;
    });
    stage("data residual", [&] {
      Array<Complex<T>> predicted(samples.shape(), settings_.backend);
      system.encoding->forward(image, predicted);
      add_scaled(predicted, T(-1), samples);
      const double d = norm_l2(samples);
      report_.data_residual = d == 0 ? 0 : norm_l2(predicted) / d;
    });
    return image;
  }

  Array<Complex<T>> adjoint_image(const Array<Complex<T>>& samples, const Array<Complex<T>>& maps) {
    Array<Complex<T>> images(transform()->images_shape(samples.extent(0)), settings_.backend);
    stage("FhD", [&] { transform()->adjoint(samples, images); });
    if (maps.empty()) return combine(std::move(images), {});
    Array<Complex<T>> image(Shape{images.extent(1), images.extent(2), images.extent(3)}, settings_.backend);
    combine_coils(images, maps, image);
    return image;
  }

  /// samples in host memory *= density compensation
  void weight(Array<Complex<T>>& samples) {
    const Array<double>& weights = density();
    const std::int64_t sample_count = samples.extent(1);
    for (std::int64_t i = 0; i < samples.size(); ++i) samples[i] *= static_cast<T>(weights[i % sample_count]);
  }

  Array<Complex<T>> gridded_images(const Array<Complex<T>>& weighted) {
    const auto transform =
        make_gridded_transform<T>(trajectory_, matrix_size_, settings_.accuracy, settings_.backend);
    Array<Complex<T>> images(transform->images_shape(weighted.extent(0)), settings_.backend);
    stage("gridded adjoint", [&] { transform->adjoint(weighted, images); });
    return images;
  }

  Array<Complex<T>> fft_images(const Array<Complex<T>>& samples) {
    Array<Complex<T>> images;
    stage("inverse FFT", [&] { images = inverse_fft_images(trajectory_, matrix_size_, samples); });
    return images;
  }

  /// Coil images -> image: sum conj(S) image / sum |S|^2 with maps (0 where all maps are 0; Roemer et al.,
  /// MRM 16:192 (1990)), root of the sum of squares without.
  Array<Complex<T>> combine(Array<Complex<T>> coil_images, const Array<Complex<T>>& maps) {
    const Shape image_shape{coil_images.extent(1), coil_images.extent(2), coil_images.extent(3)};
    if (maps.empty())
      return coil_images.extent(0) == 1 ? std::move(coil_images).reshaped(image_shape)
                                        : root_sum_of_squares(coil_images);
    Array<Complex<T>> image(image_shape, coil_images.backend());
    combine_coils_normalized(coil_images, maps, image);
    return image;
  }

  // --- Report and geometry
  // --------------------------------------------------------------------------------------------

  template <class Work>
  void stage(const std::string& name, Work work) {
    if (progress_) progress_({name, 0, 1, -1});
    const auto begin = std::chrono::steady_clock::now();
    work();
    if (settings_.backend == Backend::cuda) device::synchronize();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto known = std::find_if(report_.stages.begin(), report_.stages.end(),
                                    [&](const Stage& s) { return s.name == name; });
    if (known != report_.stages.end())
      known->seconds += seconds;
    else
      report_.stages.push_back({name, seconds});
    if (progress_) progress_({name, 1, 1, -1});
  }

  void describe_settings() {
    const auto& s = settings_;
    const char* methods[] = {"cg", "gridded", "adjoint", "fft"};
    auto& list = report_.settings;
    list.emplace_back("method", methods[static_cast<int>(s.method)]);
    list.emplace_back("device", s.backend == Backend::cpu ? "cpu" : "cuda");
    list.emplace_back("precision", s.precision == Precision::single_precision ? "single" : "double");
    if (s.method == Method::cg || s.method == Method::adjoint)
      list.emplace_back("transform", kind_ == TransformKind::direct ? "direct" : "gridded");
    if (s.method != Method::fft && !(kind_ == TransformKind::direct && s.method != Method::gridded))
      list.emplace_back("accuracy", number(s.accuracy));
    if (s.backend == Backend::cuda && kind_ == TransformKind::direct && s.method != Method::gridded)
      list.emplace_back("sin and cos", s.direct_variant == DirectVariant::fast ? "fast" : "accurate");
    if (s.method == Method::cg) {
      list.emplace_back("normal", s.normal == NormalKind::toeplitz ? "toeplitz" : "explicit");
      list.emplace_back("regularizer", s.regularizer == RegularizerKind::identity ? "identity" : "roughness");
      list.emplace_back("lambda", s.lambda ? number(*s.lambda)
                                           : number(default_regularization) + " of the mean eigenvalue");
      list.emplace_back("iterations", std::to_string(s.iterations));
      list.emplace_back("tolerance", number(s.tolerance));
    }
  }

  Image crop(const Array<Complex<T>>& full, const Scan& scan) {
    Image image;
    image.geometry = scan.geometry;
    std::array<int, 3> first{};
    for (int axis = 0; axis < 3; ++axis) {
      const int n = scan.geometry.matrix_size[axis], wanted = scan.cropped_matrix_size[axis];
      if (wanted == 0 || wanted == n) continue;
      first[axis] = n / 2 - wanted / 2;  // the centre voxel floor(N/2) stays at the centre
      image.geometry.matrix_size[axis] = wanted;
      image.geometry.fov_mm[axis] *= static_cast<double>(wanted) / n;
    }
    image.values = Array<Complex<float>>(image.geometry.image_shape());
    const auto [nx, ny, nz] = image.geometry.matrix_size;
    for (std::int64_t z = 0; z < nz; ++z)
      for (std::int64_t y = 0; y < ny; ++y)
        for (std::int64_t x = 0; x < nx; ++x)
          image.values[(z * ny + y) * nx + x] = Complex<float>(
              full[((z + first[2]) * full.extent(1) + y + first[1]) * full.extent(2) + x + first[0]]);
    for (const auto& v : image.values)
      if (!std::isfinite(v.re) || !std::isfinite(v.im))
        throw Error("reconstruction", "finite voxels", "NaN or infinity",
                    "use --precision double, or a larger --lambda");
    return image;
  }

  Settings settings_;
  const Scan* scan_ = nullptr;  ///< being reconstructed
  bool corrects_off_resonance_ = false;
  double map_unit_ = 1;  ///< the maps of the scan are the maps used times this
  ProgressCallback progress_;
  Report report_;
  TransformKind kind_ = TransformKind::direct;
  double pairs_ = 0;
  std::int64_t coils_at_once_ = 0;  ///< 0: all
  std::array<int, 3> matrix_size_{0, 0, 0};
  Trajectory trajectory_;
  std::shared_ptr<const FourierTransform<T>> transform_;
  Array<Complex<T>> point_spread_;
  Array<double> density_;
};

Reconstructor::Reconstructor(const Settings& settings) {
  check(settings);
  if (settings.precision == Precision::single_precision)
    implementation_ = std::make_unique<ImplementationOf<float>>(settings);
  else
    implementation_ = std::make_unique<ImplementationOf<double>>(settings);
}
Reconstructor::~Reconstructor() = default;

Reconstruction Reconstructor::operator()(const Scan& scan, const ProgressCallback& progress) {
  scan.validate("scan");
  return implementation_->reconstruct(scan, progress);
}

Reconstruction reconstruct(const Scan& scan, const Settings& settings, const ProgressCallback& progress) {
  return Reconstructor(settings)(scan, progress);
}

}  // namespace fhd
