#include "app/options/options.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>

#include "app/terminal/console.hpp"
#include "app/terminal/input_error.hpp"
#include "app/options/nearest_word.hpp"
#include "app/options/number_option.hpp"
#include "app/terminal/processors.hpp"
#include "app/options/regularizer_option.hpp"
#include "io/scan/checksum.hpp"
#include "io/files/atomic_file.hpp"
#include "io/result/trajectory_cache.hpp"
#include "io/scan/nifti_volume.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"
#include "recon/transform/direct/direct.hpp"
#include "version.hpp"

namespace fhd::app {

// --- How to reconstruct

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
  const bool is_number = parse_number(text, value);
  if (is_number && value > 0 && value < 1) return KeptEnergy{value};
  if (is_number && value >= 1 && value <= 65535 && value == std::floor(value))
    return VirtualCoils{static_cast<std::int64_t>(value)};
  throw Error("--compress", "auto, off, a number of virtual coils, or a share of energy between 0 and 1",
              text);
}

}  // namespace

namespace {

constexpr const char* coils_help =
    "sensitivity maps: of the file, or found here (joint: with an image, where calibration is thin); auto: "
    "the "
    "file's, else espirit for cg; none: root of the sum of squares";
constexpr const char* map_sets_help =
    "sets of ESPIRiT's maps, each with an image; 2: of objects folded in the field of view; auto: where they "
    "are";
constexpr const char* partial_fourier_help =
    "Cartesian scans that leave out most of one side of k-space; phase: an image that is real but for the "
    "phase "
    "of the centre of k-space, where that is smooth";

std::string tolerance_help() {
  return fmt::format(
      "stop at this relative residual of the normal equations; {}, of the conditions of optimality, with "
      "wavelet, tv, tgv",
      sparse_tolerance);
}

}  // namespace

