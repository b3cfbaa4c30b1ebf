
#include <algorithm>
#include <cmath>
#include <numeric>

#include "recon/array/linear_algebra.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/low_resolution.hpp"

namespace fhd {
namespace {

/// Returns [course][frame], as given or transposed.
Array<double> by_course(const Array<double>& given, std::int64_t frames) {
  const std::int64_t rows = given.extent(0), columns = given.extent(1);
  if (columns == frames && rows <= frames) return given;
  if (rows != frames || columns > frames)
    throw Error(Field{"basis"}, "courses of " + std::to_string(frames) + " numbers, one for each frame",
                std::to_string(rows) + " rows of " + std::to_string(columns) + " numbers");
  Array<double> turned(Shape{columns, rows});
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t t = 0; t < rows; ++t) turned[k * rows + t] = given[t * columns + k];
  return turned;
}

double dot(std::int64_t count, const double* a, const double* b) {
  return std::inner_product(a, a + count, b, 0.0);
}

/// Makes courses orthonormal by Gram-Schmidt, twice, which is exact to rounding.
void orthonormalize(Array<double>& courses) {
  constexpr double dependent = 1e-6;  // of the length: rounding, and numbers of six digits
  const std::int64_t frames = courses.extent(1);
  for (std::int64_t k = 0; k < courses.extent(0); ++k) {
    double* const course = courses.data() + k * frames;
    const double before = std::sqrt(dot(frames, course, course));
    for (int pass = 0; pass < 2; ++pass)
      for (std::int64_t l = 0; l < k; ++l) {
        const double* const earlier = courses.data() + l * frames;
        const double share = dot(frames, earlier, course);
        for (std::int64_t t = 0; t < frames; ++t) course[t] -= share * earlier[t];
      }
    const double after = std::sqrt(dot(frames, course, course));
    if (!(after > dependent * before))
      throw Error(Field{"basis"}, "courses of which none is a sum of others, or 0",
                  "number " + std::to_string(k) + " (from 0), which is");
    for (std::int64_t t = 0; t < frames; ++t) course[t] /= after;
  }
}

/// Returns the largest |<a, b> - (a == b)| of two courses.
double distance_from_orthonormal(const Array<double>& courses) {
  const std::int64_t frames = courses.extent(1);
  double largest = 0;
  for (std::int64_t k = 0; k < courses.extent(0); ++k)
    for (std::int64_t l = 0; l <= k; ++l)
      largest = std::max(
          largest,
          std::abs(dot(frames, courses.data() + k * frames, courses.data() + l * frames) - (k == l ? 1 : 0)));
  return largest;
}

Array<double> given_courses(const Array<double>& given, std::int64_t frames, RunLog& log) {
  auto courses = by_course(given, frames);
  const bool changes = distance_from_orthonormal(courses) > 1e-5;
  orthonormalize(courses);
  if (changes)
    log.note("subspace", "the courses of the temporal subspace were made orthonormal: they span the same");
  return courses;
}

/// A scan of the same frames on a small matrix.
struct SmallScan {
  Scan scan;
  FrameLayout layout;
};

/// Returns the places in a readout at which all readouts are within the matrix.
std::vector<std::int64_t> places_within(const Trajectory& trajectory, const FrameLayout& layout,
                                        const std::array<int, 3>& matrix) {
  std::vector<std::int64_t> counts(layout.readout_length), places;
  for (const auto sample : indices_inside(trajectory, matrix)) ++counts[sample % layout.readout_length];
  for (std::int64_t s = 0; s < layout.readout_length; ++s)
    if (counts[s] == layout.readouts) places.push_back(s);
  return places;
}

SmallScan small_scan(const Scan& scan, const FrameLayout& layout) {
  const auto matrix = matrix_of_small_frames(scan.geometry.matrix_size);
  const auto places = places_within(scan.trajectory, layout, matrix);
  if (places.empty())
    throw Error(Field{"basis"}, "readouts that all pass the centre of k-space, for a number of components",
                "some that stay away from it", "give the courses in a file");
  std::vector<std::int64_t> samples;
  for (std::int64_t readout = 0; readout < layout.readouts; ++readout)
    for (const auto place : places) samples.push_back(readout * layout.readout_length + place);
  SmallScan small{at_low_resolution(scan, matrix, samples), layout};
  small.layout.readout_length = static_cast<std::int64_t>(places.size());
  return small;
}

/// Returns the eigenvectors of most energy of Re sum over voxels of rho_s conj(rho_t), [frame][frame].
Array<double> leading_courses(const std::vector<Image>& frames, std::int64_t components, RunLog& log) {
  const auto count = static_cast<std::int64_t>(frames.size());
  Array<Complex<double>> gram(Shape{count, count});
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t s = 0; s < count; ++s)
    for (std::int64_t t = 0; t <= s; ++t) {
      const auto &a = frames[s].values, &b = frames[t].values;
      double sum = 0;
      for (std::int64_t p = 0; p < a.size(); ++p)
        sum += double{a.data()[p].re} * b.data()[p].re + double{a.data()[p].im} * b.data()[p].im;
      gram.data()[s * count + t] = gram.data()[t * count + s] = sum;
    }
  const auto eigen = hermitian_eigen(std::move(gram));
  Array<double> courses(Shape{components, count});
  for (std::int64_t k = 0; k < components; ++k) {
    const auto* vector = eigen.vectors.data() + k * count;
    // Eigenvectors of a real matrix are real, but for one phase of each.
    const auto* largest = std::max_element(vector, vector + count,
                                           [](const auto& a, const auto& b) { return norm(a) < norm(b); });
    const Complex<double> turn = (1 / abs(*largest)) * conj(*largest);
    for (std::int64_t t = 0; t < count; ++t) courses[k * count + t] = (turn * vector[t]).re;
  }
  orthonormalize(courses);
  const auto energy = [&](std::int64_t most) {
    return std::accumulate(eigen.values.begin(), eigen.values.begin() + most, 0.0);
  };
  log.note("subspace", "temporal subspace: " + std::to_string(components) + " courses hold " +
                           short_number(100 * energy(components) / energy(count)) +
                           " % of the energy of frames of low resolution");
  return courses;
}

}  // namespace

