// Frames of a continuous acquisition: how they are laid out, and their images through the whole pipeline.
#include "recon/pipeline/frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>

#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/frame_layout.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "validation/certificate.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/messages.hpp"
#include "validation/tests/recon/pipeline/frame_cases.hpp"

namespace fhd {
namespace {

TEST(FrameLayout, cuts_readouts_into_frames) {
  const auto by_count = lay_out_frames(100 * 16, 16, {.frames = 7});
  EXPECT_EQ(by_count.frames, 7);
  EXPECT_EQ(by_count.readouts_per_frame, 14);
  EXPECT_EQ(by_count.step, 14);
  EXPECT_EQ(by_count.unused(), 2);
  EXPECT_EQ(by_count.samples_of(6).front(), 6 * 14 * 16);
  const auto by_readouts = lay_out_frames(100 * 16, 16, {.readouts_per_frame = 13});
  EXPECT_EQ(by_readouts.frames, 7);
  EXPECT_EQ(by_readouts.unused(), 9);
  const auto sliding = lay_out_frames(100 * 16, 16, {.readouts_per_frame = 20, .step = 3});
  EXPECT_EQ(sliding.frames, 27);  // the last one from 78 on
  EXPECT_EQ(sliding.unused(), 2);
  EXPECT_EQ(sliding.samples_per_frame(), 320);
  EXPECT_EQ(lay_out_frames(2, 1, {.frames = 2}).readouts_per_frame, 1);
}

TEST(FrameLayout, counts_readouts_as_the_file_does) {
  auto layout = lay_out_frames(10 * 4, 4, {.readouts_per_frame = 3});
  EXPECT_EQ(layout.first_readout(2), 6);
  EXPECT_EQ(doubt_of_gaps(layout), "");
  layout.readout_numbers = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  EXPECT_EQ(layout.first_readout(2), 11);
  EXPECT_EQ(doubt_of_gaps(layout), "");
  layout.readout_numbers = {0, 1, 2, 3, 7, 8, 9, 10, 11, 13};
  EXPECT_EQ(layout.first_readout(2), 9);
  EXPECT_EQ(doubt_of_gaps(layout).find("4 readouts are left out between others, from number 4 on"), 0u);
}

TEST(FrameLayout, refuses_what_does_not_fit) {
  const auto line = [](std::int64_t samples, std::int64_t length, const FrameChoice& choice) {
    return io::error_of([&] { lay_out_frames(samples, length, choice); });
  };
  EXPECT_EQ(
      line(100, 0, {.frames = 2}),
      "frames: expected a scan made of readouts of equal length, found one that does not say where its "
      "readouts "
      "begin; convert it to ISMRMRD, or add the attribute readout_length (samples) to an fhd HDF5 file");
  EXPECT_EQ(line(101, 10, {.frames = 2}), line(100, 0, {.frames = 2}));
  EXPECT_EQ(line(100, 10, {.frames = 11}),
            "--frames: expected 2 ... 10, of the 10 readouts of the scan, found 11");
  EXPECT_EQ(line(100, 10, {.frames = 1}),
            "--frames: expected 2 ... 10, of the 10 readouts of the scan, found 1");
  EXPECT_EQ(line(100, 10, {.readouts_per_frame = 10}),
            "--spokes-per-frame: expected 1 ... 9, of the 10 readouts of the scan, found 10");
  EXPECT_EQ(line(100, 10, {.readouts_per_frame = 6}),
            "--spokes-per-frame: expected room for two frames, of the 10 readouts of the scan, found 6 to a "
            "frame; take "
            "fewer readouts to a frame, or let frames overlap with --sliding");
  EXPECT_EQ(line(100, 10, {.readouts_per_frame = 3, .step = 4}),
            "--sliding: expected 1 ... 3, the readouts of a frame, found 4");
  EXPECT_NE(line(10, 10, {.frames = 2}), "");
  EXPECT_NE(line(std::int64_t{1} << 62, 1, {.readouts_per_frame = std::int64_t{1} << 62}), "");
}

TEST(FrameLayout, gives_each_frame_its_own_samples) {
  Scan scan;
  scan.geometry.matrix_size = {4, 4, 1};
  scan.trajectory.k = Array<double>({3, 12});
  scan.kspace.values = Array<Complex<float>>({2, 12});
  for (int i = 0; i < 36; ++i) scan.trajectory.k[i] = i;
  for (int i = 0; i < 24; ++i) scan.kspace.values[i] = static_cast<float>(i);
  const auto layout = lay_out_frames(12, 2, {.readouts_per_frame = 3, .step = 1});
  EXPECT_EQ(layout.frames, 4);
  const Scan third = frame_of(scan, layout, 2);
  ASSERT_EQ(third.kspace.values.shape(), (Shape{2, 6}));
  for (int m = 0; m < 6; ++m) {
    EXPECT_EQ(third.kspace.values[6 + m].re, 12 + 4 + m);
    EXPECT_EQ(third.trajectory.k[12 + m], 24 + 4 + m);
  }
}

TEST(FrameLayout, doubts_frames_of_some_planes_of_a_stack) {
  data::TrajectorySettings settings;
  settings.kind = data::TrajectoryKind::stack_of_stars;  // plane by plane
  settings.matrix_size = {16, 16, 8};
  settings.fov_mm = {240, 240, 120};
  settings.readout_count = 8;
  const auto stack = data::design_trajectory(settings);
  const auto frames = [&](const FrameChoice& choice) {
    return doubt_of_frames(stack.trajectory,
                           lay_out_frames(stack.trajectory.sample_count(), stack.readout_length, choice));
  };
  EXPECT_EQ(frames({.frames = 4}),  // of two neighbouring planes of eight
            "frames reach over 14 % of the scan's k-space along z on average: readouts that go through "
            "k-space plane by "
            "plane make no frames");
  settings.kind = data::TrajectoryKind::golden_radial;
  settings.matrix_size = {16, 16, 1};
  const auto radial = data::design_trajectory(settings);
  EXPECT_EQ(doubt_of_frames(radial.trajectory, lay_out_frames(radial.trajectory.sample_count(),
                                                              radial.readout_length, {.frames = 8})),
            "")
      << "a spoke a frame";
}

using tests::difference;
using tests::error;
using tests::frames_of;
using tests::moving;
using tests::with_terms;

TEST(Frames, by_least_squares_are_the_images_of_their_scans) {
  const auto made = moving({24, 24, 1}, 40, 10);
  const auto together = frames_of(made, {.readouts_per_frame = 10}, with_terms({}, 0.05, 1e-6));
  ASSERT_EQ(together.size(), 4u);
  const auto layout = tests::layout_of(made, {.frames = 4});
  const Settings settings = tests::within_fov(with_terms({}, 0.05, 1e-6));
  std::vector<Reconstruction> alone;
  for (int t = 0; t < 4; ++t) alone.push_back(reconstruct(frame_of(made.scan, layout, t), settings));
  // Two solutions to 1e-6 of a system of condition 2 / 0.05 or so.
  EXPECT_LE(difference(together, alone), 1e-4);
  EXPECT_EQ(together[2].report.lambda, alone[2].report.lambda);
}

TEST(Frames, solved_together_without_a_pull_between_them_are_those_by_themselves) {
  const auto made = moving({24, 24, 1}, 40, 10);
  const auto alone = frames_of(made, {.frames = 4}, with_terms({}, 0.05, 1e-6));
  for (const auto kind : {SparseKind::temporal_tv, SparseKind::llr}) {
    // The weight, 1e-6 of a typical voxel, moves no voxel by more than some 1e-6 / 0.05 of it.
    const auto joint = frames_of(made, {.frames = 4}, with_terms({{kind, 1e-6}}, 0.05, 1e-4));
    EXPECT_LE(difference(joint, alone), 1e-3) << name_of(kind);
    EXPECT_GT(difference(joint, alone), 0) << name_of(kind);
  }
}

TEST(Frames, with_terms_in_time_are_nearer_to_the_truth) {
  const auto made = moving({48, 48, 1}, 160, 8);
  const double least_squares = error(frames_of(made, {.readouts_per_frame = 8}, with_terms({}, 0.05)), made);
  // Seen: a half. A strength that is far off would not reach 0.8.
  for (const auto& terms :
       std::vector<std::vector<SparsePenalty>>{{{SparseKind::temporal_tv, 0.02}},
                                               {{SparseKind::llr, 0.02}},
                                               {{SparseKind::tv, 0.005}, {SparseKind::temporal_tv, 0.01}}})
    EXPECT_LE(error(frames_of(made, {.readouts_per_frame = 8}, with_terms(terms)), made), 0.7 * least_squares)
        << name_of(terms.back().kind);
}

TEST(Frames, with_a_strength_left_to_the_noise_are_as_good_as_with_the_best) {
  const auto made = moving({32, 32, 1}, 96, 8);
  for (const auto kind : {SparseKind::llr, SparseKind::temporal_tv}) {
    const auto of = [&](std::optional<double> strength) {
      return frames_of(made, {.readouts_per_frame = 8}, with_terms({{kind, strength}}));
    };
    double best = 1;
    for (const double strength : {0.01, 0.02, 0.04, 0.08}) best = std::min(best, error(of(strength), made));
    const auto found = of({});
    EXPECT_LE(error(found, made), 1.1 * best) << name_of(kind);  // what is asked of images, too
    EXPECT_GE(found.front().report.strength_curve.size(), 3u);
  }
}

TEST(Frames, carry_certificate_terms_and_objectives_in_a_field_too) {
  for (const double field_hz : {0.0, 100.0}) {
    const auto made = moving({24, 24, 1}, 43, 10, field_hz);
    const Services services{.verifier = validation::make_verifier(), .gridded_accuracy = 1e-3};
    const auto frames =
        frames_of(made, {.readouts_per_frame = 10, .step = 5},
                  with_terms({{SparseKind::wavelet, 0.005}, {SparseKind::llr, 0.01}}), services);
    ASSERT_EQ(frames.size(), 7u);
    for (const auto& [image, report, gridded, diagnostics, prepared] : frames) {
      ASSERT_TRUE(report.certificate);
      EXPECT_TRUE(report.certificate->passed);
      // The conditions of optimality, recomputed without the Toeplitz form and with the exact phases of off-resonance.
      EXPECT_LE(report.certificate->true_residual, 0.01);
      EXPECT_TRUE(report.verdict);
      EXPECT_TRUE(gridded);
      ASSERT_EQ(report.terms.size(), 2u);
      EXPECT_EQ(report.terms[1].name, "llr");
      EXPECT_LT(report.objectives.back(), 1);
      EXPECT_TRUE(report.converged);
    }
    EXPECT_TRUE(tests::tells(frames[0].report.messages, "3 readouts of 43, the last ones, are in no frame"));
  }
}

TEST(Frames, of_a_volume_are_reconstructed_too) {
  const auto made = moving({16, 16, 16}, 240, 80);
  const double least_squares = error(frames_of(made, {.frames = 3}, with_terms({}, 0.05)), made);
  for (const auto& terms : std::vector<std::vector<SparsePenalty>>{
           {{SparseKind::temporal_tv, 0.02}}, {{SparseKind::llr, 0.02}, {SparseKind::tv, 0.002}}}) {
    const auto frames = frames_of(made, {.frames = 3}, with_terms(terms));
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0].image.values.shape(), (Shape{16, 16, 16}));
    EXPECT_LE(error(frames, made), least_squares);
  }
}

