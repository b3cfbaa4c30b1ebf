#include "io/scan/fields_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "io/files/in_reader.hpp"
#include "io/scan/companion_files.hpp"
#include "io/scan/foreign_files.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/array/execution.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd::io {
namespace {

constexpr auto basis_name = "/field_basis", axes_name = "/field_axes", centre_name = "/field_centre",
               sign_name = "/field_sign";

constexpr auto all_names = names_of(FieldFunction{});

/// Returns the texts of a list, of at most `most`; empty where it holds no text.
std::vector<std::string> texts_of(const hdf5::File& file, const char* name, std::size_t most) {
  const auto where = file.subject(name);
  const auto dataset = file.open_dataset(name);
  const hdf5::Handle type(H5Dget_type(dataset.get()), H5Tclose, where, "a readable type"),
      space(H5Dget_space(dataset.get()), H5Sclose, where, "a readable dataspace");
  if (H5Tget_class(type.get()) != H5T_STRING) return {};
  const auto count =
      static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.get())));
  constexpr std::size_t longest = 64;
  const bool is_variable = H5Tis_variable_str(type.get()) > 0;
  if (count > most || (!is_variable && H5Tget_size(type.get()) > longest))
    throw Error(where, fmt::format("at most {} names of functions", most), "more, or longer ones");
  const auto memory =
      hdf5::text_type(is_variable ? H5T_VARIABLE : longest + 1, H5Tget_cset(type.get()), where);
  std::vector<std::string> texts;
  if (is_variable) {
    std::vector<char*> found(count);
    hdf5::check(H5Dread(dataset.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), where,
                "readable text");
    for (char* const text : found) {
      texts.emplace_back(text != nullptr ? std::string_view(text).substr(0, longest) : "");
      H5free_memory(text);
    }
    return texts;
  }
  std::vector<char> found(count * (longest + 1));
  hdf5::check(H5Dread(dataset.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), where,
              "readable text");
  for (std::size_t i = 0; i < count; ++i) texts.emplace_back(found.data() + i * (longest + 1));
  return texts;
}

std::vector<FieldFunction> functions_of(const hdf5::File& file, std::int64_t terms) {
  if (!file.has(basis_name)) return first_functions(terms, file.subject(fields_name));
  const auto where = file.subject(basis_name);
  const auto expected = fmt::format("numbers 0 ... {} of the table of functions, or {}", all_names.size() - 1,
                                    fmt::join(all_names, ", "));
  std::vector<FieldFunction> functions;
  auto texts = texts_of(file, basis_name, 1024);
  for (auto& text : texts) {
    std::erase(text, ' ');
    const auto found = std::ranges::find(all_names, text);
    if (found == all_names.end()) throw Error(where, expected, "'" + text + "'");
    functions.push_back(static_cast<FieldFunction>(found - all_names.begin()));
  }
  if (texts.empty())
    for (const double number : read_number_table_here(file.path(), basis_name)) {
      if (!(number >= 0 && number < static_cast<double>(all_names.size()) && number == std::floor(number)))
        throw Error(where, expected, fmt::format("{:g}", number));
      functions.push_back(static_cast<FieldFunction>(number));
    }
  if (std::ssize(functions) != terms)
    throw Error(where, fmt::format("one function for each of the {} terms", terms),
                std::to_string(functions.size()));
  return functions;
}

/// The terms that are linear, and those that are not.
struct SplitTerms {
  std::array<std::vector<std::int64_t>, 3> linear;
  std::vector<std::int64_t> others;
};
SplitTerms split_terms(const std::vector<FieldFunction>& functions) {
  SplitTerms split;
  for (std::size_t term = 0; term < functions.size(); ++term) {
    const auto number = static_cast<std::int64_t>(term);
    const int axis = static_cast<int>(functions[term]) - static_cast<int>(FieldFunction::x);
    (axis >= 0 && axis < 3 ? split.linear[static_cast<std::size_t>(axis)] : split.others).push_back(number);
  }
  return split;
}

/// Returns the sums of the terms x, y and z, [axis][sample].
Array<double> linear_terms(const Fields& fields, const SplitTerms& split) {
  const auto samples = fields.coefficients.extent(1);
  Array<double> kappa({3, samples});
  for (std::int64_t axis = 0; axis < 3; ++axis)
    for (const auto term : split.linear[static_cast<std::size_t>(axis)])
      for (std::int64_t m = 0; m < samples; ++m)
        kappa[axis * samples + m] += fields.coefficients[term * samples + m];
  return kappa;
}