std::int64_t component_count(const LeastSquares& method, std::int64_t frames) {
  if (!method.basis) return 0;
  if (const auto* leading = std::get_if<LeadingCourses>(&*method.basis)) {
    if (leading->count < 1 || leading->count > frames)
      throw Error(Field{"basis"}, "1 ... " + std::to_string(frames) + " components, the number of frames",
                  std::to_string(leading->count));
    return leading->count;
  }
  const auto& values = std::get<GivenCourses>(*method.basis).values;
  return by_course(values, frames).extent(0);
}

std::array<int, 3> matrix_of_small_frames(const std::array<int, 3>& matrix_size) {
  return low_resolution(matrix_size, matrix_size[2] > 1 ? 24 : 32);
}

LeastSquares method_of_small_frames(const TransformSettings& transform) {
  LeastSquares method;
  method.transform = transform;
  method.lambda = OfMeanEigenvalue{0.01};
  method.sparse = {{SparseKind::llr, 0.01}};
  method.iterations = sparse_iterations;
  method.tolerance = sparse_tolerance;
  return method;
}

template <class T>
Array<double> temporal_courses(const Scan& scan, const FrameLayout& layout,
                               const TransformSettings& transform, const Context& context) {
  const LeastSquares& method = *least_squares(context.settings);
  if (!method.basis) return {};
  if (const auto* given = std::get_if<GivenCourses>(&*method.basis))
    return given_courses(given->values, layout.frames, context.log);
  const std::int64_t components = component_count(method, layout.frames);
  Settings settings = context.settings;
  settings.method = method_of_small_frames(transform);
  const Services none;
  RunLog own(context.device(), {});
  Array<double> courses;
  context.log.stage("temporal basis", [&] {
    const auto [small, small_layout] = small_scan(scan, layout);
    const auto frames =
        frame_images<T>(small, small_layout, transform, {settings, context.execution, none, own});
    courses = leading_courses(frames.images, components, context.log);
  });
  return courses;
}

template Array<double> temporal_courses<float>(const Scan&, const FrameLayout&, const TransformSettings&,
                                               const Context&);
template Array<double> temporal_courses<double>(const Scan&, const FrameLayout&, const TransformSettings&,
                                                const Context&);

}  // namespace fhd
