#include "app/recon_options.hpp"

#include <omp.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <fstream>

#include "io/result/trajectory_cache.hpp"
#include "io/scan/nifti_volume.hpp"
#include "recon/error.hpp"
#include "recon/transform/direct/direct_cpu.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

template <class Choice>
Choice chosen(const std::string& value, std::initializer_list<std::pair<const char*, Choice>> choices) {
  for (const auto& [name, choice] : choices)
    if (value == name) return choice;
  throw Error("option", "a known value", value);  // CLI11 has checked the value
}

CompressionChoice compression_of(const std::string& text) {
  if (text == "auto") return AutomaticCompression{};
  if (text == "off") return NoCompression{};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && value > 0 && value < 1) return KeptEnergy{value};
  if (is_number && value >= 1 && value <= 65535 && value == std::floor(value))
    return VirtualCoils{static_cast<std::int64_t>(value)};
  throw Error("--compress", "auto, off, a number of virtual coils, or a share of energy between 0 and 1",
              text);
}

}  // namespace

void ReconOptions::add_to(CLI::App& app) {
  app_ = &app;
  const auto choice = [&](const char* flag, std::string& value, std::vector<std::string> values,
                          const char* help) {
    app.add_option(flag, value, help)
        ->check(CLI::IsMember(values))
        ->capture_default_str()
        ->group("Reconstruction");
  };
  const auto number = [&](const char* flag, auto& value, const char* help) {
    return app.add_option(flag, value, help)->capture_default_str()->group("Reconstruction");
  };
  choice("--method", method_, {"cg", "gridded", "adjoint", "fft"},
         "cg: least squares; gridded: density-compensated; adjoint: F^H d; fft: Cartesian scans");
  choice("--transform", transform_, {"auto", "direct", "gridded"},
         "direct: exact sums; auto: direct when affordable");
  choice("--normal", normal_, {"toeplitz", "explicit"}, "how F^H F is applied in an iteration");
  choice("--regularizer", regularizer_, {"identity", "roughness"}, "W: identity or finite differences");
  app.add_option("--prior", prior_,
                 "NIfTI image of the same anatomy: finite differences are penalised less across its edges")
      ->group("Reconstruction");
  number("--prior-strength", prior_strength_, "larger: weaker edges of the prior count too");
  app.add_option("--lambda", lambda_,
                 "weight of |W rho|^2, relative to the largest eigenvalue of F^H F; auto: such that the data "
                 "residual is the noise of the scan [0.05 of the mean eigenvalue]")
      ->type_name("NUMBER|auto")
      ->group("Reconstruction");
  number("--iterations", least_squares_.iterations, "of conjugate gradient, at most");
  number("--tolerance", least_squares_.tolerance, "stop at this relative residual of the normal equations");
  number("--accuracy", least_squares_.transform.accuracy, "relative error accepted of the gridded transform");
  choice("--precision", precision_, {"single", "double"}, "floating-point precision");
  choice("--sin-cos", sin_cos_, {"fast", "accurate"},
         "of a GPU's direct sums: special-function units, or 1 ulp");
  choice("--coils", coils_, {"auto", "file", "espirit", "adaptive", "none"},
         "sensitivity maps: of the file, or found here; auto: the file's, else espirit for cg; none: root of "
         "the sum of "
         "squares");
  choice("--whiten", whiten_, {"auto", "edge", "off"},
         "coils by their noise; auto: noise readouts; edge: without these the edge of k-space");
  app.add_option("--compress", compress_,
                 "virtual coils: a number, a share of energy such as 0.99, off, or auto: above 12 coils")
      ->capture_default_str()
      ->group("Reconstruction");
  number("--threads", threads_, "processor threads; 0: all");
  app.add_option("--cache", cache_,
                 "folder in which Q and density compensation of a trajectory are kept for other scans; auto: "
                 "the user's; off")
      ->type_name("DIR|auto|off")
      ->capture_default_str()
      ->group("Reconstruction");
}

bool ReconOptions::given(const char* flag) const { return app_->get_option(flag)->count() > 0; }

void ReconOptions::refuse(const char* flag, const std::string& without) const {
  if (given(flag))
    throw Error(std::string(flag) + " with " + without, "", "these options contradict each other",
                std::string("leave out ") + flag);
}