/// Returns the positions along the axes of the image, cycles/FOV, of kappa [axis of the magnet][sample] in rad/m. An axis of
/// one voxel keeps the positions of the scan.
Array<double> positions_of(const Array<double>& kappa, const Fields& fields, const Scan& scan,
                           const std::string& subject) {
  const auto& geometry = scan.geometry;
  const std::array directions{geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
  const auto samples = kappa.extent(1);
  Array<double> k = scan.trajectory.k;
  for (int axis = 0; axis < 3; ++axis) {
    if (geometry.matrix_size[axis] == 1) continue;
    if (!(geometry.fov_mm[axis] > 0))
      throw Error(subject, "a known FOV, to turn measured positions into cycles/FOV",
                  fmt::format("none along {}", "xyz"[axis]),
                  "give it with " + option_words("fov-mm", "X,Y,Z"));
    for (std::int64_t m = 0; m < samples; ++m) {
      double along = 0;
      for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) along += kappa[j * samples + m] * fields.axes[j][i] * directions[axis][i];
      k[axis * samples + m] = along * 1e-3 * geometry.fov_mm[axis] / (2 * std::numbers::pi);
    }
  }
  return k;
}

using Matrix = std::array<std::array<double, 3>, 3>;

/// Sums over samples of positions in rad/m along the axes of the fields: those of the scan, s, and measured ones, kappa.
struct PositionSums {
  double of_scan = 0;    ///< s . s
  Matrix products{};     ///< s_a kappa_b
  Matrix measured{};     ///< kappa_a kappa_b
  Matrix within_scan{};  ///< the projection onto the axes that have more than one voxel

  PositionSums(const Array<double>& kappa, const Fields& fields, const Scan& scan);
  /// Returns the sum of squares of s - factor kappa' within the scan, kappa'_a being sign[a] kappa_order[a].
  double apart(const std::array<std::size_t, 3>& order, const std::array<double, 3>& sign, double factor) const {
    double sum = of_scan;
    for (std::size_t a = 0; a < 3; ++a) {
      sum -= 2 * factor * sign[a] * products[a][order[a]];
      for (std::size_t b = 0; b < 3; ++b)
        sum += factor * factor * within_scan[a][b] * sign[a] * sign[b] * measured[order[a]][order[b]];
    }
    return sum;
  }
};

PositionSums::PositionSums(const Array<double>& kappa, const Fields& fields, const Scan& scan) {
  const auto& geometry = scan.geometry;
  const std::array directions{geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
  Matrix cosines{};  // of the scan's axis and one of the fields; 0 of an axis of one voxel
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t a = 0; a < 3 && geometry.matrix_size[axis] > 1; ++a)
      for (std::size_t i = 0; i < 3; ++i) cosines[axis][a] += directions[axis][i] * fields.axes[a][i];
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) within_scan[a][b] += cosines[axis][a] * cosines[axis][b];
  const auto samples = kappa.extent(1);
  for (std::int64_t m = 0; m < samples; ++m)
    for (std::size_t a = 0; a < 3; ++a) {
      double along = 0;
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (geometry.matrix_size[axis] > 1)
          along += cosines[axis][a] * 2 * std::numbers::pi / (1e-3 * geometry.fov_mm[axis]) *
                   scan.trajectory.k[static_cast<std::int64_t>(axis) * samples + m];
      of_scan += along * along;
      for (std::size_t b = 0; b < 3; ++b) {
        const double of_fields = kappa[static_cast<std::int64_t>(b) * samples + m];
        products[a][b] += along * of_fields;
        measured[a][b] += kappa[static_cast<std::int64_t>(a) * samples + m] * of_fields;
      }
    }
}

