#include "app/options/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "app/options/nearest_word.hpp"
#include "io/reader/limits.hpp"
#include "io/result/formats.hpp"
#include "io/scan/checksum.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/noise_map.hpp"

namespace fhd::app {
namespace {

using Rows = std::vector<OptionRow>;

/// The commands that read scans, that reconstruct them, and that make results of them.
constexpr unsigned making = in_recon | in_batch,
                   reconstructing = making | in_plan | in_compare | in_fieldmap | in_session,
                   reading = reconstructing | in_forward | in_check | in_info,
                   starting = making | in_plan | in_compare | in_fieldmap | in_forward | in_serve;

// --- Rows of one kind. A field is a function from RunOptions to the field, which reads and sets it.

#define FHD_FIELD(member) \
  [](auto& o) -> auto& { return o.member; }

template <class Field>
using ValueOf = std::remove_cvref_t<std::invoke_result_t<Field, RunOptions&>>;

std::string in_braces(const std::vector<std::string>& words) {
  return fmt::format("{{{}}}", fmt::join(words, ","));
}

/// An option whose values are words, in the order of the values of its field, an enum or bool.
template <class Field>
OptionRow choice(const char* flag, Field field, std::string help, std::vector<std::string> words) {
  return {flag, in_braces(words), std::move(help),
          [=](RunOptions& o, const std::string& text) {
            field(o) = static_cast<ValueOf<Field>>(place_of(flag, text, words));
          },
          [=](const RunOptions& o) { return words[static_cast<std::size_t>(field(o))]; }};
}
template <class Field>
OptionRow choice(const char* flag, Field field, std::string help) {
  const auto names = names_of(ValueOf<Field>{});
  return choice(flag, field, std::move(help), {names.begin(), names.end()});
}

/// An option that is a real number.
template <class Field>
OptionRow number(const char* flag, Field field, std::string help) {
  return {flag, "NUMBER", std::move(help),
          [=](RunOptions& o, const std::string& text) {
            if (!parse_number(text, field(o))) throw Error(flag, "a number", "'" + text + "'");
          },
          [=](const RunOptions& o) { return fmt::format("{:g}", field(o)); }};
}

/// An option that is a whole number in [least, most]; a field of 0 shows no default.
template <class Field>
OptionRow whole(const char* flag, Field field, std::string help, std::int64_t least,
                std::int64_t most = std::numeric_limits<int>::max()) {
  OptionRow row{flag, "N", std::move(help), [=](RunOptions& o, const std::string& text) {
                  field(o) = static_cast<int>(whole_of(flag, text, least, most));
                }};
  if constexpr (std::is_integral_v<ValueOf<Field>>)
    row.standard = [=](const RunOptions& o) { return field(o) == 0 ? "" : std::to_string(field(o)); };
  return row;
}

template <class Field>
OptionRow flag(const char* name, Field field, std::string help) {
  return {name, "", std::move(help), [=](RunOptions& o, const std::string& text) {
            field(o) = place_of(name, text, {"false", "true"}) == 1;
          }};
}

/// An option that is stored as it was typed, such as the name of a file.
template <class Field>
OptionRow text(const char* flag, Field field, const char* value, std::string help) {
  OptionRow row{flag, value, std::move(help),
                [=](RunOptions& o, const std::string& typed) { field(o) = typed; }};
  if constexpr (std::is_same_v<ValueOf<Field>, std::string>)
    row.standard = [=](const RunOptions& o) { return field(o); };
  return row;
}

// --- Values that several words or numbers make

void set_method(RunOptions& o, const std::string& word) {
  const Method methods[] = {LeastSquares{}, ConventionalGridding{}, PlainAdjoint{}, CartesianFft{}};
  o.chosen.method = methods[place_of("--method", word, {method_names.begin(), method_names.end()})];
}

void set_lambda(RunOptions& o, const std::string& text) {
  double value = 0;
  if (text == "auto")
    o.lambda = FromNoise{};
  else if (parse_number(text, value))
    o.lambda = OfLargestEigenvalue{value};
  else
    throw Error("--lambda", "auto, or a number >= 0 relative to the largest eigenvalue of F^H F",
                "'" + text + "'");
}

void set_compression(RunOptions& o, const std::string& text) {
  auto& compression = o.chosen.coils.compression;
  double value = 0;
  const bool is_number = parse_number(text, value);
  if (text == "auto")
    compression = AutomaticCompression{};
  else if (text == "off")
    compression = NoCompression{};
  else if (is_number && value > 0 && value < 1)
    compression = KeptEnergy{value};
  else if (is_number && value >= 1 && value <= 65535 && value == std::floor(value))
    compression = VirtualCoils{static_cast<std::int64_t>(value)};
  else
    throw Error("--compress", "auto, off, a number of virtual coils, or a share of energy between 0 and 1",
                "'" + text + "'");
}

void set_trajectory_correction(RunOptions& o, const std::string& text) {
  using Delays = ReadoutCorrection::Delays;
  constexpr auto flag = "--trajectory-correction";
  if (text == "auto" || text == "off")
    o.correction.delays = text == "auto" ? Delays::automatic : Delays::off;
  else if (text.find(',') == std::string::npos)
    throw Error(flag, "auto, off, or delays in samples such as 0.5,0.2", "'" + text + "'",
                did_you_mean(text, {"auto", "off"}));
  else {
    o.correction.delays = Delays::given;
    o.correction.delay_samples = parse_delays(text, flag);
  }
}

void set_tone(RunOptions& o, const std::string& text) {
  using Tone = ReadoutCorrection::Tone;
  o.correction.tone = text == "auto" ? Tone::automatic : Tone::given;
  if (text != "auto" && !parse_number(text, o.correction.tone_frequency))
    throw Error("--remove-tone", "auto, or a frequency in Hz", "'" + text + "'",
                did_you_mean(text, {"auto"}));
}

void set_trajectory_scale(RunOptions& o, const std::string& text) { o.correction.scale = parse_scale(text); }

void set_concomitant(RunOptions& o, const std::string& text) {
  double tesla = 0;
  if (text != "auto" && (!parse_number(text, tesla) || !(tesla > 0 && tesla < 100)))
    throw Error("--concomitant", "auto, or the field strength in T", "'" + text + "'",
                did_you_mean(text, {"auto"}));
  o.correction.concomitant_t = tesla;
}

void set_noise_map(RunOptions& o, const std::string& text) {
  NoiseMapRequest request;
  double number = 0;
  if (text != "exact") {
    if (!parse_number(text, number) || !(number > 0 && number < 1e15) || number != std::floor(number))
      throw Error("--noise-map", "a number of replicas, or exact", "'" + text + "'",
                  "100 tell the deviation to 5 %");
    request.replicas = static_cast<std::int64_t>(number);
  }
  o.noise_map = request;
}

/// Sets --field-map of commands that can make one of the echoes.
void set_field_map(RunOptions& o, const std::string& text) {
  o.field_map = text == "auto"  ? FieldMapChoice::from_echoes
                : text == "off" ? FieldMapChoice::off
                                : FieldMapChoice::of_scan;
  o.read_options.outside.field_map = o.field_map == FieldMapChoice::of_scan ? text : "";
}

void set_field_map_file(RunOptions& o, const std::string& text) {
  if (text == "auto" || text == "off")
    throw Error("--field-map", "a file", "'" + text + "', which 'fhd recon' and 'fhd batch' alone take");
  o.read_options.outside.field_map = text;
}

// --- The rows

Rows outputs() {
  return {
      text("--slices", FHD_FIELD(selection.slices), "LIST|all", "which slices: all, or such as 0-3,7"),
      text("--repetitions", FHD_FIELD(selection.repetitions), "LIST|all",
           "which repetitions: all, or such as 0-3,7"),
      flag("--strict", FHD_FIELD(strict),
           "fail, and write nothing, where the image or the scan is suspicious")
          .in(making),
      flag("--strict", FHD_FIELD(strict), "warnings, too, give exit status 1").in(in_check),
      flag("--phase", FHD_FIELD(phase), "also write the phase in rad, OUT_phase.nii.gz").in(making),
      whole("--compression", FHD_FIELD(compression),
            "level of the .nii.gz, 0 (none, fastest) to 9 (smallest); the .png is made smaller from 6 on [1]",
            0, 9)
          .in(making),
      text("--truth", FHD_FIELD(truth), "FILE",
           "HDF5 file with the true /image [SCAN.truth.h5 of 'fhd simulate', where it exists]")
          .in(in_compare),
      whole("--slice", FHD_FIELD(slice), "which slice of a scan of several [0]", 0).in(in_compare),
      whole("--repetition", FHD_FIELD(repetition), "which repetition of a scan of several [0]", 0)
          .in(in_compare)};
}

/// Returns the options of the formats of results that have one: `fhd recon` is told a place, `fhd batch` writes beside
/// the others.
Rows further_formats() {
  Rows rows;
  for (const auto* format : io::result_formats()) {
    if (format->option == nullptr) continue;
    const auto add = [format](RunOptions& o, const std::string& place) { o.formats[format->name] = place; };
    rows.push_back(OptionRow{format->option, format->is_folder ? "DIR" : "FILE",
                             fmt::format("also write {}", format->help), add}
                       .in(in_recon)
                       .not_for_recipes());
    rows.push_back(OptionRow{
        format->option, "", fmt::format("also write NAME{}, {}", format->ending, format->help),
        [=](RunOptions& o, const std::string& text) {
          o.formats.erase(format->name);
          if (place_of(format->option, text, {"false", "true"}) == 1) add(o, "");
        }}.in(in_batch));
  }
  return rows;
}

Rows further_images() {
  return {flag("--no-gridded-image", FHD_FIELD(no_gridded_image),
               "leave out the gridded image that OUT.h5 holds beside the other, as /gridded"),
          OptionRow{"--noise-map", "N|exact",
                    "also write the standard deviation, SNR and g-factor of every voxel, in OUT.h5 and as "
                    "OUT_noise.nii.gz, OUT_snr.nii.gz, OUT_gfactor.nii.gz: from N pseudo-replicas of the "
                    "scan, or exact for Cartesian scans with regular gaps; of one volume",
                    set_noise_map}};
}

Rows devices() {
  return {
      OptionRow{"--device", "auto|cpu|cuda|cuda:all|GPUS",
                "auto: a GPU where there is one, else the CPU, and the CPU for a small scan; cpu; cuda; "
                "cuda:N, the GPU of that number; or several GPUs, cuda:all or cuda:0,2",
                [](RunOptions& o, const std::string& text) { o.device.set_name(text); }}
          .shows([](const RunOptions& o) { return o.device.name; }),
      OptionRow{"--device-memory", "SIZE",
                "memory of a GPU to use, at most; such as 8GiB, 500MiB or 50% [what is free]",
                [](RunOptions& o, const std::string& text) { o.device.memory = parse_device_memory(text); }},
      whole("--threads", FHD_FIELD(threads),
            "processor threads [all, or as many as a container's quota allots]", 0, 4096)
          .in(reconstructing & ~in_session),
      text("--cache", FHD_FIELD(cache), "DIR|auto|off",
           "folder that stores Q and density compensation of a trajectory for other scans; auto: the "
           "user's; off")
          .in(reconstructing & ~in_session)
          .not_for_recipes()};
}

Rows frames() {
  return {
      whole("--frames", FHD_FIELD(frames.choice.frames),
            "cut the readouts of a continuous acquisition, in their order, into so many frames of equal "
            "length, which are solved together; --regularizer temporal-tv, llr",
            2),
      whole("--spokes-per-frame", FHD_FIELD(frames.choice.readouts_per_frame),
            "or so many readouts to a frame", 1),
      whole("--sliding", FHD_FIELD(frames.choice.step),
            "with --spokes-per-frame: readouts by which a frame moves on [those of a frame]", 1),
      text("--gate", FHD_FIELD(frames.gate), "self|physiology|FILE",
           "frames are bins of a motion, --frames of them [4]: self (breathing, from the centre of "
           "k-space), physiology[:K] (heartbeats, by time stamp K of the ISMRMRD file [0]), or a text or "
           "HDF5 file (/gating/signal) with one number for each readout"),
      text("--basis", FHD_FIELD(frames.basis), "K|FILE",
           "frames are sums of a few courses in time: of K, found in frames of low resolution, or those of "
           "a text or HDF5 file (/subspace/basis), a course a row or a column; --regularizer llr, wavelet, "
           "tv")};
}

Rows solution() {
  constexpr unsigned not_compared = reconstructing & ~in_compare;  // `fhd compare` varies these itself
  return {
      OptionRow{"--method", in_braces({method_names.begin(), method_names.end()}),
                "cg: least squares; gridded: density-compensated; adjoint: F^H d; fft: Cartesian scans",
                set_method}
          .in(not_compared)
          .shows([](const RunOptions& o) { return name_of(o.chosen.method); }),
      choice("--transform", FHD_FIELD(solver.transform.kind),
             "direct: exact sums; auto: direct when affordable")
          .in(not_compared),
      choice("--normal", FHD_FIELD(solver.normal), "how F^H F is applied in an iteration"),
      choice(
          "--preconditioner", FHD_FIELD(solver.preconditioner),
          "of conjugate gradient; auto: circulant, from the sampling density and the maps; fewer iterations"),
      OptionRow{"--regularizer", "TERM[:STRENGTH],...",
                "identity or roughness (finite differences), the W of --lambda; or a sum of terms with "
                "strengths, such as wavelet:0.01 or identity:0.01,tv:0.02; terms: identity, roughness, "
                "wavelet, tv, tgv, the last three also with auto: the strength that the noise asks for; and "
                "of --frames temporal-tv, llr; identity:0 beside a term: without the floor that keeps images "
                "stable",
                [](RunOptions& o, const std::string& text) { o.regularizer = parse_regularizer(text); }}
          .with_words(regularizer_names())
          .shows([](const RunOptions& o) { return o.regularizer.quadratic; }),
      text("--prior", FHD_FIELD(prior), "FILE",
           "NIfTI image of the same anatomy: finite differences are penalised less across its edges")
          .in(reconstructing | in_check),
      number("--prior-strength", FHD_FIELD(prior_strength), "larger: weaker edges of the prior count too"),
      OptionRow{"--lambda", "NUMBER|auto",
                "weight of |W rho|^2, relative to the largest eigenvalue of F^H F; auto: that of the least "
                "estimated error, or the default where the noise is not known [0.05 of the mean eigenvalue; "
                "of a single Cartesian image with gaps, from what a first image leaves of the samples]",
                set_lambda},
      whole("--iterations", FHD_FIELD(solver.iterations),
            fmt::format("of the solver, at most; {} with wavelet, tv, tgv", sparse_iterations), 1),
      number("--tolerance", FHD_FIELD(solver.tolerance),
             fmt::format("stop at this relative residual of the normal equations; {}, of the conditions of "
                         "optimality, with wavelet, tv, tgv",
                         sparse_tolerance)),
      number("--accuracy", FHD_FIELD(solver.transform.accuracy),
             "relative error accepted of the transform; direct sums are as a rule better"),
      choice("--precision", FHD_FIELD(chosen.precision), "floating-point precision").in(not_compared),
      choice("--gpu-sums", FHD_FIELD(solver.transform.gpu_sums),
             "direct sums of a GPU: matrices on tensor cores, or pair by pair with sin and cos by "
             "special-function units or to 1 ulp")
          .in(not_compared)};
}

Rows coils_and_trajectory() {
  return {
      choice("--coils", FHD_FIELD(chosen.coils.maps),
             "sensitivity maps: of the file, or found here (joint: with an image, where calibration is "
             "thin); auto: the file's, else espirit for cg; none: root of the sum of squares"),
      choice("--maps-from", FHD_FIELD(maps_from),
             "find the maps from one volume, or from all repetitions together, which take turns in what "
             "they sample; auto: from all where one does not tell them",
             {"auto", "series", "volume"})
          .in(making | in_plan),
      choice("--map-sets", FHD_FIELD(chosen.coils.map_sets),
             "sets of ESPIRiT's maps, each with an image; 2: of objects folded in the field of view; "
             "auto: where they are"),
      choice("--whiten", FHD_FIELD(chosen.coils.whitening),
             "coils by their noise; auto: noise readouts; edge: without these the edge of k-space"),
      OptionRow{"--compress", "N|SHARE|auto|off",
                "virtual coils: a number, a share of energy such as 0.99, off, or auto: above 12 coils",
                set_compression}
          .shows([](const RunOptions&) { return "auto"; }),
      flag("--allow-folding", FHD_FIELD(chosen.coils.allow_folding),
           "solve regularly undersampled Cartesian scans without maps or reference too: the image folds"),
      choice("--partial-fourier", FHD_FIELD(solver.partial_fourier),
             "Cartesian scans that leave out most of one side of k-space; phase: an image that is real "
             "but for the phase of the centre of k-space, where that is smooth"),
      choice("--surroundings", FHD_FIELD(chosen.outside_fov),
             "tissue beyond the field of view; auto: where the samples tell it apart, cg reconstructs "
             "a larger matrix and crops it"),
      OptionRow{"--trajectory-correction", "auto|off|X,Y[,Z]",
                "gradients that play later than the trajectory says: auto: by as much as the centre of "
                "k-space shows; or delays in samples along x, y and z; or off",
                set_trajectory_correction}
          .shows([](const RunOptions&) { return "off"; }),
      OptionRow{"--trajectory-scale", "X,Y,Z",
                "factors of k-space positions, for gradients that play less or more than the trajectory "
                "says: N, X,Y or X,Y,Z [1]",
                set_trajectory_scale},
      text("--omit-readouts", FHD_FIELD(correction.omitted_readouts), "LIST",
           "readouts of each volume to leave out, from 0, as a run without this option counts them, such "
           "as 0-3,7"),
      text("--omit-coils", FHD_FIELD(correction.omitted_coils), "LIST",
           "coils to leave out, from 0, such as 0-3,7"),
      OptionRow{"--remove-tone", "auto|HZ",
                "take a tone of one frequency (zipper, interference) off the samples: auto: where they "
                "show one; or that at a frequency in Hz, or in cycles/sample where the scan states no "
                "sample times",
                set_tone},
      text("--girf", FHD_FIELD(correction.girf), "FILE",
           "impulse responses of the gradients, which turn the trajectory into the one that was "
           "played: HDF5 with /girf [axis][frequency] and /frequency_hz"),
      OptionRow{"--concomitant", "auto|NUMBER",
                "phases of concomitant (Maxwell) fields, from the gradients that the trajectory tells and "
                "the field strength in T; auto: that of the header [not part of the model]",
                set_concomitant}
          .in(reconstructing | in_forward)};
}

Rows missing_facts() {
  return {
      OptionRow{"--matrix", "X,Y,Z", "voxels of the image: N, X,Y or X,Y,Z [as the file says]",
                [](RunOptions& o, const std::string& text) {
                  o.read_options.matrix_size = parse_matrix_size(text);
                }},
      OptionRow{"--fov-mm", "X,Y,Z", "field of view in mm: F, X,Y or X,Y,Z [as the file says]",
                [](RunOptions& o, const std::string& text) { o.read_options.fov_mm = parse_fov_mm(text); }},
      OptionRow{
          "--trajectory-unit",
          "auto|cycles/FOV|cycles/reconFOV|cycles/voxel|radians/voxel|1/m|1/mm|radians/m|radians/mm|kmax",
          "unit of k-space positions; kmax: 1 at the edge [auto]",
          [](RunOptions& o, const std::string& text) {
            o.read_options.trajectory_unit = io::parse_trajectory_unit(text, "--trajectory-unit");
          }},
      choice("--trajectory-axes", FHD_FIELD(read_options.trajectory_axes),
             "axes of k-space positions: those of the image, or of the magnet, the patient's L, P, S as the "
             "directions are stated; auto: as the samples fit the directions",
             {"auto", "image", "magnet"}),
      choice("--zeros", FHD_FIELD(read_options.zeros_are_measured),
             "samples that are zero in every coil; auto: left out where they are a mask",
             {"auto", "measured"}),
      text("--group", FHD_FIELD(read_options.group), "NAME",
           "which measurement of an ISMRMRD file that holds several [the only one]")};
}

Rows outside_pieces() {
  const std::string field_map =
      "off-resonance: NIfTI, brought to the scan's voxels by both affine maps, or HDF5 (/field_map)";
  return {
      text("--trajectory", FHD_FIELD(read_options.outside.trajectory), "FILE",
           "trajectory in place of the scan's: a Pulseq sequence (.seq), HDF5 (/trajectory), BART .cfl "
           "[3][samples], or "
           "another scan's"),
      text("--maps", FHD_FIELD(read_options.outside.sensitivity_maps), "FILE",
           "sensitivity maps of the scan's coils and matrix: HDF5 (/sensitivity_maps), or BART .cfl"),
      text("--noise", FHD_FIELD(read_options.outside.noise), "FILE",
           "noise for whitening: ISMRMRD (readouts flagged as noise, else all), HDF5 (/noise), or BART .cfl"),
      OptionRow{"--field-map", "FILE|auto|off",
                field_map + "; auto: found in the echoes of the scan; off: not corrected [that of the scan]",
                set_field_map}
          .in(making),
      OptionRow{"--field-map", "FILE", field_map, set_field_map_file}.in(reading & ~making),
      choice("--field-map-unit", FHD_FIELD(read_options.outside.field_map_unit), "of --field-map",
             {"rad/s", "hz"}),
      text("--r2star", FHD_FIELD(read_options.outside.decay), "FILE",
           "decay, 1/T2* in 1/s: NIfTI or HDF5 (/r2star), as --field-map; of two components HDF5 with "
           "/r2star_second and /r2star_fraction, too"),
      text("--fields", FHD_FIELD(read_options.outside.fields), "FILE",
           "measured fields that are not linear in space: HDF5 (/field_coefficients [term][sample] in "
           "rad/m^n, "
           "/field_basis), of MatMRI, or text with a line for each sample; x, y, z among them replace the "
           "trajectory"),
      text("--gradient-coefficients", FHD_FIELD(read_options.outside.gradient_coefficients), "FILE",
           "spherical harmonics of gradients that are not linear: Siemens .grad")};
}

/// How much reading files of others may cost (io/reader). The rows hold for the process and set no field.
Rows input_limits() {
  return {
      {"--trust-input", "",
       "read files in this process, without limits of memory and time: for files of your own",
       [](RunOptions&, const std::string& text) { io::reader::limits().trusts_input = text == "true"; }},
      {"--input-memory", "GIB",
       "GiB of memory that reading a file may take [192 MiB and 8 times its size, or 1 GiB where that can "
       "be compressed into it]",
       [](RunOptions&, const std::string& text) {
         io::reader::limits().memory_gib = number_of("--input-memory", text, 0.001, 1e6);
       }},
      {"--input-seconds", "NUMBER",
       "s that opening a file or reading a volume may take [30, and 1 for 20 MB; of a processor 1.2, and 1 "
       "for 10 MB]",
       [](RunOptions&, const std::string& text) {
         io::reader::limits().seconds = number_of("--input-seconds", text, 0.001, 1e9);
       }}};
}

}  // namespace

const std::vector<OptionRow>& option_table() {
  static const Rows table = [] {
    Rows all;
    const auto add = [&](Rows rows, const char* group, unsigned commands, Effect effect) {
      for (auto& row : rows) {
        row.group = group;
        if (row.commands == 0) row.commands = commands;
        row.effect = effect;
        all.push_back(std::move(row));
      }
    };
    add(outputs(), "Options", making | in_plan | in_forward, Effect::files);
    add(further_formats(), "Options", making, Effect::files);
    add(further_images(), "Options", making | in_plan, Effect::image);
    add(devices(), "Options", starting, Effect::machine);
    add(missing_facts(), "Options", reading, Effect::image);
    add(frames(), "Frames", making | in_plan, Effect::image);
    add(solution(), "Reconstruction", reconstructing, Effect::image);
    add(coils_and_trajectory(), "Reconstruction", reconstructing, Effect::image);
    add(outside_pieces(), "Pieces from files of their own", reading, Effect::image);
    add(input_limits(), "Options", in_process, Effect::machine);
    return all;
  }();
  return table;
}

// --- Options by name

const OptionRow* find_option(const std::string& flag, unsigned commands) {
  const auto& table = option_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const OptionRow& row) {
    return row.flag == flag && (row.commands & commands) != 0;
  });
  return found == table.end() ? nullptr : &*found;
}