Regularizer ReconOptions::regularizer() const {
  const bool roughness = regularizer_ == "roughness";
  if (!prior_.empty()) {
    if (given("--regularizer") && !roughness)
      throw Error("--prior with --regularizer identity", "", "these options contradict each other",
                  "leave out --regularizer");
    return RoughnessPenalty{AnatomicalPrior{io::read_nifti_volume(prior_), prior_strength_}};
  }
  if (given("--prior-strength"))
    throw Error("--prior-strength without --prior", "", "there is no prior image",
                "add --prior image.nii.gz");
  return roughness ? Regularizer(RoughnessPenalty{}) : IdentityPenalty{};
}

LambdaChoice ReconOptions::lambda() const {
  if (lambda_.empty()) return OfMeanEigenvalue{};
  if (lambda_ == "auto") return FromNoise{};
  double value = 0;
  const auto [end, error] = std::from_chars(lambda_.data(), lambda_.data() + lambda_.size(), value);
  if (error != std::errc() || end != lambda_.data() + lambda_.size())
    throw Error("--lambda", "auto, or a number >= 0 relative to the largest eigenvalue of F^H F",
                "'" + lambda_ + "'");
  return OfLargestEigenvalue{value};
}

CoilSettings ReconOptions::coils() const {
  CoilSettings coils;
  coils.maps = chosen<CoilMaps>(coils_, {{"auto", CoilMaps::automatic},
                                         {"file", CoilMaps::file},
                                         {"espirit", CoilMaps::espirit},
                                         {"adaptive", CoilMaps::adaptive},
                                         {"none", CoilMaps::none}});
  coils.whitening = chosen<NoiseWhitening>(
      whiten_,
      {{"auto", NoiseWhitening::automatic}, {"edge", NoiseWhitening::edge}, {"off", NoiseWhitening::off}});
  coils.compression = compression_of(compress_);
  return coils;
}

void ReconOptions::refuse_contradictions(const Settings& settings) const {
  const bool gridded = is_method<ConventionalGridding>(settings), fft = is_method<CartesianFft>(settings);
  if (!least_squares(settings))
    for (const char* flag :
         {"--normal", "--regularizer", "--prior", "--lambda", "--iterations", "--tolerance"})
      refuse(flag, "--method " + method_);
  if (gridded && transform_ == "direct") refuse("--transform", "--method gridded");
  if (fft)
    for (const char* flag : {"--transform", "--accuracy"}) refuse(flag, "--method fft");
  if (transform_ == "direct" && !gridded) refuse("--accuracy", "--transform direct");
  if (threads_ < 0 || threads_ > 4096) throw Error("--threads", "0 (all) ... 4096", std::to_string(threads_));
}

Settings ReconOptions::settings() const {
  LeastSquares solved = least_squares_;
  solved.transform.kind = chosen<TransformKind>(transform_, {{"auto", TransformKind::automatic},
                                                             {"direct", TransformKind::direct},
                                                             {"gridded", TransformKind::gridded}});
  solved.transform.sin_cos =
      chosen<SinCos>(sin_cos_, {{"fast", SinCos::fast}, {"accurate", SinCos::accurate}});
  solved.normal = chosen<NormalKind>(
      normal_, {{"toeplitz", NormalKind::toeplitz}, {"explicit", NormalKind::explicit_product}});
  Settings settings;
  settings.precision = chosen<Precision>(
      precision_, {{"single", Precision::single_precision}, {"double", Precision::double_precision}});
  settings.coils = coils();
  solved.lambda = lambda();
  solved.regularizer = regularizer();
  settings.method = chosen<Method>(method_, {{"cg", solved},
                                             {"gridded", ConventionalGridding{solved.transform.accuracy}},
                                             {"adjoint", PlainAdjoint{solved.transform}},
                                             {"fft", CartesianFft{}}});
  refuse_contradictions(settings);
  if (threads_ > 0) omp_set_num_threads(threads_);
  return settings;
}

std::shared_ptr<TrajectoryCache> ReconOptions::trajectory_cache() const {
  const std::string cache = cache_ == "auto" ? io::default_trajectory_cache() : cache_;
  if (cache == "off" || cache.empty()) return nullptr;
  return std::make_shared<io::DiskTrajectoryCache>(cache, program_version);
}

std::vector<std::pair<std::string, std::string>> ReconOptions::environment() {
  std::string processor = "unknown", line;
  std::ifstream cpuinfo("/proc/cpuinfo");
  while (std::getline(cpuinfo, line))
    if (line.starts_with("model name")) {
      processor = line.substr(line.find(':') + 2);
      break;
    }
  return {{"processor", processor},
          {"threads", std::to_string(omp_get_max_threads())},
          {"instruction set", instruction_set()}};
}

}  // namespace fhd::app