void ReconOptions::add_to(CLI::App& app) {
  app_ = &app;
  const auto choice = [&](const char* flag, std::string& value, std::vector<std::string> values,
                          const char* help) {
    app.add_option(flag, value, help)->check(one_of(values))->capture_default_str()->group("Reconstruction");
  };
  const auto number = [&](const char* flag, auto& value, const std::string& help) {
    return app.add_option(flag, value, help)->capture_default_str()->group("Reconstruction");
  };
  choice("--method", method_, {"cg", "gridded", "adjoint", "fft"},
         "cg: least squares; gridded: density-compensated; adjoint: F^H d; fft: Cartesian scans");
  choice("--transform", transform_, {"auto", "direct", "gridded"},
         "direct: exact sums; auto: direct when affordable");
  choice("--normal", normal_, {"toeplitz", "explicit"}, "how F^H F is applied in an iteration");
  choice("--preconditioner", preconditioner_, {"auto", "none"},
         "of conjugate gradient; auto: circulant, from the sampling density and the maps; fewer iterations");
  number("--regularizer", regularizer_, regularizer_help)->type_name("TERM[:STRENGTH],...");
  app.add_option("--prior", prior_,
                 "NIfTI image of the same anatomy: finite differences are penalised less across its edges")
      ->type_name("FILE")
      ->group("Reconstruction");
  number("--prior-strength", prior_strength_, "larger: weaker edges of the prior count too");
  app.add_option("--lambda", lambda_,
                 "weight of |W rho|^2, relative to the largest eigenvalue of F^H F; auto: such that the data "
                 "residual is the noise of the scan [0.05 of the mean eigenvalue]")
      ->type_name("NUMBER|auto")
      ->group("Reconstruction");
  number("--iterations", least_squares_.iterations,
         fmt::format("of the solver, at most; {} with wavelet, tv, tgv", sparse_iterations));
  number("--tolerance", least_squares_.tolerance, tolerance_help());
  number("--accuracy", least_squares_.transform.accuracy,
         "relative error accepted of the transform; direct sums are as a rule better");
  choice("--precision", precision_, {"single", "double"}, "floating-point precision");
  choice("--gpu-sums", gpu_sums_, {"auto", "tensor-cores", "fast", "accurate"},
         "direct sums of a GPU: matrices on tensor cores, or pair by pair with sin and cos by "
         "special-function units or to 1 ulp");
  choice("--coils", coils_, {"auto", "file", "espirit", "adaptive", "joint", "none"}, coils_help);
  choice("--map-sets", map_sets_, {"1", "2", "auto"}, map_sets_help);
  choice("--whiten", whiten_, {"auto", "edge", "off"},
         "coils by their noise; auto: noise readouts; edge: without these the edge of k-space");
  app.add_option("--compress", compress_,
                 "virtual coils: a number, a share of energy such as 0.99, off, or auto: above 12 coils")
      ->capture_default_str()
      ->group("Reconstruction");
  app.add_flag("--allow-folding", allow_folding_,
               "solve regularly undersampled Cartesian scans without maps or reference too: the image folds")
      ->group("Reconstruction");
  choice("--partial-fourier", partial_fourier_, {"off", "phase"}, partial_fourier_help);
  choice("--surroundings", surroundings_, {"auto", "off"},
         "tissue beyond the field of view; auto: where the samples tell it apart, cg reconstructs a larger "
         "matrix and crops it");
  add_trajectory_correction(app);
  number("--threads", threads_, "processor threads; 0: all, or as many as a container's quota allots");
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

Regularizer ReconOptions::regularizer(const RegularizerOption& option) const {
  const bool roughness = option.quadratic == "roughness";
  if (!prior_.empty()) {
    if (given("--regularizer") && !roughness)
      throw Error(
          "--prior with --regularizer " + regularizer_, "", "these options contradict each other",
          option.sparse.empty() ? "leave out --regularizer" : "add roughness:0.01, which the prior weights");
    return RoughnessPenalty{
        AnatomicalPrior{of_input([&] { return io::read_nifti_volume(prior_); }), prior_strength_}};
  }
  if (given("--prior-strength"))
    throw Error("--prior-strength without --prior", "", "there is no prior image",
                "add --prior image.nii.gz");
  return roughness ? Regularizer(RoughnessPenalty{}) : IdentityPenalty{};
}

LambdaChoice ReconOptions::lambda(const RegularizerOption& option) const {
  if (option.quadratic_strength || !option.sparse.empty()) {
    refuse("--lambda", "--regularizer " + regularizer_);
    if (option.quadratic_strength) return OfMeanEigenvalue{*option.quadratic_strength};
    // What no frame has measured (the corners of k-space of radial scans) terms in time alone would leave to the
    // noise.
    const bool in_time_alone = std::all_of(option.sparse.begin(), option.sparse.end(),
                                           [](const auto& term) { return is_temporal(term.kind); });
    return in_time_alone ? LambdaChoice(OfMeanEigenvalue{share_beside_terms_in_time})
                         : OfLargestEigenvalue{0};
  }
  if (lambda_.empty()) return OfMeanEigenvalue{};
  if (lambda_ == "auto") return FromNoise{};
  double value = 0;
  if (!parse_number(lambda_, value))
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
                                         {"joint", CoilMaps::joint},
                                         {"none", CoilMaps::none}});
  coils.whitening = chosen<NoiseWhitening>(
      whiten_,
      {{"auto", NoiseWhitening::automatic}, {"edge", NoiseWhitening::edge}, {"off", NoiseWhitening::off}});
  coils.estimation.sets = chosen<MapSetCount>(
      map_sets_, {{"1", MapSetCount::one}, {"2", MapSetCount::two}, {"auto", MapSetCount::automatic}});
  coils.compression = compression_of(compress_);
  coils.allow_folding = allow_folding_;
  return coils;
}