/// Frames by themselves.
void expect_images_of_scans(const data::Simulation& made, const FrameLayout& layout) {
  const Settings settings = tests::within_fov(with_terms({}, 0.05, 1e-6));
  const Execution execution{Device::cpu(), 1};
  const auto images_of = [&](const Scan& scan) { return Reconstructor(settings, execution)(scan, layout); };
  const auto together = images_of(made.scan);
  std::vector<Reconstruction> alone;
  for (std::int64_t t = 0; t < layout.frames; ++t)
    alone.push_back(reconstruct(frame_of(made.scan, layout, t), settings));
  // Two solutions to 1e-6 of a system of condition 2 / 0.05 or so; readouts share their times, hence the segments.
  EXPECT_LE(difference(together, alone), 1e-4);
  EXPECT_EQ(together[1].report.lambda, alone[1].report.lambda);
  const auto notes = tests::texts_of(together[0].report.messages);
  EXPECT_EQ(std::count_if(notes.begin(), notes.end(),
                          [](const auto& note) { return note.starts_with("off-resonance: "); }),
            1);
  Scan uncorrected = made.scan;
  uncorrected.field_map.reset();
  EXPECT_GT(difference(images_of(uncorrected), alone), 0.1) << "the map does not matter in this scan";
}

TEST(OffResonantFrames, by_least_squares_are_the_images_of_their_scans) {
  const auto head = moving({24, 24, 1}, 43, 0, 100);
  const auto volume = moving({12, 14, 10}, 150, 50, 100);
  expect_images_of_scans(volume, tests::layout_of(volume, {.frames = 3}));
  expect_images_of_scans(head, tests::layout_of(head, {.frames = 4}));
  expect_images_of_scans(head, tests::layout_of(head, {.readouts_per_frame = 12, .step = 7}));
  GatingSignal signal{"every fifth"};
  for (int i = 0; i < 43; ++i) signal.values.push_back(5 * i % 43);
  expect_images_of_scans(head,
                         lay_out_bins(head.scan.trajectory.sample_count(), head.readout_length, 3, signal));
}

