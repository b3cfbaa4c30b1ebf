#include "recon/pipeline/prepare.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/linear_algebra.hpp"
#include "recon/coils/maps.hpp"
#include "recon/coils/noise.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/device_memory.hpp"
#include "recon/pipeline/outside_fov.hpp"

namespace fhd {
namespace {

std::vector<std::int64_t> live_coils(const KSpace& kspace) {
  const std::int64_t samples = kspace.sample_count();
  std::vector<std::int64_t> live;
  for (std::int64_t coil = 0; coil < kspace.coil_count(); ++coil) {
    const Complex<float>* values = kspace.values.data() + coil * samples;
    if (std::any_of(values, values + samples, [](auto d) { return d.re != 0 || d.im != 0; }))
      live.push_back(coil);
  }
  return live;
}

/// Returns "2", or "2, 5 and 7", counted from 0 as in the file.
std::string dead_coils(const std::vector<std::int64_t>& live, std::int64_t coils) {
  std::vector<std::string> dead;
  for (std::int64_t coil = 0; coil < coils; ++coil)
    if (!std::binary_search(live.begin(), live.end(), coil)) dead.push_back(std::to_string(coil));
  return listed(dead);
}

template <class T>
void mix_values(const Array<Complex<double>>& matrix, Array<Complex<T>>& values) {
  if (matrix.extent(0) == matrix.extent(1))
    mix_in_place(matrix, values);
  else
    values = apply_mixing(matrix, values);
}

/// Mixes k-space or maps, in double where they are held so.
template <class Held>
void mix_values(const Array<Complex<double>>& matrix, Held& held) {
  if (held.in_double.empty()) {
    mix_values(matrix, held.values);
  } else {
    mix_values(matrix, held.in_double);
    held.values = converted<Complex<float>>(held.in_double);
  }
}

/// Mixes k-space, noise and maps alike by `matrix` [virtual coil][coil], after what `all` has done to them.
void mix(const Array<Complex<double>>& matrix, Scan& scan, Array<Complex<double>>& all) {
  all = all.empty() ? matrix : matrix_product(matrix, all);
  mix_values(matrix, scan.kspace);
  if (scan.noise) mix_values(matrix, *scan.noise);
  if (scan.calibration) mix_values(matrix, scan.calibration->kspace);
  if (scan.sensitivity_maps) mix_values(matrix, *scan.sensitivity_maps);
}

/// Holds k-space and maps in double from here on, so that mixing does not round them.
void hold_in_double(Scan& scan) {
  scan.kspace.in_double = values_of<double>(scan.kspace);
  if (scan.sensitivity_maps) scan.sensitivity_maps->in_double = values_of<double>(*scan.sensitivity_maps);
}

void whiten(Scan& scan, Array<Complex<double>>& mixing, RunLog& log) {
  const auto [covariance, from_noise] = known_noise(scan);
  const Whitening result = whitening(covariance);
  mix(result.matrix, scan, mixing);
  log.setting("whitening", from_noise ? "noise readouts" : "edge of k-space");
  log.note("coils", std::string("coils are whitened by ") +
                        (from_noise ? "the noise readouts" : "the edge of k-space") + ": " +
                        std::to_string(covariance.sample_count) + " samples, standard deviation " +
                        short_number(result.standard_deviation) +
                        (result.decorrelates ? "" : "; " + result.reason));
}

void compress(const CompressionChoice& choice, Scan& scan, Array<Complex<double>>& mixing, RunLog& log) {
  const std::int64_t before = scan.kspace.coil_count(), count = virtual_coil_count(before, choice);
  const auto* energy = std::get_if<KeptEnergy>(&choice);
  const Compression compression = energy ? compress_to_energy(scan.kspace.values, energy->share)
                                         : compress_to_count(scan.kspace.values, count);
  const std::int64_t after = compression.matrix.extent(0);
  if (after == before) return;
  mix(compression.matrix, scan, mixing);
  log.setting("virtual coils", std::to_string(after));
  log.note("coils", std::to_string(before) + " coils are compressed to " + std::to_string(after) +
                        " virtual coils, which leaves out " +
                        short_number(100 * (1 - compression.kept_energy)) + " % of the energy");
}

/// Reports maps that are broken at places inside the object that are in the image.
void report(std::vector<MapDefect> defects, const Scan& scan, const AxisOrder& order, RunLog& log) {
  std::array<int, 3> size = scan.geometry.matrix_size, begin{};
  for (int axis = 0; axis < 3; ++axis)
    if (const int cropped = scan.cropped_matrix_size[axis]; cropped > 0)
      begin[axis] = size[axis] / 2 - cropped / 2, size[axis] = cropped;
  std::erase_if(defects, [&](MapDefect& defect) {
    bool is_outside = false;
    for (int axis = 0; axis < 3; ++axis) {
      defect.voxel[axis] -= begin[axis];
      is_outside |= defect.voxel[axis] < 0 || defect.voxel[axis] >= size[axis];
    }
    return is_outside;
  });
  if (defects.empty()) return;
  const MapDefect& defect = *std::max_element(
      defects.begin(), defects.end(), [](const auto& a, const auto& b) { return a.energy < b.energy; });
  const auto voxel = in_order(inverse(order), defect.voxel);
  const bool is_jump = defect.kind == MapDefect::Kind::jump;
  log.add(
      {is_jump ? "map_jump" : "map_vortex", Severity::note,
       std::string("the image may have dark or bright dots where ") +
           (is_jump ? "the sensitivity maps jump" : "the phase of the sensitivity maps winds about a point") +
           " inside the object: " + std::to_string(defects.size()) +
           (defects.size() == 1 ? " place" : " places") + ", the brightest near voxel " +
           std::to_string(voxel[0]) + ", " + std::to_string(voxel[1]) + ", " + std::to_string(voxel[2]),
       "compare with " + option_words("map-sets", "auto") + " or " + option_words("coils", "joint"),
       "coils"});
}

void find_maps(const CoilSettings& settings, Scan& scan, RunLog& log, Device device, CalibrationCache* cache,
               const AxisOrder& order) {
  const MapMethod method = map_method(settings.maps);
  const bool of_reference = scan.calibration.has_value();
  MapEstimate estimate = on_device_or_cpu(device, log, "sensitivity maps are found", [&](Device here) {
    return estimate_maps(scan, method, settings.map_sets, here, log.progress(),
                         cache != nullptr ? &cache->maps : nullptr);
  });
  scan.sensitivity_maps = std::move(estimate.maps);
  scan.second_maps = std::move(estimate.second);
  scan.calibration.reset();
  log.setting("coils", name_of(method));
  const auto& radius = estimate.calibration_radius;
  log.note(
      "coils",
      std::string("sensitivity maps are found by ") + name_of(method) +
          (of_reference ? " from the calibration readouts" : " from the centre of k-space") + ", radius " +
          std::to_string(*std::max_element(radius.begin(), radius.end())) + " cycles/FOV" +
          (estimate.calibration_sampled || method == MapMethod::joint
               ? ""
               : "; it is undersampled, and is completed by estimating image and sensitivities together"));
  if (!scan.second_maps) report(std::move(estimate.defects), scan, order, log);
  if (settings.map_sets == MapSetCount::one) return;
  log.setting("sets of maps", scan.second_maps ? "2" : "1");
  log.note("map_sets",
           "a second set of maps " + std::string(scan.second_maps ? "is" : "is not") +
               " used: " + short_number(100 * estimate.second_share) +
               " % of the voxels with a map have a second eigenvalue above " + short_number(eigenvalue_mask) +
               (scan.second_maps
                    ? "; the image is the root of the sum of squares of both, with the phase of the first"
                    : ""));
}

/// Throws Error where two sets of maps cannot be had; notes where `auto` has none to find.
void require_sets_can(const CoilSettings& settings, const CoilDecision& decision, const Scan& scan,
                      RunLog& log) {
  const MapSetCount sets = settings.map_sets;
  if (sets == MapSetCount::one) return;
  refuse_incompatible(Features().with(Feature::map_sets).with(Feature::field_map, goes_beyond_k(scan)));
  if (decision.finds_maps) return;
  const std::string found = decision.maps_from_scan ? "one set, given with the scan" : "no maps in use";
  if (sets == MapSetCount::two)
    throw Error(Field{"map-sets"}, "maps that are found in the scan, for two", found,
                "use " + option_words("coils", "espirit") + ", or leave the sets of maps out");
  log.setting("sets of maps", "1");
  log.note("map_sets", "a second set of maps is not used: " + found);
}

/// Throws Error where the image would fold; reports it where it is wanted all the same.
void judge_folding(const Scan& scan, const CoilDecision& decision, std::int64_t live,
                   const Settings& settings, RunLog& log) {
  const FoldingFacts facts{lattice_sampling(scan.trajectory, scan.geometry.matrix_size), live,
                           decision.uses_maps(), decision.finds_maps, scan.calibration.has_value()};
  if (facts.lattice.reduction > 1) log.setting("undersampling", std::to_string(facts.lattice.reduction));
  const Folding folding = decide_folding(facts, settings);
  if (folding == Folding::none) return;
  const auto& [reduction, width] = facts.lattice;
  const std::string sampled =
      "one in " + std::to_string(reduction) + " places of a Cartesian k-space is sampled";
  const std::string found = !decision.uses_maps() ? (live == 1 ? "one coil" : "no maps in use")
                            : width < 2           ? "no reference"
                                        : "a reference of " + std::to_string(width) + " lines, less than " +
                                              std::to_string(least_reference_width);
  if (folding == Folding::refused)
    throw Error("k-space", "sensitivity maps or a reference to find them, because " + sampled, found,
                (live == 1 ? "the image would fold"
                 : !decision.uses_maps()
                     ? "supply maps or let them be found, with " + option_words("coils", "espirit")
                     : "keep the calibration readouts in the file (or the centre of k-space "
                       "without gaps, 24 lines), or supply maps") +
                    std::string("; see the folded image with " + flag_words("allow-folding")));
  std::string why = "the image may be folded: " + sampled + ", and ";
  if (!facts.knows_maps()) {
    log.setting("folding", "allowed");
    why += "nothing tells the copies apart (" + found + ")";
  } else if (least_squares(settings)) {
    why += std::to_string(live) + " coils are too few to tell the copies apart";
  } else {
    why += "only " + option_words("method", "cg") + " uses the maps to tell the copies apart";
  }
  log.add({"folding", Severity::suspicion, why});
}

void select_coils(const std::vector<std::int64_t>& live, Scan& scan, Array<Complex<double>>& mixing) {
  const std::int64_t all = scan.kspace.coil_count(), used = static_cast<std::int64_t>(live.size());
  Array<Complex<double>> selection({used, all});
  for (std::int64_t i = 0; i < used; ++i) selection[i * all + live[i]] = 1;
  mix(selection, scan, mixing);
}

}  // namespace

std::optional<Scan> prepare_coils(const Scan& scan, const Settings& settings, RunLog& log, Device device,
                                  Array<Complex<double>>* mixing, CalibrationCache* cache,
                                  const AxisOrder& order) {
  Array<Complex<double>> own;
  auto& all = mixing ? *mixing : own;
  const auto live = live_coils(scan.kspace);
  const CoilFacts facts{scan.kspace.coil_count(), static_cast<std::int64_t>(live.size()),
                        scan.sensitivity_maps.has_value(), scan.noise.has_value()};
  const CoilDecision decision = decide_coils(facts, settings);
  if (facts.live == 0) return std::nullopt;  // nothing to learn from zeros
  for (const auto& message : scan.messages) log.add(message);
  judge_folding(scan, decision, facts.live, settings, log);
  require_sets_can(settings.coils, decision, scan, log);
  if (!decision.finds_maps) log.setting("coils", decision.maps_from_scan ? "maps of the scan" : "no maps");
  const bool drops_maps = facts.has_maps && !decision.maps_from_scan;
  if (facts.live == facts.all && !decision.whitens && !decision.compresses && !decision.finds_maps &&
      !drops_maps)
    return std::nullopt;

  Scan prepared(scan);
  if (drops_maps) prepared.sensitivity_maps.reset();
  if (settings.precision == Precision::double_precision && (decision.whitens || decision.compresses))
    hold_in_double(prepared);
  if (facts.live < facts.all) {
    select_coils(live, prepared, all);
    log.note("coils", "coils whose samples are all zero are left out: " + dead_coils(live, facts.all));
  }
  const CoilSettings& coils = settings.coils;
  if (decision.whitens) log.stage("whitening", [&] { whiten(prepared, all, log); });
  if (decision.compresses)
    log.stage("coil compression", [&] { compress(coils.compression, prepared, all, log); });
  if (decision.finds_maps)
    log.stage("sensitivity maps", [&] { find_maps(coils, prepared, log, device, cache, order); });
  return prepared;
}

Preparation prepare(const Scan& measured, const Context& context, CalibrationCache& cache) {
  Preparation made{&measured};
  made.changed = prepare_matrix(measured, context, cache);
  made.differs = made.changed.has_value();
  made.order = long_axes_first(made.scan().geometry.matrix_size);
  if (!keeps_axes(made.order)) made.changed = in_order(made.order, made.scan());
  if (auto prepared = prepare_coils(made.scan(), context.settings, context.log, context.device(),
                                    &made.mixing, &cache, made.order)) {
    made.changed = std::move(prepared);
    made.differs = true;
  }
  made.volumes_at_once = planned_volumes_at_once(made.scan(), context);
  return made;
}

std::shared_ptr<const KSpace> mixed_kspace(const Preparation& preparation, const Scan& volume,
                                           bool in_double) {
  const Scan& measured = *preparation.measured;
  const KSpace& kspace = volume.kspace;
  if (volume.geometry.matrix_size != measured.geometry.matrix_size ||
      kspace.coil_count() != measured.kspace.coil_count())
    throw Error("a further volume", "the matrix and the coils of those before", "other ones");
  if (preparation.mixing.empty()) return {std::shared_ptr<void>(), &kspace};
  KSpace mixed;
  if (in_double) mixed.in_double = apply_mixing(preparation.mixing, values_of<double>(kspace));
  mixed.values = in_double ? converted<Complex<float>>(mixed.in_double)
                           : apply_mixing(preparation.mixing, kspace.values);
  return std::make_shared<const KSpace>(std::move(mixed));
}

Scan prepared_alike(const Preparation& preparation, const Scan& volume, bool in_double) {
  const auto kspace = mixed_kspace(preparation, volume, in_double);
  const Scan common = in_order(inverse(preparation.order), preparation.scan());
  const bool is_larger = common.geometry.matrix_size != volume.geometry.matrix_size;
  Scan alike = is_larger ? on_larger_matrix(volume, common.geometry.matrix_size) : volume;
  alike.kspace = *kspace;
  alike.sensitivity_maps = common.sensitivity_maps;
  alike.noise = common.noise;
  alike.calibration.reset();
  return alike;
}

}  // namespace fhd
