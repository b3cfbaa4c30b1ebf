#include "app/run/corrections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <numbers>
#include <utility>

#include "app/commands/commands.hpp"
#include "io/scan/companion_files.hpp"
#include "io/scan/fields_file.hpp"
#include "io/scan/scan_file.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_axes.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/field_map/field_map.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "recon/pipeline/tone.hpp"
#include "recon/trajectory/concomitant.hpp"
#include "recon/trajectory/gradient_response.hpp"
#include "validation/verdict/readouts.hpp"
#include "validation/verdict/tone_search.hpp"

namespace fhd::app {

// --- The readouts

namespace {

using Corrected = std::function<Scan(Scan, const ReadoutStarts&, const ReadoutStarts& of_calibration)>;

/// Adds a correction that knows where the readouts of a volume, and of its calibration, start.
void add_correction(io::ScanFile& file, BeyondMatrix leaves, Corrected corrected) {
  file.add([corrected = std::move(corrected), leaves](Scan& scan, io::VolumeContext& context) {
    const auto starts = validation::readout_starts(scan.trajectory, context.readout_length);
    const auto of_calibration =
        scan.calibration ? validation::readout_starts(scan.calibration->trajectory) : ReadoutStarts{};
    const auto all = scan.trajectory.sample_count();
    scan = corrected(std::move(scan), starts, of_calibration);
    const auto left = scan.trajectory.sample_count();
    const bool whole = left == all || (leaves == BeyondMatrix::columns && readout_length(starts) > 0);
    context.readout_length = whole ? context.readout_length * left / all : 0;
  });
}

/// Gradient delays and the sentence for the report.
struct DelaysOfScan {
  GradientDelays delays;
  std::string remark;
};

/// Returns the delays as the user gave them, or those found in the first repetition of the middle slice that has readouts.
DelaysOfScan delays_of(io::ScanFile file, const ReadoutCorrection& correction) {
  const auto& geometry = file.summary().geometry;
  if (correction.delays == ReadoutCorrection::Delays::given) {
    const auto delays = GradientDelays::along_axes(correction.delay_samples);
    return {delays, fmt::format("the trajectory was corrected for gradient delays of {}, as given",
                                in_words(delays, geometry))};
  }
  const auto slice = file.summary().slice_count / 2;
  Scan scan = file.read(slice, 0);
  for (std::int64_t repetition = 1; repetition < file.summary().repetition_count &&
                                    holds(scan.messages, io::missing_volume, Severity::warning);
       ++repetition)
    scan = file.read(slice, repetition);
  const auto found =
      estimate_delays(scan, validation::readout_starts(scan.trajectory, file.summary().readout_length));
  if (!found.found()) return {{}, "the trajectory was not corrected for gradient delays: " + found.obstacle};
  return {
      found.delays,
      fmt::format("the trajectory was corrected for gradient delays of {} (uncertain by {:.2g}), with which "
                  "the centre of k-space contradicts itself by {:.2g} % and not {:.2g} %",
                  in_words(found.delays, geometry), found.uncertainty, 100 * found.inconsistency,
                  100 * found.inconsistency_before)};
}

void add_girf(io::ScanFile& file, const std::string& path, BeyondMatrix leaves) {
  if (path.empty()) return;
  const auto response = std::make_shared<const GradientResponse>(io::read_gradient_response(path));
  const bool assumed = !file.summary().states_directions;
  add_correction(file, leaves,
                 [=](Scan scan, const ReadoutStarts& starts, const ReadoutStarts& of_calibration) {
                   if (assumed)
                     scan.messages.push_back({"gradient_response", Severity::note,
                                              "the scan does not tell the directions of its axes: its x, y "
                                              "and z were taken for those of the "
                                              "gradient response"});
                   return with_response(std::move(scan), starts, *response, of_calibration, leaves);
                 });
  file.editable_summary().outside_pieces.emplace_back("gradient response", path);
}

/// Adds factors of positions.
void add_scale(io::ScanFile& file, const std::array<double, 3>& scale, BeyondMatrix leaves) {
  if (scale == std::array<double, 3>{1, 1, 1}) return;
  const auto scaled = [scale](Trajectory& trajectory) {
    const auto count = trajectory.sample_count();
    for (std::int64_t i = 0; i < 3 * count; ++i)
      trajectory.k[i] *= scale[static_cast<std::size_t>(i / count)];
  };
  add_correction(file, leaves, [=](Scan scan, const ReadoutStarts& starts, const ReadoutStarts&) {
    scaled(scan.trajectory);
    if (scan.calibration) scaled(scan.calibration->trajectory);
    scan.messages.push_back({"scale", Severity::note,
                             fmt::format("k-space positions were multiplied by {:g}, {:g}, {:g}, as given",
                                         scale[0], scale[1], scale[2])});
    return inside_matrix(std::move(scan), leaves == BeyondMatrix::columns ? readout_length(starts) : 0,
                         option_words("trajectory-scale"));
  });
}

/// Returns the numbers from 0 to count - 1 that a list does not name. Throws Error naming the option where none is left.
std::vector<std::int64_t> others_than(const std::string& list, std::int64_t count, const char* option) {
  std::vector<char> is_named(static_cast<std::size_t>(count));
  for (const auto number : parse_selection(list, count, option))
    is_named[static_cast<std::size_t>(number)] = 1;
  std::vector<std::int64_t> others;
  for (std::int64_t number = 0; number < count; ++number)
    if (!is_named[static_cast<std::size_t>(number)]) others.push_back(number);
  if (others.empty()) throw Error(option, "one at least that is left", fmt::format("all {}", count));
  return others;
}

/// Leaves out readouts, whose numbers count those of the volume as it is read.
void add_omitted_readouts(io::ScanFile& file, const std::string& omitted) {
  if (omitted.empty()) return;
  file.add([omitted](Scan& scan, io::VolumeContext& context) {
    const auto starts = validation::readout_starts(scan.trajectory, context.readout_length);
    const auto readouts = others_than(omitted, std::ssize(starts) - 1, "--omit-readouts");
    std::vector<std::int64_t> samples, numbers;
    for (const auto r : readouts) {
      const auto j = static_cast<std::size_t>(r);
      for (auto m = starts[j]; m < starts[j + 1]; ++m) samples.push_back(m);
      numbers.push_back(scan.readout_numbers.empty() ? r : scan.readout_numbers[j]);
    }
    keep_samples(scan, samples);
    if (context.readout_length > 0) scan.readout_numbers = std::move(numbers);
    scan.messages.push_back(
        {"omitted", Severity::note,
         fmt::format("readouts {} were left out, as asked for; others are counted without them", omitted)});
  });
}

template <class T>
Array<T> rows_of(const Array<T>& values, const std::vector<std::int64_t>& chosen) {
  if (values.empty()) return {};
  const Shape& all = values.shape();
  const auto count = std::ssize(chosen), length = values.size() / all[0];
  Array<T> rows(all.rank() == 2 ? Shape{count, all[1]} : Shape{count, all[1], all[2], all[3]});
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(values.data() + chosen[static_cast<std::size_t>(i)] * length, length,
                rows.data() + i * length);
  return rows;
}

/// Leaves out coils, with their maps, noise and calibration.
void add_omitted_coils(io::ScanFile& file, const std::string& omitted) {
  if (omitted.empty()) return;
  const auto coils = others_than(omitted, file.summary().coil_count, "--omit-coils");
  file.editable_summary().coil_count = std::ssize(coils);
  file.add([omitted, coils](Scan& scan, io::VolumeContext&) {
    const auto keep = [&](auto& part) {
      part.values = rows_of(part.values, coils);
      part.in_double = rows_of(part.in_double, coils);
    };
    keep(scan.kspace);
    if (scan.sensitivity_maps) keep(*scan.sensitivity_maps);
    if (scan.calibration) keep(scan.calibration->kspace);
    if (scan.noise) scan.noise = rows_of(*scan.noise, coils);
    scan.messages.push_back(
        {"omitted", Severity::note, fmt::format("coils {} were left out, as asked for", omitted)});
  });
}

/// Returns the given frequency in cycles/sample. Throws Error where samples do not resolve it.
double cycles_per_sample(double frequency, double dwell_s) {
  const double cycles = dwell_s > 0 ? frequency * dwell_s : frequency;
  if (!(std::abs(cycles) <= 0.5))
    throw Error("--remove-tone",
                dwell_s > 0
                    ? fmt::format("a frequency from {0:.0f} to {1:.0f} Hz, half of a cycle per sample",
                                  -0.5 / dwell_s, 0.5 / dwell_s)
                    : "a frequency from -0.5 to 0.5 cycles/sample: the scan states no sample times",
                fmt::format("{:g}", frequency));
  return cycles;
}

std::string in_words(const Tone& tone, double dwell_s) {
  const auto frequency = dwell_s > 0 ? fmt::format("{:.2f} \u00b1 {:.1g} Hz", tone.frequency / dwell_s,
                                                   tone.frequency_uncertainty / dwell_s)
                                     : fmt::format("{:.6f} \u00b1 {:.1g} cycles/sample", tone.frequency,
                                                   tone.frequency_uncertainty);
  return fmt::format("a tone of {} was taken off the samples: {:.3g} \u00b1 {:.1g} % of their signal",
                     frequency, 100 * tone.share, 100 * tone.share_uncertainty);
}

/// Returns the field strength of the header. Throws Error where it states none.
double stated_field_strength_t(const io::ScanSummary& summary) {
  const double tesla = summary.acquisition.field_strength_t;
  if (!(tesla > 0))
    throw Error("--concomitant auto", "a field strength in the header of " + summary.path, "none",
                "give it in T: " + option_words("concomitant", "0.55"));
  return tesla;
}

/// Returns the sign with which the program sees phases of the magnet: Siemens's signal is exp(+i phase).
double sign_of_phases(const io::ScanSummary& summary) { return io::is_siemens(summary.acquisition) ? -1 : 1; }

/// Takes off the tone that a volume shows, or one of a given frequency; of its calibration the one that this shows.
void add_tone(io::ScanFile& file, const ReadoutCorrection& correction) {
  using Asked = ReadoutCorrection::Tone;
  if (correction.tone == Asked::left) return;
  file.add([asked = correction.tone, given = correction.tone_frequency](Scan& scan,
                                                                        io::VolumeContext& context) {
    const auto starts = validation::readout_starts(scan.trajectory, context.readout_length);
    const auto clock = sample_clock(scan.sample_time_s, scan.trajectory);
    auto frequency = asked == Asked::given ? std::optional(cycles_per_sample(given, clock.dwell_s))
                                           : validation::tone_in(scan.trajectory, scan.kspace, starts);
    constexpr double visible = 0.02;  // of the signal: edges of an object may look like a weaker one
    const double least = asked == Asked::given ? 0 : visible;
    const auto tone = frequency ? take_off_tone(scan.kspace, starts, clock.times, *frequency, least) : Tone{};
    scan.messages.push_back({"tone", Severity::note,
                             tone.share > 0 ? in_words(tone, clock.dwell_s)
                                            : "no tone was found in the samples, and none was taken off"});
    if (!scan.calibration) return;
    auto& [trajectory, kspace, matrix, fov] = *scan.calibration;
    const auto own_starts = validation::readout_starts(trajectory);
    if ((frequency = validation::tone_in(trajectory, kspace, own_starts)))
      take_off_tone(kspace, own_starts, sample_clock({}, trajectory).times, *frequency, visible);
  });
}

}  // namespace

void add_maxwell_terms(io::ScanFile& file, std::optional<double> field_strength_t) {
  const auto& summary = file.summary();
  const double stated_t = summary.acquisition.field_strength_t, sign = sign_of_phases(summary);
  if (!field_strength_t) {
    if (!(stated_t > 0) || !summary.has_sample_time) return;
    file.add([=](Scan& scan, io::VolumeContext& context) {
      if (context.repetition > 0 || (scan.fields && has_higher_orders(*scan.fields))) return;
      const auto starts = validation::readout_starts(scan.trajectory, context.readout_length);
      if (auto found = warning_of_maxwell_terms(scan, starts, stated_t))
        scan.messages.push_back(std::move(*found));
    });
    return;
  }
  const double tesla = *field_strength_t > 0 ? *field_strength_t : stated_field_strength_t(summary);
  file.editable_summary().has_fields = true;
  file.add([=, states_directions = summary.states_directions](Scan& scan, io::VolumeContext& context) {
    const auto starts = validation::readout_starts(scan.trajectory, context.readout_length);
    scan = with_maxwell_terms(std::move(scan), starts, tesla, sign);
    if (!states_directions) io::warn_of_place(scan);
    scan.messages.push_back(
        {"concomitant", Severity::note,
         fmt::format(
             "Maxwell terms of the gradients at {:g} T are part of the model: up to {:.2g} rad within the "
             "field of view",
             tesla, largest_maxwell_phase(scan, starts, tesla))});
  });
}

void correct_readouts(const std::vector<io::ScanFile*>& files, const ReadoutCorrection& correction,
                      BeyondMatrix leaves) {
  using Delays = ReadoutCorrection::Delays;
  std::shared_future<DelaysOfScan> delays;  // found by the first thread that asks
  for (auto* file : files) {
    add_omitted_coils(*file, correction.omitted_coils);
    add_omitted_readouts(*file, correction.omitted_readouts);
    add_tone(*file, correction);
    add_scale(*file, correction.scale, leaves);
    add_girf(*file, correction.girf, leaves);
    if (correction.delays != Delays::off) {
      if (!delays.valid()) delays = std::async(std::launch::deferred, delays_of, *file, correction).share();
      add_correction(
          *file, leaves,
          [delays, leaves](Scan scan, const ReadoutStarts& starts, const ReadoutStarts& of_calibration) {
            const auto& [found, remark] = delays.get();
            scan.messages.push_back({codes::delays, Severity::note, remark});
            return with_delays(std::move(scan), starts, found, of_calibration, leaves);
          });
    }
    add_maxwell_terms(*file, correction.concomitant_t);
  }
}

// --- The field map

namespace {

/// A slice of every echo, and whether some were read backwards.
struct ReadEchoes {
  std::vector<Scan> scans{};
  bool are_bipolar = false;
};

/// Reads a slice of every echo. Throws Error where echoes differ in their place in the patient or in k-space.
ReadEchoes read_echoes(const std::vector<Echo>& echoes, std::int64_t slice) {
  ReadEchoes result;
  auto& scans = result.scans;
  const auto equal = [](const auto& a, const auto& b) {
    return a.shape() == b.shape() && std::equal(a.begin(), a.end(), b.begin());
  };
  for (const auto& echo : echoes) {
    Scan& scan = scans.emplace_back(echo.file->read(slice, echo.repetition));
    const Scan& first = scans.front();
    scan.field_map.reset();
    scan.field_map_in_double = {};
    scan.cropped_matrix_size = {};  // a field map is on the voxels that are reconstructed
    if (holds(scan.messages, io::missing_volume, Severity::warning))
      throw Error(echo.file->summary().path, "readouts of every echo",
                  fmt::format("none of slice {}, repetition {}", slice, echo.repetition));
    if (!equal(scan.trajectory.k, first.trajectory.k)) {
      scan = in_order_of(first, Scan(scan));
      if (!equal(scan.trajectory.k, first.trajectory.k))
        throw Error(echo.file->summary().path, "echoes at the same k-space positions", "others",
                    "only echoes whose readouts are alike can be compared");
      result.are_bipolar = true;
    }
    const auto is_the_same = [&](const Scan& other) {
      return std::equal(scan.kspace.values.begin(), scan.kspace.values.end(), other.kspace.values.begin());
    };
    if (std::any_of(scans.begin(), scans.end() - 1, is_the_same))
      throw Error(echo.file->summary().path, "echoes with values of their own", "the values of another echo",
                  "give each echo once");
    if (!io::are_in_one_place(first.geometry, scan.geometry))
      throw Error(fmt::format("{}, slice {}", echo.file->summary().path, slice),
                  "the FOV, position and directions of " + echoes.front().file->summary().path, "others",
                  "only echoes of the same voxels can be compared");
  }
  return result;
}

/// Returns the images of a slice of every echo, with the maps of the first: their phases differ by the field alone.
std::vector<Reconstruction> images_of(const std::vector<Scan>& scans, ReconEngine& engine,
                                      const ScanChecks& checks, bool is_checked, const RunEvents& events) {
  const auto series = std::make_shared<SliceSeries>(scans.front());
  const auto at_once = static_cast<std::size_t>(std::max<std::int64_t>(1, engine.volumes_at_once(*series)));
  std::vector<Reconstruction> made;
  for (std::size_t first = 0; first < scans.size(); first += at_once) {
    VolumeGroup group{{}, series, first == 0};
    for (std::size_t e = first; e < std::min(first + at_once, scans.size()); ++e)
      group.volumes.push_back(&scans[e]);
    group.checks = checks;
    if (is_checked && first == 0) group.checked = 0;
    for (auto& result : engine(group, events)) made.push_back(std::move(result.reconstruction));
  }
  return made;
}

constexpr auto bipolar_caveat =
    "; the echoes are read in opposite directions: a delay between these, or eddy currents, look like a "
    "frequency that rises along the readout";

/// Returns least squares that keep the phase, with the transform and coils of `settings`.
Settings settings_of_echoes(const Settings& settings) {
  LeastSquares method;
  if (const auto* own = least_squares(settings)) {
    method.transform = own->transform;
    method.normal = own->normal;
    method.preconditioner = own->preconditioner;
  }
  Settings result = settings;
  result.method = method;
  result.coils.map_sets = MapSetCount::one;  // phases are those of the first
  return result;
}

std::vector<Echo> echoes_of_scan(io::ScanFile& file) {
  const auto& summary = file.summary();
  if (io::echoes_of(summary).size() < 2)
    throw Error("--field-map auto", "a scan of two or more echoes (ISMRMRD: contrasts)",
                "one echo in " + summary.path, "make the map of several scans with 'fhd fieldmap'");
  if (!summary.has_sample_time)
    throw Error("--field-map auto", "the times of the samples", "none in " + summary.path,
                "an fhd HDF5 file holds them as /sample_time_s");
  if (!io::echo_time_s(summary, io::echoes_of(summary).front()))
    throw Error("--field-map auto", "an echo time (TE) of each echo", "none in the header of " + summary.path,
                "make the map with 'fhd fieldmap --echo-times MS,MS...'");
  return find_echoes({&file}, {}, {});
}

}  // namespace

std::vector<Echo> find_echoes(const std::vector<io::ScanFile*>& files,
                              const std::optional<std::vector<double>>& given, const RunEvents& events) {
  std::vector<Echo> echoes;
  for (auto* const file : files)
    for (const auto repetition : io::echoes_of(file->summary())) echoes.push_back({file, repetition, 0});
  const auto& first = files.front()->summary();
  if (echoes.size() < 2)
    throw Error(first.path, "two or more echoes: contrasts of one scan, or a scan each", "one",
                "give the scan of another echo, too");
  if (given && given->size() != echoes.size())
    throw Error("--echo-times", fmt::format("{} times, one for each echo", echoes.size()),
                std::to_string(given->size()));
  for (std::size_t e = 0; e < echoes.size(); ++e) {
    const auto& summary = echoes[e].file->summary();
    const auto time = given ? (*given)[e] : io::echo_time_s(summary, echoes[e].repetition);
    if (!time)
      throw Error(summary.path, fmt::format("an echo time (TE) of each of the {} echoes", echoes.size()),
                  "none", "give them with 'fhd fieldmap --echo-times MS,MS...'");
    echoes[e].time_s = *time;
    if (const auto stated = io::echo_time_s(summary, echoes[e].repetition);
        stated && std::abs(*stated - *time) > 1e-6)
      events.on_text("note", fmt::format("{}: the header says TE {:g} ms, {:g} ms of --echo-times is used",
                                         summary.path, *stated * 1e3, *time * 1e3));
    if (summary.geometry.matrix_size != first.geometry.matrix_size ||
        summary.slice_count != first.slice_count || summary.coil_count != first.coil_count)
      throw Error(summary.path, "the matrix, slices and coils of " + first.path, "others");
  }
  std::stable_sort(echoes.begin(), echoes.end(),
                   [](const Echo& a, const Echo& b) { return a.time_s < b.time_s; });
  for (std::size_t e = 1; e < echoes.size(); ++e)
    if (!(echoes[e].time_s - echoes[e - 1].time_s >= io::least_echo_spacing_s))
      throw Error(echoes[e].file->summary().path,
                  fmt::format("echoes at times {:g} ms or more apart", io::least_echo_spacing_s * 1e3),
                  fmt::format("{:g} and {:g} ms", echoes[e - 1].time_s * 1e3, echoes[e].time_s * 1e3),
                  "give the true ones with 'fhd fieldmap --echo-times MS,MS...'");
  return echoes;
}

void require_phase(const Settings& settings) {
  const auto* method = least_squares(settings);
  const auto refuse = [](const std::string& found) {
    throw UsageError(Error("echoes",
                           "images that keep their phase: " + option_words("method", "cg") + ", without " +
                               option_words("lambda", "auto") + ", wavelet, tv or tgv",
                           found, "leave it out"));
  };
  if (!method) refuse(option_words("method", name_of(settings.method)));
  if (std::holds_alternative<FromNoise>(method->lambda)) refuse(option_words("lambda", "auto"));
  if (!method->sparse.empty()) refuse(option_words("regularizer", name_of(method->sparse.front().kind)));
}

namespace {

/// Returns "; known but for multiples of ...", where the times leave that open; else an empty text.
std::string openness(const std::vector<double>& times) {
  double shortest = INFINITY;
  for (std::size_t e = 1; e < times.size(); ++e) shortest = std::min(shortest, times[e] - times[e - 1]);
  for (const double time : times) {
    const double steps = (time - times.front()) / shortest;
    if (std::abs(steps - std::round(steps)) > 0.02) return {};
  }
  return fmt::format(
      "; known but for multiples of {:.3g} Hz, of which the median of the object is nearest 0 Hz",
      1 / shortest);
}

std::string remark_on(const std::vector<Array<float>>& maps, const std::vector<double>& times) {
  double lowest = INFINITY, highest = -INFINITY;
  for (const auto& map : maps) {
    const auto [least, most] = std::minmax_element(map.begin(), map.end());
    lowest = std::min<double>(lowest, *least), highest = std::max<double>(highest, *most);
  }
  constexpr double hz = 1 / (2 * std::numbers::pi);
  std::vector<double> times_ms;
  for (const double time : times) times_ms.push_back(time * 1e3);
  return fmt::format("off-resonance of {:.3g} ... {:.3g} Hz was found in the echoes at {:g} ms{}",
                     lowest * hz, highest * hz, fmt::join(times_ms, ", "), openness(times));
}

}  // namespace

FieldMaps field_maps_of(const std::vector<Echo>& echoes, double smoothing, const Settings& settings,
                        ReconEngine& engine, bool delays_are_corrected, const RunEvents& events,
                        const OnEcho& on_echo) {
  FieldMaps result;
  std::vector<double> times;
  for (const auto& echo : echoes) times.push_back(echo.time_s);
  const std::int64_t slices = echoes.front().file->summary().slice_count;
  bool is_bipolar = false;
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    const auto [scans, are_bipolar] = read_echoes(echoes, slice);
    is_bipolar = is_bipolar || are_bipolar;
    if (!takes_series(settings, {}, scans.front()))
      throw Error("echoes", "sensitivity maps, or one coil",
                  fmt::format("{} coils without maps", scans.front().kspace.coil_count()),
                  "leave out " + option_words("coils", "none"));
    const auto made = images_of(scans, engine, {delays_are_corrected}, slice == slices / 2, events);
    for (std::size_t e = 0; on_echo && e < made.size(); ++e) on_echo(slice, e, made[e].report);
    std::vector<const Array<Complex<float>>*> values;
    for (const auto& echo : made) values.push_back(&echo.image.values);
    result.maps.push_back(field_map_of_echoes(values, times, smoothing));
    result.geometries.push_back(made.front().image.geometry);
  }
  result.remark = remark_on(result.maps, times) + (is_bipolar ? bipolar_caveat : "");
  return result;
}

FieldMaps found_field_map(io::ScanFile& file, const Settings& settings, const ChosenDevice& device,
                          std::shared_ptr<TrajectoryCache> cache, const RunEvents& events) {
  const auto echoes = echoes_of_scan(file);
  const Settings of_echoes = settings_of_echoes(settings);
  const CurrentDevice current(device.device);
  ReconEngine engine(of_echoes, {}, device, std::move(cache), {});
  // Suspicions of these images are reported of the corrected ones.
  return field_maps_of(echoes, default_smoothing_voxels, of_echoes, engine, true, events);
}

void set_field_map(io::ScanFile& file, FieldMaps found) {
  file.editable_summary().has_field_map = !found.maps.empty();
  file.add([found = std::move(found)](Scan& scan, io::VolumeContext& context) {
    scan.field_map.reset();
    scan.field_map_in_double = {};
    if (!found.maps.empty()) scan.field_map = found.maps[static_cast<std::size_t>(context.slice)];
    if (!found.remark.empty()) scan.messages.push_back({"field_map", Severity::note, found.remark});
  });
}

}  // namespace fhd::app