/// Throws Error where measured positions, kappa of x, y, z in rad/m, are 10 times nearer to those of the scan with their axes
/// exchanged or turned around, or in another unit.
void require_same_axes(const Array<double>& kappa, const Fields& fields, const Scan& scan,
                       const std::string& subject) {
  const PositionSums sums(kappa, fields, scan);
  const double of_scan = sums.of_scan;
  std::array<std::size_t, 3> order{0, 1, 2}, best = order;
  const double given = sums.apart(order, {1, 1, 1}, 1);
  if (!(given > 1e-4 * of_scan) || of_scan == 0) return;
  double least = given / 100, factor = 1;
  do {
    std::array<double, 3> sign{};
    for (std::size_t a = 0; a < 3; ++a) sign[a] = std::copysign(1.0, sums.products[a][order[a]]);
    for (const double unit : {1.0, 1e3, 1e-3, 2 * std::numbers::pi, 1 / (2 * std::numbers::pi)})
      if (const double left = sums.apart(order, sign, unit); left < least)
        least = left - 1e-9 * of_scan, best = order, factor = unit;
  } while (std::ranges::next_permutation(order).found);
  if (!(least < given / 100)) return;
  std::string fit;
  bool is_opposite = best == std::array<std::size_t, 3>{0, 1, 2};
  for (std::size_t a = 0; a < 3; ++a) {
    const double product = sums.products[a][best[a]];
    const bool counts = factor * std::abs(product) > 1e-3 * of_scan, turns = counts && product < 0;
    is_opposite = is_opposite && turns == counts;
    fit += fmt::format("{}{}{}", a > 0 ? ", " : "", turns ? "-" : "", "xyz"[best[a]]);
  }
  throw Error(
      subject, "measured positions near those of the scan",
      fmt::format("such as fit with {} in place of x, y, z{}", fit,
                  factor == 1 ? "" : fmt::format(", times {:.4g}", factor)),
      factor != 1 ? "give phases in rad and lengths in m"
      : is_opposite
          ? "where the signal of the fields is exp(+i phase), write /field_sign = [-1] into their file (HDF5); "
            "where the fields are right, correct the trajectory of the scan"
          : "state the directions of these axes in /field_axes (HDF5); where the fields are right, correct the "
            "trajectory or the directions of the scan");
}

/// Says how far measured positions are from those of the scan.
Message remark_on_positions(const Array<double>& measured, const Scan& scan) {
  const auto& k = scan.trajectory.k;
  double farthest = 0;
  for (std::int64_t i = 0; i < k.size(); ++i)
    if (scan.geometry.matrix_size[static_cast<std::size_t>(i / k.extent(1))] > 1)
      farthest = std::max(farthest, std::abs(measured[i] - k[i]));
  return {"fields", Severity::note,
          fmt::format("the positions are those of the fields, up to {:.3g} cycles/FOV from those of the scan",
                      farthest)};
}

/// Adds the phase at the centre of the field of view of terms that are linear about the isocentre.
void add_phase_of_centre(const Array<double>& kappa, const Geometry& geometry, Fields& fields) {
  const auto samples = kappa.extent(1);
  std::array<double, 3> centre_m{};
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) centre_m[j] += 1e-3 * fields.axes[j][i] * geometry.position_mm[i];
  if (centre_m == std::array<double, 3>{}) return;
  Array<double> rows({fields.coefficients.empty() ? 1 : fields.coefficients.extent(0) + 1, samples});
  std::copy(fields.coefficients.begin(), fields.coefficients.end(), rows.begin() + samples);
  for (int j = 0; j < 3; ++j)
    for (std::int64_t m = 0; m < samples; ++m) rows[m] += kappa[j * samples + m] * centre_m[j];
  fields.functions.insert(fields.functions.begin(), FieldFunction::one);
  fields.coefficients = std::move(rows);
}

/// Says what the phases of the remaining terms amount to; warns where lengths seem to be in mm.
Message remark_on_phases(const std::string& subject, const Scan& scan) {
  const auto& [functions, coefficients, axes, displacement_mm] = *scan.fields;
  const auto length = [](const std::array<double, 3>& v) { return std::hypot(v[0], v[1], v[2]); };
  const double radius_m = 1e-3 * (length(scan.geometry.position_mm) + 0.5 * length(scan.geometry.fov_mm));
  double largest = 0, of_metres = 0;
  for (std::size_t term = 0; term < functions.size(); ++term) {
    const int order = order_of(functions[term]);
    if (order < 2) continue;
    const auto* const row = coefficients.data() + static_cast<std::int64_t>(term) * coefficients.extent(1);
    double size = 0;
    for (std::int64_t m = 0; m < coefficients.extent(1); ++m) size = std::max(size, std::abs(row[m]));
    size *= std::pow(radius_m, order);
    largest = std::max(largest, size), of_metres = std::max(of_metres, size * std::pow(1000, order));
  }
  const bool is_tiny = largest > 0 && largest < 1e-3 && of_metres <= 1e3;
  return {
      "fields", is_tiny ? Severity::warning : Severity::note,
      fmt::format("the fields were taken from {}: {} terms beside k, of up to some {:.2g} rad at {:.0f} mm",
                  subject, functions.size(), largest, 1e3 * radius_m),
      is_tiny ? fmt::format("{:.2g} rad would be usual: were coefficients given per mm? They are per m",
                            of_metres)
              : ""};
}

}  // namespace