void ReconOptions::refuse_contradictions(const Settings& settings) const {
  const bool gridded = is_method<ConventionalGridding>(settings), fft = is_method<CartesianFft>(settings);
  if (!least_squares(settings))
    for (const char* flag : {"--normal", "--preconditioner", "--regularizer", "--prior", "--lambda",
                             "--iterations", "--tolerance", "--surroundings", "--partial-fourier"})
      refuse(flag, "--method " + method_);
  if (gridded && transform_ == "direct") refuse("--transform", "--method gridded");
  if (fft)
    for (const char* flag : {"--transform", "--accuracy"}) refuse(flag, "--method fft");
  // Of add_read_options, which every command has that has these. Here, because a recipe is checked line by line.
  const auto names_piece = [&](const char* flag) {
    const auto* option = app_->get_option_no_throw(flag);
    return option != nullptr && option->count() > 0;
  };
  if (names_piece("--maps") && coils_ != "auto" && coils_ != "file") refuse("--maps", "--coils " + coils_);
  const bool names_field_map = names_piece("--field-map");
  const std::string field_map = names_field_map ? app_->get_option("--field-map")->results().back() : "";
  const bool is_found = field_map == "auto" || field_map == "off";
  if (field_map == "auto" && !least_squares(settings)) refuse("--field-map", "--method " + method_);
  if (names_piece("--field-map-unit") && (!names_field_map || is_found))
    throw Error("--field-map-unit", "--field-map FILE beside it", "none", "/field_map of a scan is in rad/s");
  // Of FrameOptions, which 'fhd recon' and 'fhd batch' have.
  if (const auto kind = temporal_kind(settings)) {
    const std::string term = name_of(*kind);
    if (!app_->get_option_no_throw("--frames"))
      throw Error("--regularizer " + term, "a term of one image, such as tv, wavelet or tgv", term,
                  "it couples frames, which --frames of 'fhd recon' and 'fhd batch' makes");
    if (!names_piece("--frames") && !names_piece("--spokes-per-frame") && !names_piece("--gate"))
      throw Error("--regularizer " + term, "--frames, --spokes-per-frame or --gate beside it", "none",
                  "it couples frames; tv, wavelet and tgv are of one image");
  }
  if (threads_ < 0 || threads_ > 4096) throw Error("--threads", "0 (all) ... 4096", std::to_string(threads_));
}

/// Once, however many scans have these options.
static void tell_bound(int threads) {
  static bool told = false;
  const auto note = note_of_bound(threads, "--threads");
  if (!note.empty() && !std::exchange(told, true)) print_error(note);
}

/// It only costs time. Once, however many scans have these options.
static void tell_unusable_cache(const std::string& folder) {
  static bool told = false;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  try {
    io::require_writable_folder((std::filesystem::path(folder) / "q").string());
  } catch (const Error& error) {
    if (!std::exchange(told, true))
      print_error(std::string("nothing is kept for other scans (--cache): ") + error.what());
  }
}

Settings ReconOptions::settings() const {
  static_cast<void>(trajectory_correction());  // refuses what is none
  LeastSquares solved = least_squares_;
  solved.transform.kind = chosen<TransformKind>(transform_, {{"auto", TransformKind::automatic},
                                                             {"direct", TransformKind::direct},
                                                             {"gridded", TransformKind::gridded}});
  solved.transform.gpu_sums = chosen<GpuSums>(gpu_sums_, {{"auto", GpuSums::automatic},
                                                          {"tensor-cores", GpuSums::tensor_cores},
                                                          {"fast", GpuSums::fast},
                                                          {"accurate", GpuSums::accurate}});
  solved.normal = chosen<NormalKind>(
      normal_, {{"toeplitz", NormalKind::toeplitz}, {"explicit", NormalKind::explicit_product}});
  solved.preconditioner = chosen<PreconditionerKind>(
      preconditioner_, {{"auto", PreconditionerKind::automatic}, {"none", PreconditionerKind::none}});
  solved.partial_fourier = chosen<PartialFourier>(
      partial_fourier_, {{"off", PartialFourier::off}, {"phase", PartialFourier::phase}});
  Settings settings;
  settings.precision = chosen<Precision>(
      precision_, {{"single", Precision::single_precision}, {"double", Precision::double_precision}});
  settings.coils = coils();
  settings.surroundings =
      chosen<Surroundings>(surroundings_, {{"auto", Surroundings::automatic}, {"off", Surroundings::off}});
  const auto option = parse_regularizer(regularizer_);
  solved.lambda = lambda(option);
  solved.regularizer = regularizer(option);
  solved.sparse = option.sparse;
  if (!solved.sparse.empty()) {
    if (!given("--iterations")) solved.iterations = sparse_iterations;
    if (solved.tolerance == LeastSquares{}.tolerance && !given("--tolerance"))
      solved.tolerance = sparse_tolerance;
  }
  settings.method = chosen<Method>(method_, {{"cg", solved},
                                             {"gridded", ConventionalGridding{solved.transform.accuracy}},
                                             {"adjoint", PlainAdjoint{solved.transform}},
                                             {"fft", CartesianFft{}}});
  refuse_contradictions(settings);
  if (threads_ > 0) {
    tell_bound(threads_);
    omp_set_num_threads(bounded_threads(threads_));
  }
  return settings;
}