TEST(OffResonantFrames, are_as_near_to_the_truth_as_those_without_a_field) {
  const auto even = moving({32, 32, 1}, 40, 8, 0), in_field = moving({32, 32, 1}, 40, 8, 100);
  auto uncorrected = in_field;
  uncorrected.scan.field_map.reset();
  for (const auto& terms : std::vector<std::vector<SparsePenalty>>{
           {}, {{SparseKind::temporal_tv, 0.02}}, {{SparseKind::llr, {}}}}) {
    const auto error_of = [&](const data::Simulation& made) {
      return error(frames_of(made, {.readouts_per_frame = 8}, with_terms(terms)), made);
    };
    const double without = error_of(even);
    EXPECT_LE(error_of(in_field), 1.2 * without) << terms.size();  // what is asked of images, too
    EXPECT_GE(error_of(uncorrected), 1.5 * without) << terms.size();
  }
}

TEST(OffResonantFrames, whose_samples_have_no_times_are_not_corrected_and_say_so) {
  auto made = moving({24, 24, 1}, 40, 10, 100);
  made.scan.sample_time_s.reset();
  const auto frames = frames_of(made, {.frames = 4}, with_terms({}));
  const auto notes = tests::texts_of(frames[0].report.messages);
  EXPECT_EQ(
      std::count(notes.begin(), notes.end(),
                 "the field map of the scan is not used: the scan does not say when its samples were taken"),
      1);
}