void set_option(RunOptions& options, const OptionRow& row, const std::string& value) {
  if (value.empty()) throw Error(row.flag, "a value", "none", "leave the option out");
  row.set(options, value);
  if (row.is_flag() && value == "false")
    options.given.erase(row.flag);
  else
    options.given[row.flag] = value;
}

void add_option(CLI::App& app, RunOptions& options, const OptionRow& row) {
  const auto set = [&options, &row](const std::string& value) { set_option(options, row, value); };
  auto* const option =
      row.is_flag() ? app.add_flag_callback(
                          row.flag, [set] { set("true"); }, row.help)
                    : app.add_option_function<std::string>(row.flag, set, row.help)->type_name(row.value);
  option->group(row.group);
  if (row.standard) option->default_str(row.standard(options));
}

void add_options(CLI::App& app, RunOptions& options, Scope command) {
  for (const auto& row : option_table())
    if ((row.commands & command) != 0) add_option(app, options, row);
}

std::string recorded_value(const OptionRow& row, const std::string& value) {
  if (!row.takes_file()) return value;
  std::error_code status;
  const bool is_file = std::filesystem::is_regular_file(value, status) ||
                       std::filesystem::is_regular_file(value + ".cfl", status);
  return is_file ? value + " " + io::checksum_of(value) : value;
}

}  // namespace fhd::app