std::shared_ptr<TrajectoryCache> ReconOptions::trajectory_cache() const {
  const std::string cache = cache_ == "auto" ? io::default_trajectory_cache() : cache_;
  if (cache == "off" || cache.empty()) return nullptr;
  if (cache_ != "auto") tell_unusable_cache(cache);
  return std::make_shared<io::DiskTrajectoryCache>(cache, program_version);
}

// --- Where to compute

namespace {

ChosenDevice gpu(Device device) {
  const auto description = device::start(device);
  return {device, false, fmt::format("GPU {}: {}", device.number(), description.text()), description};
}

/// A GPU where there is one that works.
ChosenDevice choose_any(int preferred) {
  const auto inventory = device::inventory();
  ChosenDevice chosen;
  try {
    if (inventory.devices.empty()) throw Error(inventory.reason, "", "");
    chosen = gpu(inventory.devices[static_cast<std::size_t>(preferred) % inventory.devices.size()].device);
  } catch (const Error& error) {
    chosen.text = std::string("CPU, because ") + error.what();
  }
  chosen.automatic = true;
  return chosen;
}

}  // namespace

void DeviceOption::add_to(CLI::App& app) {
  app.add_option("--device", device_,
                 "auto: a GPU where there is one, else the CPU, and the CPU for a small scan; cpu; cuda; "
                 "cuda:N, the GPU of that number; or "
                 "several GPUs, cuda:all or cuda:0,2")
      ->check([](const std::string& text) {
        const std::vector<std::string> names{"auto", "cpu", "cuda", "cuda:all"};
        const bool known =
            std::find(names.begin(), names.end(), text) != names.end() || !gpu_numbers_of(text).empty();
        const auto hint = did_you_mean(text, names);
        return known ? ""
                     : "expected auto, cpu, cuda, cuda:N, or several as cuda:all or cuda:0,2, found '" +
                           text + "'" + (hint.empty() ? "" : "; " + hint);
      })
      ->type_name("auto|cpu|cuda|cuda:all|GPUS")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--device-memory", [this](const std::string& text) { memory_ = parse_device_memory(text); },
         "of a GPU, at most; such as 8GiB, 500MiB or 50% [what is free]")
      ->check([](const std::string& text) {
        try {
          parse_device_memory(text);
        } catch (const Error& error) {
          return std::string(error.what());
        }
        return std::string();
      })
      ->type_name("SIZE");
  constexpr auto older = "--device-memory-mib";  // hidden, and so without a name in the parser's messages
  app.add_option_function<std::string>(
         older,
         [this](std::string mib) {
           if (const auto refusal = whole_number(0, std::int64_t{1} << 40)(mib); !refusal.empty())
             throw CLI::ValidationError(older, refusal);
           memory_.bytes = std::ldexp(std::stod(mib), 20);
         },
         "the same in MiB, an older name")
      ->group("");
}