/// Counts.
class MemoryCache final : public TrajectoryCache {
 public:
  bool load(const TrajectoryProduct& product, void* values, std::size_t bytes) override {
    const auto known = kept.find(key(product));
    if (known == kept.end() || known->second.size() != bytes) return false;
    std::memcpy(values, known->second.data(), bytes);
    return true;
  }
  void store(const TrajectoryProduct& product, const void* values, std::size_t bytes) override {
    const auto* first = static_cast<const char*>(values);
    kept[key(product)].assign(first, first + bytes);
  }

  std::map<std::pair<std::string, std::vector<double>>, std::vector<char>> kept;

 private:
  static std::pair<std::string, std::vector<double>> key(const TrajectoryProduct& product) {
    const auto& k = product.trajectory.k;
    return {product.what, {k.begin(), k.end()}};
  }
};

TEST(Frames, take_the_q_of_each_from_the_cache) {
  const auto made = moving({24, 24, 1}, 40, 10);
  const auto cache = std::make_shared<MemoryCache>();
  const auto method = with_terms({}, 0.05);
  const auto first = frames_of(made, {.frames = 4}, method, {cache, {}, {}});
  EXPECT_EQ(cache->kept.size(), 4u);
  EXPECT_EQ(first[0].report.trajectory_hits, 0);
  const auto again = frames_of(made, {.frames = 4}, method, {cache, {}, {}});
  EXPECT_EQ(again[0].report.trajectory_hits, 4);
  EXPECT_EQ(difference(again, first), 0);
  const auto notes = tests::texts_of(again[0].report.messages);
  EXPECT_EQ(std::count(notes.begin(), notes.end(), "Q is taken from the cache"), 1);
}

TEST(Frames, scale_with_the_data) {
  auto made = moving({24, 24, 1}, 40, 10);
  const auto method = with_terms({{SparseKind::temporal_tv, 0.01}, {SparseKind::llr, 0.01}});
  auto once = frames_of(made, {.frames = 4}, method);
  for (auto& value : made.scan.kspace.values) value *= 1024;  // a power of two: the same arithmetic
  const auto larger = frames_of(made, {.frames = 4}, method);
  for (auto& frame : once)
    for (auto& value : frame.image.values) value *= 1024;
  EXPECT_LE(difference(larger, once), 1e-6);
  EXPECT_NEAR(larger[0].report.terms[1].weight, 1024 * once[0].report.terms[1].weight,
              1e-3 * larger[0].report.terms[1].weight);
}

