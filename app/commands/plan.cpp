// fhd plan: how long a reconstruction will take and how much memory, before it starts.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/options/recipe.hpp"
#include "app/run/corrections.hpp"
#include "app/run/scan_cost.hpp"
#include "app/run/scan_run.hpp"
#include "app/run/series_maps.hpp"
#include "app/terminal/console.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/array/device.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/estimate.hpp"
#include "validation/certificate.hpp"

namespace fhd::app {
namespace {

struct PlanCommand {
  std::string scan;
  bool json = false;
  RunOptions options;

  int run();
};

/// One column of the table.
struct DevicePlan {
  std::string name, transform;
  bool assumed_rates = false;
  Estimate made;
  Prediction prediction;
  std::size_t peak_bytes = 0, available_bytes = 0;
  std::string refusal;  ///< why it cannot be done there; empty when it can
  bool fits() const { return refusal.empty(); }
};

/// Fills what follows from the sizes and the rates.
void predict_on(const ScanSizes& sizes, const EstimateSettings& how, const MachineRates& rates,
                DevicePlan& plan) {
  plan.made = estimate(sizes, how);
  plan.prediction = predict(sizes, how, rates, cpu_rates());
  // The FFT of a Cartesian scan counts as gridded.
  plan.transform =
      name_of(is_method<CartesianFft>(how.settings) ? TransformKind::gridded : plan.made.transform.kind);
}

constexpr double slow = 1.3;  ///< other programs slow the machine down so much that it is told

DevicePlan plan_on_cpu(const ScanSizes& sizes, EstimateSettings how) {
  DevicePlan plan;
  plan.name = fmt::format("CPU, {} thread{}", omp_get_max_threads(), omp_get_max_threads() == 1 ? "" : "s");
  how.device = Device::cpu();
  predict_on(sizes, how, cpu_rates(), plan);
  plan.peak_bytes = plan.made.host.peak_bytes();
  plan.available_bytes = machine_memory_bytes();
  if (plan.peak_bytes > plan.available_bytes) plan.refusal = "more memory than this machine has";
  return plan;
}

DevicePlan plan_on_gpu(const ScanSizes& sizes, EstimateSettings how, const device::Description& gpu) {
  DevicePlan plan;
  plan.name = fmt::format("GPU {}: {}", gpu.device.number(), gpu.name);
  MachineRates rates;
  how.device = gpu.device;
  try {
    device::start(gpu.device);
    plan.available_bytes = device::memory_use(gpu.device).free_bytes;
    rates = measure_rates(gpu.device);
  } catch (const Error& error) {
    rates = assumed_rates(gpu.device);
    plan.assumed_rates = true;
    plan.refusal = error.what();
  }
  try {
    EstimateSettings alone = how;  // a companion that does not fit is made by the CPU
    alone.companion = false;
    plan.peak_bytes = fit_device_memory(sizes, alone, plan.available_bytes);
    how.coils_at_once = alone.coils_at_once;
  } catch (const DeviceError& error) {
    if (plan.refusal.empty()) plan.refusal = error.what();
  }
  predict_on(sizes, how, rates, plan);
  return plan;
}

nlohmann::ordered_json to_json(const DevicePlan& plan) {
  auto stages = nlohmann::ordered_json::object();
  for (const Stage& stage : plan.prediction.stages) stages[stage.name] = stage.seconds;
  const Estimate& made = plan.made;
  return {{"device", plan.name},
          {"rates", plan.assumed_rates ? "assumed" : "measured"},
          {"transform", plan.transform},
          {"pairs", made.transform.pairs},
          {"coils", made.coils},
          {"iterations", {{"expected", made.iterations}, {"most", made.most_iterations}}},
          {"stages", stages},
          {"other_seconds", plan.prediction.other_seconds},
          {"seconds", plan.prediction.seconds()},
          {"seconds_at_limit", plan.prediction.seconds_at_limit()},
          {"seconds_of_all", plan.prediction.seconds_of_all()},
          {"peak_bytes", plan.peak_bytes},
          {"available_bytes", plan.available_bytes},
          {"fits", plan.fits()},
          {"refusal", plan.refusal},
          {"assumptions", made.assumptions}};
}

void print(const DevicePlan& plan, const EstimateSettings& how) {
  const std::int64_t images = how.images, frames = how.frames ? how.frames->frames : 1;
  const Estimate& made = plan.made;
  print_out("device    {}{}\n", plan.name, plan.assumed_rates ? " (rates of an H100 assumed)" : "");
  print_out("transform {}{}\n", plan.transform,
            made.transform.asked_for ? "" : ", " + made.transform.pairs_text());
  for (const Stage& stage : plan.prediction.stages)
    print_out("  {:<22} {:>10}\n", stage.name, duration_text(stage.seconds));
  print_out("  {:<22} {:>10}\n", "between the stages", duration_text(plan.prediction.other_seconds));
  const double seconds = plan.prediction.seconds(), limit = plan.prediction.seconds_at_limit();
  print_out("  {:<22} {:>10}{}\n",
            how.frames ? fmt::format("in all, of {} frames", frames) : "in all, of one image",
            duration_text(seconds),
            limit > 1.01 * seconds
                ? fmt::format("   (at most {}: {} iterations)", duration_text(limit), made.most_iterations)
                : "");
  if (images > 1)
    print_out("  {:<22} {:>10}   (what depends on the trajectory alone is made once)\n",
              fmt::format("of all {} images", images * frames),
              duration_text(plan.prediction.seconds_of_all()));
  print_out("  {:<22} {:>10}   of {}: {}\n", "memory at most",
            plan.peak_bytes == 0 ? "-" : memory_text(static_cast<double>(plan.peak_bytes)),
            memory_text(static_cast<double>(plan.available_bytes)),
            plan.fits() ? "fits" : "does not fit: " + plan.refusal);
  print_out("planned   {}\n", cost_text(images * frames, plan.prediction.seconds_of_all(),
                                        static_cast<double>(plan.peak_bytes)));
  for (const auto& sentence : made.assumptions) print_out("note      {}\n", sentence);
}

std::vector<DevicePlan> plans_of(const ScanSizes& sizes, const EstimateSettings& how,
                                 const ChosenDevice& chosen) {
  std::vector<DevicePlan> plans{plan_on_cpu(sizes, how)};
  for (const auto& gpu : device::inventory().devices)
    if ((chosen.automatic || chosen.device == gpu.device) && device_for(how.settings, gpu.device).is_cuda())
      plans.push_back(plan_on_gpu(sizes, how, gpu));
  return plans;
}

int PlanCommand::run() {
  const auto verifier = validation::make_verifier();
  const auto settings = of_options([&] { return RunSettings(options); });
  const auto& frames = options.frames;
  EstimateSettings how{settings.settings};
  if (options.noise_map) how.noise_replicas = options.noise_map->replicas;
  how.verifier = verifier.get();
  how.companion = least_squares(how.settings) && !options.no_gridded_image;
  const auto file = io::open_scan(scan, settings.options.read_options);
  if (options.correction.concomitant_t) add_maxwell_terms(*file, options.correction.concomitant_t);
  const io::ScanSummary& summary = file->summary();
  const std::int64_t images = how.images = image_count(summary, options.selection);
  if (frames.asks())
    FrameOptions::require_one(
        parse_selection(options.selection.repetitions, summary.repetition_count, "--repetitions"));
  options.require_noise_map_of_one(static_cast<std::size_t>(images));
  if (!frames.asks()) take_maps_from_series(*file, options.maps_from, how.settings);
  const ScanSizes sizes = sizes_of(*file, how.settings, options.selection);
  if (frames.asks()) how.frames = frames.sizes(sizes.samples.all, summary.readout_length);
  options.device.leaves_gpu_alone = leaves_gpu_alone(scan, settings, summary);
  const ChosenDevice chosen = options.device.choose();
  const std::vector<DevicePlan> plans = plans_of(sizes, how, chosen);

  if (json) {
    auto devices = nlohmann::ordered_json::array();
    for (const auto& plan : plans) devices.push_back(to_json(plan));
    const nlohmann::ordered_json all{{"scan", summary.path},
                                     {"images", images},
                                     {"frames", how.frames ? how.frames->frames : 0},
                                     {"matrix_size", sizes.matrix_size},
                                     {"device", chosen.text},
                                     {"slowdown", cpu_rates().slowdown},
                                     {"devices", devices}};
    print_json(all);
    return 0;
  }
  print_scan(summary);
  if (sizes.is_enlarged)
    print_out(
        "note      the object reaches beyond the field of view: {} voxels are reconstructed and cropped\n",
        app::text(sizes.matrix_size));
  print_out("chosen    {}\n", chosen.text);
  for (const auto& plan : plans) print(plan, how);
  if (const double slowdown = cpu_rates().slowdown; slowdown > slow)
    print_out(
        "note      other programs slow this machine down: by itself the CPU would take {:.2g} times less "
        "time\n",
        slowdown);
  return 0;
}

}  // namespace

Run add_plan(CLI::App& app) {
  const auto command = std::make_shared<PlanCommand>();
  app.add_option("SCAN", command->scan,
                 "ISMRMRD or fhd HDF5 file, BART .cfl, IMPATIENT directory, or Siemens .dat")
      ->required();
  app.add_flag("--json", command->json, "print JSON");
  add_options(app, command->options, in_plan);
  return with_recipe(app, command->options, in_plan, [command] { return command->run(); });
}

}  // namespace fhd::app