DeviceMemory parse_device_memory(const std::string& text) {
  constexpr std::pair<const char*, double> units[] = {{"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                                                      {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  constexpr double least = 0x1p20, most = 0x1p60;
  double number = 0;
  const char* const end = text.data() + text.size();
  auto [unit, error] = std::from_chars(text.data(), end, number);
  if (unit != end && *unit == ' ') ++unit;
  const std::string found(unit, end);
  if (error == std::errc()) {
    if (found == "%" && number > 0 && number <= 100) return {0, number / 100};
    for (const auto& [name, bytes] : units)
      if (found == name && number * bytes >= least && number * bytes <= most) return {number * bytes, 0};
  }
  throw Error("--device-memory",
              "1MiB or more with its unit (MiB, GiB, TiB, MB, GB, TB), or a share such as 50%",
              "'" + text + "'");
}

std::size_t DeviceMemory::limit_bytes(std::size_t memory_bytes) const {
  return static_cast<std::size_t>(share > 0 ? share * static_cast<double>(memory_bytes) : bytes);
}

ChosenDevice DeviceOption::choose(int preferred) const {
  if (names_several())
    throw Error("--device " + device_, "one device", "several, which only 'fhd recon' uses",
                "use --device cuda, or cuda:N");
  ChosenDevice chosen;
  if (device_ == "cuda") {
    const auto count = static_cast<int>(device::inventory().devices.size());
    chosen = gpu(Device::cuda(count > 0 ? preferred % count : 0));
  } else if (device_ == "auto" && leaves_gpu_alone_) {
    chosen.text = "CPU, because it is done before a GPU has started";
  } else if (device_ == "auto") {
    chosen = choose_any(preferred);
  } else if (device_ != "cpu") {
    chosen = gpu(Device::cuda(gpu_numbers_of(device_).front()));
  }
  const auto limit = memory_.limit_bytes(chosen.description.memory_bytes);
  if (chosen.device.is_cuda() && limit > 0) {
    device::limit_memory(chosen.device, limit);
    chosen.text += fmt::format(", at most {:.1f} GiB of it", std::ldexp(static_cast<double>(limit), -30));
  }
  return chosen;
}

std::vector<std::pair<std::string, std::string>> host_environment() {
  std::string processor = "unknown", line;
  std::ifstream cpuinfo("/proc/cpuinfo");
  while (std::getline(cpuinfo, line))
    if (line.starts_with("model name")) {
      processor = line.substr(line.find(':') + 2);
      break;
    }
  std::vector<std::pair<std::string, std::string>> environment{
      {"processor", processor},
      {"threads", std::to_string(omp_get_max_threads())},
      {"instruction set", instruction_set()}};
  if (const int usable = usable_processors(), all = omp_get_num_procs(); usable < all)
    environment.emplace_back("processor quota", fmt::format("the time of {} of {} processors", usable, all));
  return environment;
}

void print_fallback(const std::string& reason) { print_error("the GPU failed, the CPU goes on: " + reason); }

// --- What a scan file leaves out

namespace {

/// X, "X,Y" or "X,Y,Z", also with 'x' for ','; without Y it is X, without Z it is `z`. Throws Error unless all
/// are `accepted`.
template <class Accepted>
std::array<double, 3> parse_axes(const std::string& text, const char* option, const char* expected, double z,
                                 Accepted accepted) {
  std::array<double, 3> numbers{0, 0, z};
  const char* position = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [next, status] = std::from_chars(position, end, numbers[axis]);
    if (status != std::errc{} || !accepted(numbers[axis])) break;
    if (axis == 0) numbers[1] = numbers[0];
    if (next == end) return numbers;
    if (*next != ',' && *next != 'x') break;
    position = next + 1;
  }
  throw Error(option, expected, "'" + text + "'");
}

/// Lets CLI11 report a bad value as a usage error.
template <class Parse>
void add_parsed(CLI::App& app, const std::string& name, const std::string& help, const std::string& type,
                Parse parse) {
  const auto checked = [parse](const std::string& text) {
    try {
      parse(text);
    } catch (const Error& error) {
      throw CLI::ValidationError(error.what());
    }
  };
  app.add_option_function<std::string>(name, checked, help)->type_name(type);
}

}  // namespace

std::array<int, 3> parse_matrix_size(const std::string& text) {
  const auto n =
      parse_axes(text, "--matrix", "one to three whole numbers from 1 to 4096, e.g. 64 or 64,64,16", 1,
                 [](double number) { return number == std::floor(number) && number >= 1 && number <= 4096; });
  return {static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2])};
}

std::array<double, 3> parse_fov_mm(const std::string& text) {
  return parse_axes(
      text, "--fov-mm",
      "one to three lengths in mm from 0.001 to 100000, or 0 for those of the file, e.g. 220 or 220,220,64",
      0, [](double number) {
        return number == 0 || (number >= io::least_fov_mm && number <= io::largest_fov_mm);
      });
}

