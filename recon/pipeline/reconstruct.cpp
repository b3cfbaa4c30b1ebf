#include "recon/pipeline/reconstruct.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>

#include "recon/array/device.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/coils/noise.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/pipeline/cost_model.hpp"
#include "recon/transform/cartesian.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/transform.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/encoding/off_resonance.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/pipeline/memory_plan.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/regularizer.hpp"
#include "recon/encoding/process_group.hpp"

namespace fhd {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Of real and imaginary parts.
template <class T>
double largest_magnitude(const Array<Complex<T>>& values) {
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (std::int64_t i = 0; i < values.size(); ++i)
    largest = std::max({largest, std::abs(double(values[i].re)), std::abs(double(values[i].im))});
  return largest;
}

/// Divides values by the power of two nearest to their largest magnitude, exactly; returns it, or 0 when all
/// are zero. Of a team: the largest of any process, where each has a part of the values.
template <class T>
double bring_near_one(Array<Complex<T>>& values, const ProcessGroup* team = nullptr) {
  double largest = largest_magnitude(values);
  if (team) {
    std::vector<double> of_rank(static_cast<std::size_t>(team->size()));
    of_rank[static_cast<std::size_t>(team->rank())] = largest;
    team->sum(of_rank.data(), team->size());
    largest = *std::max_element(of_rank.begin(), of_rank.end());
  }
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest);
  // In halves: 2^-exponent itself may be beyond the range of double where the values are denormal.
  const double half = std::scalbn(1.0, -exponent / 2), rest = std::scalbn(1.0, -exponent + exponent / 2);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i) {
    Complex<T>& v = values.data()[i];
    v = {static_cast<T>(double(v.re) * half * rest), static_cast<T>(double(v.im) * half * rest)};
  }
  return std::scalbn(1.0, exponent);
}

/// [row][column] -> [row][columns of the share]
template <class T>
Array<T> columns(const Array<T>& values, const Share& share) {
  const std::int64_t rows = values.extent(0), count = values.extent(1);
  Array<T> part(Shape{rows, share.size()});
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(values.data() + row * count + share.first, share.size(), part.data() + row * share.size());
  return part;
}

std::int64_t strongest_coil(const KSpace& kspace) {
  std::int64_t strongest = 0;
  double most = -1;
  for (std::int64_t coil = 0; coil < kspace.coil_count(); ++coil) {
    double energy = 0;
    for (std::int64_t m = 0; m < kspace.sample_count(); ++m)
      energy += norm(Complex<double>(kspace.values[coil * kspace.sample_count() + m]));
    if (energy > most) most = energy, strongest = coil;
  }
  return strongest;
}

/// [coil][z][y][x] -> [coil][y][x] at z = floor(N/2).
Array<Complex<float>> middle_slice(const Array<Complex<float>>& maps) {
  const std::int64_t coils = maps.extent(0), nz = maps.extent(1), pixels = maps.extent(2) * maps.extent(3);
  Array<Complex<float>> slice(Shape{coils, maps.extent(2), maps.extent(3)});
  for (std::int64_t coil = 0; coil < coils; ++coil)
    std::copy_n(maps.data() + (coil * nz + nz / 2) * pixels, pixels, slice.data() + coil * pixels);
  return slice;
}

/// |q| / |q(0)| where the difference along z is 0, [y][x] with the difference 0 in the middle. |q(0)| is the
/// largest.
template <class T>
Array<float> central_plane(const Array<Complex<T>>& point_spread) {
  const std::int64_t ny = point_spread.extent(1), nx = point_spread.extent(2);
  Array<Complex<T>> plane(Shape{ny, nx}, point_spread.device());
  copy_range(point_spread, 0, plane, 0, plane.size());
  plane = plane.to(Device::cpu());
  Array<float> centred(Shape{ny, nx});
  const double largest = abs(plane[0]);
  for (std::int64_t y = 0; y < ny; ++y)
    for (std::int64_t x = 0; x < nx; ++x)
      centred[(y + ny / 2) % ny * nx + (x + nx / 2) % nx] =
          largest == 0 ? 0.0F : static_cast<float>(abs(plane[y * nx + x]) / largest);
  return centred;
}

bool same(const Array<double>& a, const Array<double>& b) {
  return a.shape() == b.shape() && std::equal(a.begin(), a.end(), b.begin());
}