TEST(Frames, refuse_what_they_cannot_have) {
  const auto made = moving({16, 16, 1}, 20, 5);
  const auto line = [&](const Settings& settings) {
    return io::error_of([&] { Reconstructor{settings}(made.scan, tests::layout_of(made, {.frames = 4})); });
  };
  EXPECT_EQ(line({ConventionalGridding{}}),
            "frames: does not go together with a method other than cg; leave one of them out");
  LeastSquares method;
  method.lambda = FromNoise{};
  EXPECT_EQ(
      line({method}),
      "--lambda auto: does not go together with frames; give a number: the noise decides lambda of one image "
      "alone");
  EXPECT_EQ(line({with_terms({{SparseKind::tgv, 0.01}})}),
            "frames: does not go together with --regularizer tgv; use tv in its place");
  Settings no_maps;
  no_maps.coils.maps = CoilMaps::none;
  EXPECT_EQ(line(no_maps),
            "frames: expected sensitivity maps, or one coil, found 4 coils without maps; leave out "
            "--coils none");
  EXPECT_THROW(reconstruct(made.scan, {with_terms({{SparseKind::llr, 0.01}})}), Error);  // of one image
}

TEST(Frames, take_more_memory_for_more_of_them_and_for_terms) {
  /// 4 coils of 64 x 64 voxels, 80 readouts in so many frames.
  const auto bytes = [](std::int64_t frames, std::vector<SparsePenalty> terms, int segments = 0,
                        Device device = Device::cpu()) {
    ScanSizes sizes;
    sizes.matrix_size = {64, 64, 1};
    sizes.samples.all = 80 * 128;
    sizes.coils = 4;
    sizes.has_maps = true;
    sizes.has_field_map = sizes.has_sample_time = segments > 0;
    sizes.time_segments = sizes.difference_segments = segments;
    EstimateSettings how{{with_terms(std::move(terms))}, device};
    how.frames = FrameSizes{frames, 80 / frames * 128};
    const auto made = estimate(sizes, how);
    return static_cast<double>((device.is_cpu() ? made.host : made.device).peak_bytes());
  };
  constexpr double image = 64 * 64 * 8, coils = 4;
  for (const Device device : {Device::cpu(), Device::cuda()}) {
    // Each more has an image, a right-hand side and an operator, which does without maps of its own.
    const auto toeplitz = toeplitz_cost({64, 64, 1}, 4, Precision::single_precision, device);
    const auto of_operator = static_cast<double>(toeplitz.bytes + toeplitz.scratch_bytes) - coils * image,
               more = (bytes(20, {}, 0, device) - bytes(10, {}, 0, device)) / 10;
    EXPECT_GE(more, 0.9 * (2 * image + of_operator));
    EXPECT_LE(more,
              2 * image + of_operator + (device.is_cpu() ? 6 * image : 0));  // and finished images, twice
  }
  // In a field one operator, and its maps, for each difference of time segments.
  EXPECT_GE(bytes(4, {}, 20) - bytes(4, {}, 1), 19 * coils * image);
  EXPECT_GT(bytes(4, {{SparseKind::llr, 0.1}}), bytes(4, {{SparseKind::temporal_tv, 0.1}}));
  // A search has two images of all frames on their way, with duals.
  EXPECT_GT(bytes(4, {{SparseKind::llr, {}}}), bytes(4, {{SparseKind::llr, 0.1}}));
}

TEST(Frames, that_do_not_fit_into_memory_are_refused_before_the_work) {
  Scan scan;  // 512 GiB an image
  scan.geometry.matrix_size = {4096, 4096, 4096};
  scan.trajectory.k = Array<double>({3, 8});
  scan.kspace.values = Array<Complex<float>>({1, 8});
  const auto line =
      io::error_of([&] { Reconstructor(Settings{})(scan, lay_out_frames(8, 2, {.frames = 4})); });
  EXPECT_EQ(line.find("memory: expected "), 0u) << line;
  EXPECT_CONTAINS(line, " MiB for 4 frames, found ");
  auto other = lay_out_frames(8, 2, {.frames = 4});
  other.readout_length = 3;
  EXPECT_THROW(Reconstructor(Settings{})(scan, other), Error);
  other = lay_out_frames(8, 2, {.frames = 4});
  other.order.back() = 4;  // of four readouts
  EXPECT_THROW(Reconstructor(Settings{})(scan, other), Error);
}

}  // namespace
}  // namespace fhd