std::vector<FieldFunction> first_functions(std::int64_t count, const std::string& subject) {
  if (count < 1 || count > std::ssize(all_names))
    throw Error(subject, fmt::format("1 ... {} terms, the first of the table of functions", all_names.size()),
                std::to_string(count), "name their functions in /field_basis");
  std::vector<FieldFunction> functions;
  for (std::int64_t i = 0; i < count; ++i) functions.push_back(static_cast<FieldFunction>(i));
  return functions;
}

MeasuredFields read_stored_fields(const hdf5::File& file, std::int64_t slice, std::int64_t repetition) {
  const auto dataset = file.dataset(fields_name);
  const auto& extents = dataset.extents();
  const auto rank = extents.size();
  if ((rank != 2 && rank != 4) || extents[rank - 2] < 1 || extents[rank - 1] < 1 ||
      extents[rank - 1] > most_samples / 1024)
    throw Error(dataset.subject(), "[term][sample] or [repetition][slice][term][sample]",
                hdf5::text_of(extents));
  MeasuredFields measured;
  auto& fields = measured.fields;
  const auto terms = extents[rank - 2];
  fields.functions = functions_of(file, terms);
  hdf5::Extents volume;
  if (rank == 4) {
    measured.repetitions = extents[0], measured.slices = extents[1];
    volume = {extents[0] == 1 ? 0 : repetition, extents[1] == 1 ? 0 : slice};
  }
  fields.coefficients = dataset.read<double>({terms, extents[rank - 1]}, volume);
  if (file.has(axes_name)) {
    const auto axes = file.dataset(axes_name).read<double>({3, 3});
    for (int axis = 0; axis < 3; ++axis)
      std::copy_n(axes.data() + 3 * axis, 3, fields.axes[static_cast<std::size_t>(axis)].begin());
  }
  if (file.has(centre_name)) {
    const auto centre = file.read_text(centre_name);
    if (centre != "isocentre" && centre != "fov")
      throw Error(file.subject(centre_name), "isocentre or fov", "'" + centre + "'");
    measured.is_about_isocentre = centre == "isocentre";
  }
  if (!file.has(sign_name)) return measured;
  const auto sign = read_number_table_here(file.path(), sign_name);
  if (sign.size() != 1 || std::abs(sign[0]) != 1)
    throw Error(file.subject(sign_name), "1, of exp(-i phase), or -1, of exp(+i phase)", "another");
  for (double& value : fields.coefficients) value *= sign[0];
  return measured;
}

void write_fields(hdf5::File& file, const ScanSeries& series) {
  const Fields& first = *series.scans.front().fields;
  bool same = true;
  for (const auto& scan : series.scans) {
    if (scan.fields->functions != first.functions || scan.fields->axes != first.axes)
      throw Error(file.subject(fields_name), "fields of the same functions in every slice and repetition",
                  "others", "write slices and repetitions one by one");
    same = same && std::ranges::equal(scan.fields->coefficients, first.coefficients);
  }
  write_volumes(
      file, fields_name, series, same ? Shared::by_all : Shared::by_none,
      [](const Scan& scan) -> auto& { return scan.fields->coefficients; });
  std::vector<double> numbers, axes;
  for (const auto function : first.functions) numbers.push_back(static_cast<double>(function));
  for (const auto& axis : first.axes) axes.insert(axes.end(), axis.begin(), axis.end());
  file.write(basis_name, numbers.data(), {std::ssize(numbers)});
  file.write(axes_name, axes.data(), {3, 3});
}