bool parse_number(const std::string& text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

static void add_outside_pieces(CLI::App& app, io::OutsidePieces& outside, bool finds_field_maps) {
  const auto file = [&](const char* flag, std::string& path, const char* help) {
    app.add_option(flag, path, help)->type_name("FILE")->group("Pieces from files of their own");
  };
  file("--trajectory", outside.trajectory,
       "trajectory in place of the scan's: HDF5 (/trajectory), BART .cfl [3][samples], or another scan's");
  file("--maps", outside.sensitivity_maps,
       "sensitivity maps of the scan's coils and matrix: HDF5 (/sensitivity_maps), or BART .cfl");
  file("--noise", outside.noise,
       "noise for whitening: ISMRMRD (readouts flagged as noise, else all), HDF5 (/noise), or BART .cfl");
  auto* field_map =
      app.add_option("--field-map", outside.field_map,
                     "off-resonance: NIfTI, brought to the scan's voxels by both affine maps, or "
                     "HDF5 (/field_map)");
  field_map->type_name("FILE")->group("Pieces from files of their own");
  if (finds_field_maps)
    field_map->type_name("FILE|auto|off")
        ->description(field_map->get_description() +
                      "; auto: found in the echoes of the scan; off: not corrected [that of the scan]");
  else
    field_map->check([](const std::string& text) {
      return text == "auto" || text == "off"
                 ? "expected a file, found '" + text + "', which 'fhd recon' and 'fhd batch' alone take"
                 : "";
    });
  app.add_option_function<std::string>(
         "--field-map-unit",
         [&outside](const std::string& unit) {
           outside.field_map_unit = unit == "hz" ? io::FieldMapUnit::hz : io::FieldMapUnit::rad_per_s;
         },
         "of --field-map [rad/s]")
      ->check(CLI::IsMember({"rad/s", "hz"}))
      ->type_name("rad/s|hz")
      ->group("Pieces from files of their own");
}

void add_read_options(CLI::App& app, io::ReadOptions& options, bool finds_field_maps) {
  add_parsed(app, "--matrix", "voxels of the image: N, X,Y or X,Y,Z [as the file says]", "X,Y,Z",
             [&options](const std::string& text) { options.matrix_size = parse_matrix_size(text); });
  add_parsed(app, "--fov-mm", "field of view in mm: F, X,Y or X,Y,Z [as the file says]", "X,Y,Z",
             [&options](const std::string& text) { options.fov_mm = parse_fov_mm(text); });
  add_parsed(app, "--trajectory-unit", "unit of k-space positions; kmax: 1 at the edge [auto]",
             "auto|cycles/FOV|cycles/reconFOV|cycles/voxel|radians/voxel|1/m|1/mm|kmax",
             [&options](const std::string& text) {
               const auto hint = did_you_mean(text, {"auto", "cycles/FOV", "cycles/reconFOV", "cycles/voxel",
                                                     "radians/voxel", "1/m", "1/mm", "kmax"});
               try {
                 options.trajectory_unit = io::parse_trajectory_unit(text, "--trajectory-unit");
               } catch (const Error& error) {
                 throw Error(error.what(), "", "", hint);
               }
             });
  add_parsed(
      app, "--zeros",
      options.zeros_are_measured
          ? "samples that are zero in every coil: measured, or auto: left out where they are a mask "
            "[measured]"
          : "samples that are zero in every coil: auto: left out where they are a mask; measured [auto]",
      "auto|measured", [&options](const std::string& text) {
        if (text != "auto" && text != "measured")
          throw Error("--zeros", "auto or measured", "'" + text + "'",
                      did_you_mean(text, {"auto", "measured"}));
        options.zeros_are_measured = text == "measured";
      });
  app.add_option("--group", options.group,
                 "which measurement of an ISMRMRD file that holds several [the only one]")
      ->type_name("NAME");
  add_outside_pieces(app, options.outside, finds_field_maps);
}

// --- How files are written

void add_compression_option(CLI::App& app, std::optional<int>& level) {
  app.add_option(
         "--compression", level,
         "0 (none, soonest) ... 9 (smallest): level of the .nii.gz; the .png is made smaller from 6 on [1]")
      ->check(whole_number(0, 9))
      ->type_name("N");
}

std::string with_content(const std::string& value) {
  std::error_code status;
  const bool is_file = std::filesystem::is_regular_file(value, status) ||
                       std::filesystem::is_regular_file(value + ".cfl", status);
  return is_file ? value + " " + io::checksum_of(value) : value;
}

}  // namespace fhd::app