void check(const Settings& settings) {
  if (settings.lambda && !(*settings.lambda >= 0 && std::isfinite(*settings.lambda)))
    throw Error("--lambda", "a number >= 0, relative to the largest eigenvalue of F^H F",
                number(*settings.lambda));
  if (settings.lambda && settings.lambda_from_noise) throw Error("--lambda", "a number or auto", "both");
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
      settings_.device = Device::cpu();  // one FFT: not worth the way to a GPU
  }

  Reconstruction reconstruct(const Scan& measured, const ProgressCallback& progress) override {
    begin_ = std::chrono::steady_clock::now();
    progress_ = progress;
    report_ = {};
    diagnostic_images_ = {};
    verified_ = false;
    q_is_new_ = false;
    require_team_can(measured);
    const bool uses_maps = settings_.method == Method::cg;
    std::optional<Scan> prepared = prepare_coils(measured, settings_.coils, uses_maps, report_, progress);
    const Scan& scan = prepared ? *prepared : measured;
    use_trajectory(scan);
    choose_transform(scan);
    describe_settings();
    plan_memory(scan);

    Array<Complex<T>> samples = converted<Complex<T>>(scan.kspace.values);
    if (settings_.team) samples = columns(samples, share_of(sample_count_, *settings_.team));
    // Data and maps are brought to a largest magnitude near 1 and the image back again: no scale of a scanner
    // or of a map leaves the range of T.
    data_unit_ = bring_near_one(samples, settings_.team.get());
    if (data_unit_ == 0) report_.notes.push_back("all k-space values are zero, and so is the image");

    corrects_off_resonance_ = decide_off_resonance(scan);
    if (system_ && !system_fits(scan)) system_.reset();
    Array<Complex<T>> maps;  // empty without maps, and where the system that is kept has them
    if (!system_) map_unit_ = 1;
    if (scan.sensitivity_maps && !system_) {
      maps = converted<Complex<T>>(scan.sensitivity_maps->values);
      map_unit_ = bring_near_one(maps);
      if (map_unit_ == 0)
        throw Error("sensitivity maps", "values other than zero", "zeros",
                    "leave them out: --coils espirit or none");
    } else if (!scan.sensitivity_maps && scan.kspace.coil_count() > 1)
      report_.notes.push_back(
          "no sensitivity maps are used: each coil is reconstructed on its own, the image is their "
          "root of the sum of squares");
    scan_ = &scan;
    if (scan.sensitivity_maps) diagnostic_images_.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
    const std::int64_t measurements = sample_count_ * scan.kspace.coil_count();
    if (settings_.method == Method::cg && measurements < scan.geometry.voxel_count())
      report_.notes.push_back(std::to_string(scan.geometry.voxel_count()) + " voxels are sought from " +
                              std::to_string(measurements) +
                              " measured values: lambda decides what the data leave open");

    if (settings_.method == Method::gridded) weight(samples);
    if (settings_.device.is_cuda())
      stage("copy to the device", [&] {
        samples = samples.to(settings_.device);
        maps = maps.to(settings_.device);
      });
    Array<Complex<T>> image;
    switch (settings_.method) {
      case Method::cg:
        if (scan.sensitivity_maps)
          image = solve(system_for(std::move(maps)), samples);
        else
          image = solve_each_coil(samples);
        prediction_.reset();
        if (!system_->fits_others) system_.reset();
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
    scale(image, static_cast<T>((data_unit_ == 0 ? 1 : data_unit_) * map_scale));
    if (settings_.device.is_cuda())
      stage("copy from the device", [&] { image = image.to(Device::cpu()); });
    if (settings_.device.is_cuda()) report_.device_peak_bytes = device::memory_use(settings_.device).peak_bytes;
    if (!point_spread_.empty() && !q_is_new_) ++report_.trajectory_hits;
    Image cropped = crop(image, scan);
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    return {std::move(cropped), std::move(report_), std::move(diagnostic_images_), std::move(prepared)};
  }

 private:
  /// A team sums images; what needs all samples in one process is left to a single one.
  void require_team_can(const Scan& scan) const {
    if (!settings_.team) return;
    const char* alone = "run it as one process";
    if (settings_.method != Method::cg || settings_.normal != NormalKind::toeplitz)
      throw Error("a reconstruction by several processes", "--method cg with --normal toeplitz",
                  "another method", alone);
    if (scan.field_map && scan.sample_time_s)
      throw Error("a reconstruction by several processes", "a scan without a field map", "one with it",
                  alone);
    if (scan.trajectory.sample_count() < settings_.team->size())
      throw Error("a reconstruction by several processes", "at least one sample for each",
                  std::to_string(scan.trajectory.sample_count()) + " samples", alone);
  }

  // --- What depends on the trajectory alone
  // ---------------------------------------------------------------------------

  void use_trajectory(const Scan& scan) {
    sample_count_ = scan.trajectory.sample_count();
    if (matrix_size_ == scan.geometry.matrix_size && same(trajectory_.k, scan.trajectory.k)) return;
    matrix_size_ = scan.geometry.matrix_size;
    if (settings_.team)
      trajectory_.k = columns(scan.trajectory.k, share_of(sample_count_, *settings_.team));
    else
      trajectory_ = scan.trajectory;
    transform_.reset();
    prediction_.reset();
    point_spread_ = {};
    density_ = {};
    system_.reset();
  }

  void choose_transform(const Scan& scan) {
    const TransformKind before = kind_;
    choose_kind(scan);
    if (kind_ != before) transform_.reset(), point_spread_ = {}, system_.reset();
  }

  void choose_kind(const Scan& scan) {
    kind_ = settings_.transform;
    if (kind_ != TransformKind::automatic || settings_.method == Method::gridded ||
        settings_.method == Method::fft)
      return;
    const double affordable = affordable_pairs(settings_.device);
    const std::int64_t coils = scan.kspace.coil_count();
    SampleCount samples{sample_count_, sample_count_, sample_count_};
    double pairs = direct_pairs(settings_, matrix_size_, samples, coils);
    if (pairs > affordable && !settings_.team) {  // unless samples share positions
      samples = count_samples(trajectory_);
      pairs = direct_pairs(settings_, matrix_size_, samples, coils);
    }
    kind_ = pairs <= affordable ? TransformKind::direct : TransformKind::gridded;
    report_.notes.push_back(
        kind_ == TransformKind::direct
            ? "transform: direct (exact), " + number(pairs) + " pairs of voxels and samples" +
                  (samples.x < samples.all ? " that differ" : "")
            : "transform: gridded to " + number(settings_.accuracy) + ", because " + number(pairs) +
                  " pairs of voxels and samples are too many for the direct sums");
  }

  /// Chooses how many coils go together, and refuses what a GPU cannot hold before it starts.
  void plan_memory(const Scan& scan) {
    if (settings_.device.is_cpu()) return;
    const bool gridded = settings_.method == Method::gridded || kind_ == TransformKind::gridded;
    // What is kept from the scan before is part of the plan.
    device::reset_peak_memory(settings_.device);
    const auto use = device::memory_use(settings_.device);
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
            make_direct_transform<T>(trajectory_, matrix_size_, settings_.device, settings_.direct_variant);
      else
        transform_ =
            make_gridded_transform<T>(trajectory_, matrix_size_, settings_.accuracy, settings_.device);
    }
    return transform_;
  }

  /// What the data residual is predicted with.
  const FourierTransform<T>& prediction() {
    if (kind_ == TransformKind::gridded || !predicts_by_gridding(settings_)) return *transform();
    if (!prediction_)
      prediction_ =
          make_gridded_transform<T>(trajectory_, matrix_size_, prediction_accuracy, settings_.device);
    return *prediction_;
  }

  const Array<Complex<T>>& point_spread() {
    if (point_spread_.empty())
      stage("Q", [&] {
        q_is_new_ = true;
        const auto n = difference_grid(matrix_size_);
        point_spread_ = kept<Complex<T>>(
            "Q, " + transform_in_words(), {n[2], n[1], n[0]}, settings_.device,
            [&] {
              return kind_ == TransformKind::direct
                         ? point_spread_direct<T>(trajectory_, matrix_size_, nullptr, settings_.device,
                                                  settings_.direct_variant)
                         : point_spread_gridded<T>(trajectory_, matrix_size_, nullptr, settings_.accuracy,
                                                   settings_.device);
            },
            [&](const Array<Complex<T>>& q) { return is_point_spread(q); });
        if (settings_.team) sum_over(*settings_.team, point_spread_);
      });
    return point_spread_;
  }

  const Array<double>& density() {
    if (!density_.empty())
      ++report_.trajectory_hits;
    else
      stage("density compensation", [&] {
        density_ = kept<double>(
            "density compensation", {trajectory_.sample_count()}, Device::cpu(),
            [&] { return density_compensation(trajectory_, matrix_size_, settings_.device); },
            [](const Array<double>& weights) {
              return std::all_of(weights.begin(), weights.end(), [](double w) { return std::isfinite(w); });
            });
      });
    return density_;
  }

  /// From the trajectory cache, where it is known and right, else made and given to the cache.
  template <class Element, class Make, class IsRight>
  Array<Element> kept(const std::string& what, const Shape& shape, Device device, Make make,
                      IsRight is_right) {
    const auto& cache = settings_.trajectory_cache;
    if (!cache) return make();
    const TrajectoryProduct product{trajectory_, matrix_size_, what};
    Array<Element> values(shape);
    const auto bytes = static_cast<std::size_t>(values.size()) * sizeof(Element);
    if (cache->load(product, values.data(), bytes)) {
      if (is_right(values)) {
        ++report_.trajectory_hits;
        report_.notes.push_back(what.substr(0, what.find(',')) + " is taken from the cache");
        return device.is_cpu() ? std::move(values) : values.to(device);
      }
      cache->forget(product);
      report_.notes.push_back(what.substr(0, what.find(',')) +
                              " in the cache is not that of this trajectory: made again");
    }
    Array<Element> made = make();
    if (device.is_cpu()) {
      cache->store(product, made.data(), bytes);
    } else {
      values = made.to(Device::cpu());
      cache->store(product, values.data(), bytes);
    }
    return made;
  }

  /// Everything that decides the digits of a transform.
  std::string transform_in_words() const {
    std::string words = settings_.precision == Precision::single_precision ? "single" : "double";
    words += settings_.device.is_cpu() ? ", cpu" : ", cuda";
    if (kind_ == TransformKind::gridded) {
      char text[48];
      std::snprintf(text, sizeof text, ", gridded %.17g", settings_.accuracy);
      return words + text;
    }
    return words + (settings_.direct_variant == SinCos::fast ? ", direct" : ", direct accurate");
  }

  /// What a direct transform promises (fourier_transform.hpp), or what was asked of a gridded one.
  double promised_accuracy() const {
    const bool gridded = kind_ == TransformKind::gridded || settings_.method == Method::gridded;
    const double direct = settings_.precision == Precision::single_precision ? 3e-5 : 1e-12;
    return gridded ? std::max(settings_.accuracy, direct) : direct;
  }

  /// Whether values from outside are q: at the origin, where it is the number of samples, and at 31 other
  /// differences against the direct sum in double precision. The error is judged against q at the origin, the
  /// largest value: what a transform promises is relative to a norm of q, which is no larger.
  bool is_point_spread(const Array<Complex<T>>& q) const {
    constexpr std::int64_t checked = 32;
    Array<double> differences(Shape{3, checked});
    std::array<std::int64_t, checked> at{};
    std::mt19937 generator(1908);
    const auto n = difference_grid(matrix_size_);
    for (std::int64_t i = 1; i < checked; ++i)
      for (int axis = 2; axis >= 0; --axis) {
        // n = -N is left out: no pair of voxels reaches it, and q is zero there by definition.
        const int size = matrix_size_[axis];
        int index = size == 1 ? 0 : static_cast<int>(generator() % static_cast<unsigned>(2 * size - 1));
        const int difference = index < size ? index : index - (2 * size - 1);
        index = difference < 0 ? difference + 2 * size : difference;
        differences[axis * checked + i] = static_cast<double>(difference) / size;
        at[static_cast<std::size_t>(i)] = at[static_cast<std::size_t>(i)] * n[axis] + index;
      }
    Array<Complex<double>> ones(Shape{1, trajectory_.sample_count()});
    std::fill(ones.begin(), ones.end(), Complex<double>(1));
    const auto expected = general_sum<double>(trajectory_.k, differences, +1, ones);
    const double largest = abs(expected[0]);
    double worst = 0;
    for (std::int64_t i = 0; i < checked; ++i) {
      const auto found = Complex<double>(q[at[static_cast<std::size_t>(i)]]);
      if (!std::isfinite(found.re) || !std::isfinite(found.im)) return false;
      worst = std::max(worst, abs(found - expected[i]));
    }
    return worst <= promised_accuracy() * largest;
  }

  // --- Methods
  // --------------------------------------------------------------------------------------------------------

  /// One coil at a time, the strongest first: it decides lambda where that is searched, and is the one that
  /// is inspected. The report keeps the residuals of the coil that converged least.
  Array<Complex<T>> solve_each_coil(const Array<Complex<T>>& samples) {
    const std::int64_t coils = samples.extent(0), sample_count = samples.extent(1);
    Array<Complex<T>> ones(Shape{1, matrix_size_[2], matrix_size_[1], matrix_size_[0]});
    std::fill(ones.begin(), ones.end(), Complex<T>(1));
    System& system = system_for(ones.to(settings_.device));
    Array<Complex<T>> images(Shape{coils, matrix_size_[2], matrix_size_[1], matrix_size_[0]},
                             settings_.device);
    Array<Complex<T>> one(Shape{1, sample_count}, settings_.device);
    Report slowest;
    const std::int64_t strongest = strongest_coil(scan_->kspace);
    for (std::int64_t i = 0; i < coils; ++i) {
      const std::int64_t coil = i == 0 ? strongest : i <= strongest ? i - 1 : i;
      copy_range(samples, coil * sample_count, one, 0, sample_count);
      const Array<Complex<T>> image = solve(system, one, coil);
      copy_range(image, 0, images, coil * image.size(), image.size());
      if (i == 0 || report_.relative_residuals.back() > slowest.relative_residuals.back()) {
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
    std::shared_ptr<const Encoding<T>> encoding;
    std::shared_ptr<const SenseEncoding<T>> sense;  ///< with the maps, as they are here
    bool has_maps = false;                          ///< of the scan, or ones
    bool fits_others = false;                       ///< with the same trajectory and maps
    std::shared_ptr<const HermitianOperator<T>> normal, regularized;
    double largest = 0, mean = 0;  ///< eigenvalues of `normal`, of the maps as they are here, brought near 1
    std::optional<double> lambda{};  ///< empty until it has been searched
    Array<T> weights{};              ///< of the roughness, empty for 1
  };

  /// Whether the kept system, which is that of the trajectory, is that of the maps of `scan` too.
  bool system_fits(const Scan& scan) const {
    if (!system_->fits_others || corrects_off_resonance_) return false;
    if (system_->has_maps != scan.sensitivity_maps.has_value()) return false;
    if (!system_->has_maps) return true;
    const auto& values = scan.sensitivity_maps->values;
    const Array<Complex<T>>& kept = system_->sense->maps();
    if (values.shape() != kept.shape()) return false;
    const double unit = 1 / map_unit_;  // a power of two: products are exact
    std::int64_t different = 0;
#pragma omp parallel for schedule(static) reduction(+ : different)
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const auto& v = values.data()[i];
      const auto& k = kept.data()[i];
      different += static_cast<T>(v.re * unit) != k.re || static_cast<T>(v.im * unit) != k.im;
    }
    return different == 0;
  }

  /// The system that is kept, or that of these maps.
  System& system_for(Array<Complex<T>> maps) {
    if (!system_) system_ = make_system(std::move(maps));
    System& system = *system_;
    if (!corrects_off_resonance_ && settings_.normal == NormalKind::toeplitz)
      diagnostic_images_.point_spread = central_plane(point_spread());
    report_.largest_eigenvalue = system.largest * map_unit_ * map_unit_;
    if (!settings_.lambda_from_noise)
      set_lambda(system, settings_.lambda ? *settings_.lambda * system.largest
                                          : default_regularization * system.mean);
    else
      system.lambda.reset();
    return system;
  }

  System make_system(Array<Complex<T>> coil_maps) {
    System system;
    const auto sense = std::make_shared<SenseEncoding<T>>(transform(), std::move(coil_maps), coils_at_once_);
    const Array<Complex<T>>& maps = sense->maps();
    system.sense = sense;
    system.has_maps = scan_->sensitivity_maps.has_value();
    // A GPU has its memory for other things.
    system.fits_others =
        settings_.device.is_cpu() && !settings_.team && !settings_.prior && !corrects_off_resonance_;
    system.encoding = sense;
    if (settings_.team) system.encoding = std::make_shared<SharedEncoding<T>>(sense, settings_.team);
    if (corrects_off_resonance_) {
      include_off_resonance(maps, system);
    } else if (settings_.normal == NormalKind::toeplitz) {
      const auto& q = point_spread();
      stage("transfer function", [&] {
        if (settings_.team)
          system.normal = toeplitz_of_team(q, maps);
        else
          system.normal = make_toeplitz_normal(q, maps, coils_at_once_);
      });
    } else {
      system.normal = std::make_shared<ExplicitNormal<T>>(system.encoding);
    }
    stage("largest eigenvalue", [&] { system.largest = largest_eigenvalue(*system.normal); });
    // trace(E^H E) / voxels: every sample meets every voxel with |S|^2.
    system.mean = static_cast<double>(sample_count_) * std::pow(norm_l2(maps), 2) /
                  static_cast<double>(system.encoding->domain().size());
    if (settings_.regularizer == RegularizerKind::roughness) system.weights = roughness_weights();
    return system;
  }

  /// Each process has some of the coils.
  std::shared_ptr<const HermitianOperator<T>> toeplitz_of_team(const Array<Complex<T>>& q,
                                                               const Array<Complex<T>>& maps) const {
    const Share share = share_of(maps.extent(0), *settings_.team);
    const Shape image{maps.extent(1), maps.extent(2), maps.extent(3)};
    std::shared_ptr<const HermitianOperator<T>> part;
    if (share.size() > 0) {
      Array<Complex<T>> mine(Shape{share.size(), image[0], image[1], image[2]}, maps.device());
      copy_range(maps, share.first * image.size(), mine, 0, mine.size());
      part = make_toeplitz_normal(q, mine);
    }
    return std::make_shared<SharedNormal<T>>(part, image, maps.device(), settings_.team);
  }

  /// E^H E + lambda W^H W.
  std::shared_ptr<const HermitianOperator<T>> regularized(const System& system, double lambda) const {
    if (settings_.regularizer == RegularizerKind::identity)
      return std::make_shared<IdentityRegularized<T>>(system.normal, lambda);
    return std::make_shared<RoughnessRegularized<T>>(system.normal, lambda, system.weights);
  }

  void set_lambda(System& system, double lambda) {
    system.lambda = lambda;
    report_.lambda = lambda * map_unit_ * map_unit_;
    system.regularized = regularized(system, lambda);
  }

  /// lambda by the discrepancy principle (Morozov, Soviet Math. Dokl. 7:414 (1966)): the one whose data
  /// residual |F rho - d| is the norm of the noise in d, sqrt(samples x sum over coils of its variance). The
  /// residual grows with lambda; the search goes from the default in factors of ten until it has the noise
  /// between two lambdas, then halves their distance on a logarithmic axis. Each solution starts from the
  /// one before. Where no lambda within 1e-5 ... 1e2 of the mean eigenvalue does it, the default stays.
  void search_lambda(System& system, const Array<Complex<T>>& samples, const Array<Complex<T>>& fhd) {
    const double data_norm = norm_of_samples(samples), noise_norm = noise_in(samples.extent(0));
    report_.noise_residual = data_norm == 0 ? 0 : noise_norm / data_norm;
    if (data_norm == 0 || noise_norm == 0) {
      report_.notes.push_back("--lambda auto: there is no noise to go by, the default lambda is used");
      return set_lambda(system, default_regularization * system.mean);
    }
    Array<Complex<T>> image(fhd.shape(), settings_.device), product(fhd.shape(), settings_.device);
    Array<double> scalar(Shape{1}, settings_.device);
    const auto real_dot = [&](const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
      dot(a, b, scalar, 0);
      return scalar.to(Device::cpu())[0];
    };
    // |F rho - d|^2 = |d|^2 - 2 Re <rho, E^H d> + <rho, E^H E rho>: no transform of the samples.
    const auto residual_at = [&](double lambda) {
      const auto a = regularized(system, lambda);
      conjugate_gradient(*a, fhd, image, {settings_.iterations, settings_.tolerance}, {});
      system.normal->forward(image, product);
      const double square = data_norm * data_norm - 2 * real_dot(image, fhd) + real_dot(image, product);
      double penalty = 0;
      if (settings_.regularizer == RegularizerKind::identity) {
        penalty = real_dot(image, image);
      } else {
        product.fill_zero();
        add_roughness(image, T(1), system.weights, product);
        penalty = real_dot(image, product);
      }
      const double residual = std::sqrt(std::max(square, 0.0)) / data_norm;
      report_.lambda_curve.push_back({lambda / system.largest, residual, std::sqrt(std::max(penalty, 0.0))});
      if (progress_)
        progress_({"search of lambda", static_cast<std::int64_t>(report_.lambda_curve.size()), 12, residual});
      return residual;
    };
    constexpr double lowest = 1e-5, highest = 1e2;  // of the mean eigenvalue
    const double aim = report_.noise_residual;
    double below = 0, above = 0;  // lambdas with a residual below and above the aim; 0: not yet
    double lambda = default_regularization * system.mean;
    stage("search of lambda", [&] {
      for (double next = lambda; next >= lowest * system.mean && next <= highest * system.mean;) {
        (residual_at(next) < aim ? below : above) = next;
        if (below > 0 && above > 0) break;
        next = below > 0 ? next * 10 : next / 10;
      }
      while (below > 0 && above > 0 && above / below > 1.3) {
        const double middle = std::sqrt(below * above);
        (residual_at(middle) < aim ? below : above) = middle;
      }
    });
    auto& curve = report_.lambda_curve;
    std::sort(curve.begin(), curve.end(), [](const auto& a, const auto& b) { return a.lambda < b.lambda; });
    for (auto& point : curve) point.penalty /= std::max(curve.front().penalty, 1e-300);
    const bool found = below > 0 && above > 0;
    if (found)
      lambda = std::sqrt(below * above);
    else
      report_.notes.push_back(
          above > 0 ? "--lambda auto: the data residual stays above the noise (" + number(aim) +
                          ") whatever lambda is: something other than noise (maps, motion, off-resonance, a "
                          "small matrix) dominates, and the default lambda is used"
                    : "--lambda auto: the data residual stays below the noise (" + number(aim) +
                          ") whatever lambda is, and the default lambda is used");
    set_lambda(system, lambda);
    if (found)
      report_.notes.push_back("lambda " + number(lambda / system.largest) +
                              " of the largest eigenvalue: there the data residual is the noise, " +
                              number(aim) + " of the data");
  }

  /// Norm of the noise in the samples of `channels` coils, in their unit: from the noise readouts, else from
  /// the edge of k-space.
  double noise_in(std::int64_t channels) {
    const Scan& scan = *scan_;
    const auto covariance = scan.noise
                                ? noise_covariance(*scan.noise)
                                : edge_noise_covariance(scan.trajectory, matrix_size_, scan.kspace.values);
    if (!scan.noise)
      report_.notes.push_back(
          "--lambda auto: the scan has no noise readouts; the noise is taken from the edge of k-space, where "
          "signal makes it look larger");
    const std::int64_t coils = scan.kspace.coil_count();
    const std::int64_t strongest = strongest_coil(scan.kspace);
    double variance = 0;
    for (std::int64_t coil = 0; coil < coils; ++coil)
      if (channels == coils || coil == strongest) variance += covariance.values[coil * coils + coil].re;
    return std::sqrt(variance * static_cast<double>(sample_count_)) / data_unit_;
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
    const double accuracy = off_resonance_accuracy();
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
                   ? point_spread_direct<T>(trajectory_, matrix_size_, &weights, settings_.device,
                                            settings_.direct_variant)
                   : point_spread_gridded<T>(trajectory_, matrix_size_, &weights, settings_.accuracy,
                                             settings_.device);
      };
      stage("Q", [&] { system.normal = make_off_resonance_normal<T>(kernel, maps, field_map, differences); });
    } else {
      system.normal = std::make_shared<ExplicitNormal<T>>(system.encoding);
    }
    report_.notes.push_back(note + ", error " + number(std::max(segments.error, differences.error)));
  }

  double off_resonance_accuracy() const { return std::max(settings_.accuracy, 1e-6); }

  /// Of the anatomical prior, on the device; empty without one.
  Array<T> roughness_weights() {
    if (!settings_.prior) return {};
    Array<T> weights;
    stage("anatomical prior", [&] {
      weights = edge_weights<T>(resampled(*settings_.prior, scan_->geometry), settings_.prior_strength)
                    .to(settings_.device);
    });
    return weights;
  }

  /// The image of all coils together, or of the `coil` whose samples these are.
  Array<Complex<T>> solve(System& system, const Array<Complex<T>>& samples,
                          std::optional<std::int64_t> coil = {}) {
    Array<Complex<T>> right_hand_side(system.encoding->domain(), settings_.device);
    stage("FhD", [&] { system.encoding->adjoint(samples, right_hand_side); });
    if (!system.lambda) search_lambda(system, samples, right_hand_side);
    Array<Complex<T>> image(system.encoding->domain(), settings_.device);
    stage("conjugate gradient", [&] {
      const int check_every = settings_.device.is_cuda() ? 5 : 1;
      const auto result =
          conjugate_gradient(*system.regularized, right_hand_side, image,
                             {settings_.iterations, settings_.tolerance, check_every}, progress_);
      report_.relative_residuals = result.relative_residuals;
      report_.converged = result.converged;
    });
    Array<Complex<T>> predicted(samples.shape(), settings_.device);
    stage("data residual", [&] { system.encoding->forward_through(prediction(), image, predicted); });
    if (settings_.verifier && !verified_) {
      verified_ = true;  // of several coils, the first
      auto input = verifier_input_of(coil);
      if (corrects_off_resonance_) {
        input.field_map = &*scan_->field_map;
        input.sample_time_s = &*scan_->sample_time_s;
        input.requested = std::max(input.requested, off_resonance_accuracy());
      }
      input.image = image.to(Device::cpu());
      input.predicted = whole_samples(predicted);
      input.adjoint = right_hand_side.to(Device::cpu());
      Array<Complex<T>> product(image.shape(), settings_.device);
      system.normal->forward(image, product);
      input.normal = product.to(Device::cpu());
      system.regularized->forward(image, product);
      input.regularized = product.to(Device::cpu());
      input.solver_residual = report_.relative_residuals.back();
      if (!settings_.team || settings_.team->rank() == 0) verify(input);
    }
    add_scaled(predicted, T(-1), samples);
    const double d = norm_of_samples(samples);
    report_.data_residual = d == 0 ? 0 : norm_of_samples(predicted) / d;
    return image;
  }

  /// |samples| of all processes.
  double norm_of_samples(const Array<Complex<T>>& samples) const {
    const double mine = norm_l2(samples);
    if (!settings_.team) return mine;
    double square = mine * mine;
    settings_.team->sum(&square, 1);
    return std::sqrt(square);
  }

  /// Samples [coil][sample] of all processes, in host memory.
  Array<Complex<T>> whole_samples(const Array<Complex<T>>& part) const {
    Array<Complex<T>> mine = part.to(Device::cpu());
    if (!settings_.team) return mine;
    const Share share = share_of(sample_count_, *settings_.team);
    Array<Complex<T>> whole(Shape{mine.extent(0), sample_count_});
    for (std::int64_t coil = 0; coil < mine.extent(0); ++coil)
      std::copy_n(mine.data() + coil * share.size(), share.size(),
                  whole.data() + coil * sample_count_ + share.first);
    sum_over(*settings_.team, whole);
    return whole;
  }

  /// What is the same for every method: of all coils, or of one without its map.
  VerifierInput<T> verifier_input_of(std::optional<std::int64_t> coil) const {
    const Scan& scan = *scan_;
    VerifierInput<T> input{scan.trajectory, matrix_size_, scan.kspace.values.data(), 1, nullptr};
    if (data_unit_ != 0) input.sample_scale = 1 / data_unit_;
    input.requested = promised_accuracy();
    if (coil) {
      input.samples += *coil * sample_count_;
      return input;
    }
    input.coil_count = scan.kspace.coil_count();
    if (scan.sensitivity_maps) {
      input.maps = scan.sensitivity_maps->values.data();
      input.map_scale = 1 / map_unit_;
    }
    return input;
  }

  /// Of a method without a system to solve: the first of its images against F^H (w d).
  void verify_first_image(const Array<Complex<T>>& images, const Array<double>* weights) {
    if (!settings_.verifier) return;
    auto input = verifier_input_of(0);
    input.weights = weights;
    Array<Complex<T>> first(Shape{images.extent(1), images.extent(2), images.extent(3)}, images.device());
    copy_range(images, 0, first, 0, first.size());
    input.adjoint = first.to(Device::cpu());
    verify(input);
  }

  void verify(VerifierInput<T>& input) {
    input.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    stage("certificate", [&] { report_.certificate = settings_.verifier->verify(input); });
  }

  Array<Complex<T>> adjoint_image(const Array<Complex<T>>& samples, const Array<Complex<T>>& maps) {
    Array<Complex<T>> images(transform()->images_shape(samples.extent(0)), settings_.device);
    stage("FhD", [&] { transform()->adjoint(samples, images); });
    verify_first_image(images, nullptr);
    if (maps.empty()) return combine(std::move(images), {});
    Array<Complex<T>> image(Shape{images.extent(1), images.extent(2), images.extent(3)}, settings_.device);
    combine_coils(images, maps, image);
    return image;
  }

  /// samples in host memory *= density compensation
  void weight(Array<Complex<T>>& samples) {
    const Array<double>& weights = density();
    const std::int64_t coils = samples.extent(0), sample_count = samples.extent(1);
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t coil = 0; coil < coils; ++coil)
      for (std::int64_t m = 0; m < sample_count; ++m)
        samples.data()[coil * sample_count + m] *= static_cast<T>(weights.data()[m]);
  }

  Array<Complex<T>> gridded_images(const Array<Complex<T>>& weighted) {
    const auto transform =
        make_gridded_transform<T>(trajectory_, matrix_size_, settings_.accuracy, settings_.device);
    Array<Complex<T>> images(transform->images_shape(weighted.extent(0)), settings_.device);
    stage("gridded adjoint", [&] { transform->adjoint(weighted, images); });
    verify_first_image(images, &density_);
    return images;
  }

  Array<Complex<T>> fft_images(const Array<Complex<T>>& samples) {
    Array<Complex<T>> images;
    stage("inverse FFT", [&] { images = inverse_fft_images(trajectory_, matrix_size_, samples); });
    if (settings_.verifier) {
      const Array<double> weights = cartesian_weights(trajectory_, matrix_size_);
      verify_first_image(images, &weights);
    }
    return images;
  }

  /// Coil images -> image: sum conj(S) image / sum |S|^2 with maps (0 where all maps are 0; Roemer et al.,
  /// MRM 16:192 (1990)), root of the sum of squares without.
  Array<Complex<T>> combine(Array<Complex<T>> coil_images, const Array<Complex<T>>& maps) {
    const Shape image_shape{coil_images.extent(1), coil_images.extent(2), coil_images.extent(3)};
    if (maps.empty())
      return coil_images.extent(0) == 1 ? std::move(coil_images).reshaped(image_shape)
                                        : root_sum_of_squares(coil_images);
    Array<Complex<T>> image(image_shape, coil_images.device());
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
    device::synchronize(settings_.device);
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
    list.emplace_back("device", s.device.is_cpu() ? "cpu" : "cuda");
    list.emplace_back("precision", s.precision == Precision::single_precision ? "single" : "double");
    if (s.method == Method::cg || s.method == Method::adjoint)
      list.emplace_back("transform", kind_ == TransformKind::direct ? "direct" : "gridded");
    if (s.method != Method::fft && !(kind_ == TransformKind::direct && s.method != Method::gridded))
      list.emplace_back("accuracy", number(s.accuracy));
    if (s.device.is_cuda() && kind_ == TransformKind::direct && s.method != Method::gridded)
      list.emplace_back("sin and cos", s.direct_variant == SinCos::fast ? "fast" : "accurate");
    if (s.method == Method::cg) {
      list.emplace_back("normal", s.normal == NormalKind::toeplitz ? "toeplitz" : "explicit");
      list.emplace_back("regularizer", s.regularizer == RegularizerKind::identity ? "identity" : "roughness");
      list.emplace_back("lambda", s.lambda ? number(*s.lambda)
                                  : s.lambda_from_noise
                                      ? "from the noise"
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
  DiagnosticImages diagnostic_images_;
  bool verified_ = false;
  bool q_is_new_ = false;  ///< made, or read, for this scan
  std::chrono::steady_clock::time_point begin_{};
  std::int64_t sample_count_ = 0;  ///< of the scan; of a team, each process has a share in trajectory_
  double data_unit_ = 1;           ///< the samples of the scan are the samples used times this
  TransformKind kind_ = TransformKind::direct;
  std::int64_t coils_at_once_ = 0;  ///< 0: all
  std::array<int, 3> matrix_size_{0, 0, 0};
  Trajectory trajectory_;
  std::shared_ptr<const FourierTransform<T>> transform_;
  std::unique_ptr<const FourierTransform<T>> prediction_;  ///< during a reconstruction
  Array<Complex<T>> point_spread_;
  Array<double> density_;
  std::optional<System> system_;  ///< of the scan before, too: see may_keep_system
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