MeasuredFields read_text_fields(const std::string& path) {
  const auto table = read_number_table_here(path, "");
  const auto samples = table.extent(0), terms = table.extent(1);
  if (terms != 4 && terms != 9 && terms != 16 && terms != 20)
    throw Error(path, "4, 9 or 16 harmonics in a line, or 20 numbers with Maxwell terms",
                std::to_string(terms), "write HDF5 with /field_coefficients and /field_basis");
  MeasuredFields measured;
  measured.fields.functions = first_functions(terms, path);
  measured.fields.coefficients = Array<double>({terms, samples});
  for (std::int64_t term = 0; term < terms; ++term)
    for (std::int64_t m = 0; m < samples; ++m)
      measured.fields.coefficients[term * samples + m] = table[m * terms + term];
  return measured;
}

MeasuredFields read_fields(const std::string& path, std::int64_t slice, std::int64_t repetition,
                           std::int64_t samples) {
  return in_reader<&read_fields_here>(path, slice, repetition, samples);
}

MeasuredFields read_fields_here(const std::string& path, std::int64_t slice, std::int64_t repetition,
                                std::int64_t samples) {
  hdf5::be_silent();
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    if (is_matlab_5(path)) return read_matmri_fields(path, samples);
    if (const auto foreign = foreign_file(path))
      throw Error(path, "fields in HDF5 or text", foreign->name, foreign->remedy);
    return read_text_fields(path);
  }
  const auto file = hdf5::File::open(path);
  if (holds(file, fields_name)) return read_stored_fields(file, slice, repetition);
  if (holds(file, "/phs_spha")) return read_matmri_fields(path, samples);
  throw Error(path, "fields: /field_coefficients [term][sample], or /phs_spha of MatMRI",
              "an HDF5 file without");
}

void warn_of_place(Scan& scan) {
  if (!scan.fields || states_place(scan.geometry)) return;
  if (scan.fields->displacement_mm.empty() && !has_higher_orders(*scan.fields)) return;
  add_once(scan.messages, {"fields_place", Severity::warning,
                           "the scan states no position, so that its centre is taken to be the isocentre, "
                           "about which fields are stated",
                           "write position_mm and the directions into the scan", "fields"});
}

void put_fields(MeasuredFields measured, const std::string& subject, Scan& scan) {
  std::erase_if(scan.messages, [](const Message& message) { return message.code == "fields"; });
  Fields& stored = measured.fields;
  const auto samples = scan.kspace.sample_count();
  if (stored.coefficients.extent(1) != samples)
    throw Error(subject, fmt::format("coefficients of the {} samples of the scan", samples),
                std::to_string(stored.coefficients.extent(1)),
                "give one for each sample, readout by readout, in the order of the scan");
  for (const double value : stored.coefficients)
    if (!std::isfinite(value)) throw Error(subject, "finite coefficients", "NaN or infinity");
  const auto split = split_terms(stored.functions);
  const auto& linear = split.linear;
  const auto present = std::ranges::count_if(linear, [](const auto& terms) { return !terms.empty(); });
  if (present == 1 || present == 2)
    throw Error(subject, "all of the terms x, y and z, the measured positions, or none of them",
                fmt::format("{} of them", present));
  Fields fields{{}, {}, stored.axes};
  for (const auto term : split.others)
    fields.functions.push_back(stored.functions[static_cast<std::size_t>(term)]);
  Array<double> others({std::ssize(split.others), samples});
  for (std::int64_t i = 0; i < others.extent(0); ++i)
    std::copy_n(stored.coefficients.data() + split.others[static_cast<std::size_t>(i)] * samples, samples,
                others.data() + i * samples);
  if (!split.others.empty()) fields.coefficients = std::move(others);
  if (scan.fields) fields.displacement_mm = std::move(scan.fields->displacement_mm);
  scan.fields = std::move(fields);
  if (!scan.sample_time_s && !measured.sample_time_s.empty())
    scan.sample_time_s = std::move(measured.sample_time_s);
  if (present > 0) {
    const auto kappa = linear_terms(stored, split);
    auto k = positions_of(kappa, *scan.fields, scan, subject);
    require_same_axes(kappa, *scan.fields, scan, subject);
    scan.messages.push_back(remark_on_positions(k, scan));
    scan.trajectory.k = std::move(k);
    if (measured.is_about_isocentre) add_phase_of_centre(kappa, scan.geometry, *scan.fields);
  }
  scan.messages.push_back(remark_on_phases(subject, scan));
  if (present > 0) scan = inside_matrix(std::move(scan), 0, "fields of " + subject);
}

}  // namespace fhd::io
