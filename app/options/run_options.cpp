#include "app/options/run_options.hpp"

#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/commands/commands.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/processors.hpp"
#include "io/files/atomic_file.hpp"
#include "io/result/trajectory_cache.hpp"
#include "io/scan/companion_files.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

/// Throws Error where an option is given that does not go with `without`.
void refuse(const RunOptions& options, const std::string& flag, const std::string& without) {
  if (options.is_given(flag))
    throw Error(subject_in_words(flag) + " with " + subject_in_words(without), "",
                "these options contradict each other", "leave out " + subject_in_words(flag));
}

Regularizer regularizer_of(const RunOptions& options) {
  const bool roughness = options.regularizer.quadratic == "roughness";
  if (!options.prior.empty()) {
    if (options.is_given("--regularizer") && !roughness)
      throw Error(
          option_words("prior") + " with " + option_words("regularizer", options.given.at("--regularizer")),
          "", "these options contradict each other",
          options.regularizer.sparse.empty() ? "leave out " + option_words("regularizer")
                                             : "add roughness:0.01, which the prior weights");
    return RoughnessPenalty{AnatomicalPrior{of_input([&] { return io::read_nifti_volume(options.prior); }),
                                            options.prior_strength}};
  }
  if (options.is_given("--prior-strength"))
    throw Error(option_words("prior-strength") + " without " + option_words("prior"), "",
                "there is no prior image", "add " + option_words("prior", "image.nii.gz"));
  return roughness ? Regularizer(RoughnessPenalty{}) : IdentityPenalty{};
}

LambdaChoice lambda_of(const RunOptions& options) {
  const auto& [quadratic, strength, sparse] = options.regularizer;
  if (!strength && sparse.empty()) return options.lambda.value_or(StandardLambda{});
  refuse(options, "--lambda", "--regularizer " + options.given.at("--regularizer"));
  if (strength) return *strength > 0 ? LambdaChoice(OfMeanEigenvalue{*strength}) : OfLargestEigenvalue{0};
  // Terms in time alone would leave to the noise what no frame has measured (the corners of k-space of radial scans).
  constexpr double share_beside_terms_in_time = 0.01;
  const bool in_time_alone =
      std::all_of(sparse.begin(), sparse.end(), [](const auto& term) { return is_temporal(term.kind); });
  return in_time_alone ? LambdaChoice(OfMeanEigenvalue{share_beside_terms_in_time}) : BelowNoise{};
}

/// Throws Error where an option is given that has no effect on a method, or beside another option.
void refuse_contradictions(const RunOptions& options, const Settings& settings) {
  const std::string method = std::string("--method ") + name_of(settings.method);
  if (!least_squares(settings))
    for (const char* flag : {"--normal", "--preconditioner", "--regularizer", "--prior", "--lambda",
                             "--iterations", "--tolerance", "--surroundings", "--partial-fourier"})
      refuse(options, flag, method);
  if (is_method<ConventionalGridding>(settings) && options.solver.transform.kind == TransformKind::direct)
    refuse(options, "--transform", method);
  if (is_method<CartesianFft>(settings))
    for (const char* flag : {"--transform", "--accuracy"}) refuse(options, flag, method);
  if (options.is_given("--field-map-unit") && options.read_options.outside.field_map.empty())
    throw Error("--field-map-unit", option_words("field-map", "FILE") + " beside it", "none",
                "/field_map of a scan is in rad/s");
  const auto maps = settings.coils.maps;
  refuse_incompatible(features_of(settings)
                          .with(Feature::one_image, !options.frames.asks())
                          .with(Feature::given_maps, options.is_given("--maps"))
                          .with(Feature::own_maps, maps != CoilMaps::automatic && maps != CoilMaps::file)
                          .with(Feature::echo_field_map, options.field_map == FieldMapChoice::from_echoes));
}

/// Prints once, however many scans have these options, that the cache cannot be used: it only costs time.
void print_unusable_cache(const std::string& folder) {
  static bool printed = false;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  try {
    io::require_writable_folder((std::filesystem::path(folder) / "q").string());
  } catch (const Error& error) {
    if (!std::exchange(printed, true))
      print_error("nothing is kept for other scans (" + option_words("cache") + "): " + error.what());
  }
}

}  // namespace

void RunOptions::require_noise_map_of_one(std::size_t volumes) const {
  if (noise_map && volumes != 1)
    throw Error("--noise-map", "one volume", std::to_string(volumes),
                "choose one with " + option_words("repetitions") + " and " + option_words("slices"));
}

Settings RunOptions::image_settings() const {
  LeastSquares solved = solver;
  solved.lambda = lambda_of(*this);
  solved.regularizer = regularizer_of(*this);
  solved.sparse = regularizer.sparse;
  if (!solved.sparse.empty()) {
    if (!is_given("--iterations")) solved.iterations = sparse_iterations;
    if (solved.tolerance == LeastSquares{}.tolerance && !is_given("--tolerance"))
      solved.tolerance = sparse_tolerance;
  }
  Settings settings = chosen;
  if (is_method<LeastSquares>(chosen)) settings.method = std::move(solved);
  if (is_method<ConventionalGridding>(chosen))
    settings.method = ConventionalGridding{solver.transform.accuracy};
  if (is_method<PlainAdjoint>(chosen)) settings.method = PlainAdjoint{solver.transform};
  refuse_contradictions(*this, settings);
  if (threads > 0) omp_set_num_threads(bounded_threads(threads));
  return settings;
}

std::shared_ptr<TrajectoryCache> RunOptions::trajectory_cache() const {
  const std::string folder = cache == "auto" ? io::default_trajectory_cache() : cache;
  if (folder == "off" || folder.empty()) return nullptr;
  if (cache != "auto") print_unusable_cache(folder);
  return io::disk_trajectory_cache(folder, program_version);
}

}  // namespace fhd::app
