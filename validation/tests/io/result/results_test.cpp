// Result files: what they hold, that they appear whole or not at all, and pictures.
#include "io/result/results.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nifti1_io.h>
#include <png.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "io/hdf5/hdf5.hpp"
#include "io/result/nifti.hpp"
#include "io/result/picture.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

Image random_image(const Geometry& geometry, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Image image{Array<Complex<float>>(geometry.image_shape()), geometry};
  for (auto& value : image.values) value = {uniform(generator), uniform(generator)};
  return image;
}

Geometry oblique_geometry() {
  Geometry geometry;
  geometry.matrix_size = {4, 6, 3};
  geometry.fov_mm = {40, 30, 9};
  geometry.position_mm = {1, 2, 3};
  geometry.read_direction = {0, 1, 0};
  geometry.phase_direction = {0, 0, 1};
  geometry.slice_direction = {1, 0, 0};
  return geometry;
}

ImageSeries random_series(const Geometry& geometry, std::int64_t repetitions, std::int64_t slices) {
  ImageSeries series{repetitions, slices, {}};
  for (std::int64_t i = 0; i < repetitions * slices; ++i) {
    auto own = geometry;
    own.position_mm[2] += 4.0 * static_cast<double>(i % slices);
    series.images.push_back(random_image(own, static_cast<unsigned>(i)));
  }
  return series;
}

Provenance some_provenance(std::size_t images) {
  Provenance provenance{"1.2.3",
                        "fhd recon scan.h5",
                        "scan.h5",
                        std::string(64, 'a'),
                        "2024-01-01T00:00:00Z",
                        {{"threads", "2"}},
                        {}};
  for (std::size_t i = 0; i < images; ++i) {
    Report report;
    report.settings = {{"method", "cg"}};
    report.stages = {{"FhD", 0.5}};
    report.messages = {{"a", Severity::note, "A note."}};
    report.relative_residuals = {1, 0.1, 0.01 * static_cast<double>(i + 1)};
    provenance.reports.push_back(report);
  }
  return provenance;
}

std::map<std::string, std::string> contents_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) contents[entry.path().filename()] = bytes_of(entry.path());
  return contents;
}

class ResultsTest : public FolderTest {
 protected:
  std::unique_ptr<nifti_image, decltype(&nifti_image_free)> nifti_of(const std::string& name) const {
    return {nifti_image_read(path(name).c_str(), 1), nifti_image_free};
  }
};
using Results = ResultsTest;

TEST_F(Results, are_named_by_any_of_their_files) {
  EXPECT_EQ(without_result_ending("out/x.nii.gz"), "out/x");
  EXPECT_EQ(without_result_ending("x.h5"), "x");
  EXPECT_EQ(without_result_ending("x.nii"), "x");
  EXPECT_EQ(without_result_ending("x.2026"), "x.2026");
  EXPECT_EQ(without_result_ending("out/.h5"), "out/.h5");
}

TEST_F(Results, image_is_read_back_exactly) {
  const auto series = random_series(oblique_geometry(), 2, 3);
  write_results(path("out"), series, some_provenance(6));
  const auto read = read_image(path("out.h5"));
  EXPECT_EQ(read.repetition_count, 2);
  EXPECT_EQ(read.slice_count, 3);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(largest_difference(read.images[i].values, series.images[i].values), 0);
    EXPECT_EQ(read.images[i].geometry.fov_mm, series.images[i].geometry.fov_mm);
    EXPECT_EQ(read.images[i].geometry.position_mm, series.images[i].geometry.position_mm);
    EXPECT_EQ(read.images[i].geometry.phase_direction, series.images[i].geometry.phase_direction);
  }
}

TEST_F(Results, report_is_stored_as_json_and_in_hdf5) {
  write_results(path("out"), random_series(oblique_geometry(), 2, 1), some_provenance(2));
  const auto json = nlohmann::json::parse(bytes_of(path("out.json")));
  EXPECT_EQ(json["version"], "1.2.3");
  EXPECT_EQ(json["input"]["checksum"], std::string(64, 'a'));
  EXPECT_EQ(json["environment"]["threads"], "2");
  ASSERT_EQ(json["images"].size(), 2u);
  EXPECT_EQ(json["images"][1]["repetition"], 1);
  EXPECT_EQ(json["images"][1]["settings"]["method"], "cg");
  EXPECT_EQ(json["images"][1]["relative_residuals"][2], 0.02);
  EXPECT_EQ(json["environment"]["images"][0]["stages"][0]["seconds"], 0.5);
  const auto file = hdf5::File::open(path("out.h5"));
  EXPECT_EQ(read_report_text(path("out.h5")), bytes_of(path("out.json")));
  EXPECT_FALSE(nlohmann::json::parse(file.read_text("/report/json")).contains("environment"));
  EXPECT_EQ(file.dataset("/report/relative_residuals").read<double>({2, 3})[5], 0.02);
  EXPECT_EQ(file.text_attribute("/report", "input_checksum"), std::string(64, 'a'));
  EXPECT_EQ(file.text_attribute("/image", "axes"), "repetition, slice, z, y, x");
}

TEST_F(Results, settings_that_are_numbers_are_numbers_in_json) {
  auto provenance = some_provenance(1);
  provenance.reports[0].settings = {{"method", "cg"},         {"iterations", "30"},
                                    {"tolerance", "1e-05"},   {"lambda", "0.05 of the mean eigenvalue"},
                                    {"weight", "-0.0012345"}, {"large", "123456789012345678901"},
                                    {"no number", "inf"},     {"nor that", "nan"},
                                    {"nor", "0x10"},          {"a version", "1.2.3"},
                                    {"spaces", " 3"},         {"empty", ""}};
  write_results(path("out"), random_series(oblique_geometry(), 1, 1), provenance);
  const auto json = nlohmann::json::parse(bytes_of(path("out.json")));
  EXPECT_EQ(json["schema_version"], 3);
  const auto& settings = json["images"][0]["settings"];
  EXPECT_TRUE(settings["iterations"].is_number_integer());
  EXPECT_EQ(settings["iterations"], 30);
  EXPECT_EQ(settings["tolerance"], 1e-5);
  EXPECT_EQ(settings["weight"], -0.0012345);
  EXPECT_EQ(settings["large"], 123456789012345678901.0);
  for (const char* text :
       {"method", "lambda", "no number", "nor that", "nor", "a version", "spaces", "empty"})
    EXPECT_TRUE(settings[text].is_string()) << text;
}

/// The header as it is stored.
nifti_1_header nifti_header_of(const std::string& path) {
  nifti_1_header* header = nifti_read_header(path.c_str(), nullptr, 0);
  if (header == nullptr) return {};
  const nifti_1_header copy = *header;
  std::free(header);
  return copy;
}

TEST_F(Results, nifti_says_what_made_it_and_how_far_apart_its_repetitions_are) {
  auto provenance = some_provenance(3);
  provenance.repetition_time_s = 2.4;
  write_results(path("out"), random_series(oblique_geometry(), 3, 1), provenance);
  auto header = nifti_header_of(path("out.nii.gz"));
  EXPECT_STREQ(header.descrip, "fhd 1.2.3 least squares");
  EXPECT_FLOAT_EQ(header.pixdim[4], 2.4F);
  EXPECT_EQ(header.xyzt_units, NIFTI_UNITS_MM | NIFTI_UNITS_SEC);

  provenance.repetition_time_s = 0;
  provenance.program_version = std::string(200, '1');
  write_results(path("out"), random_series(oblique_geometry(), 3, 1), provenance);
  header = nifti_header_of(path("out.nii.gz"));
  EXPECT_EQ(std::string(header.descrip, 80), "fhd " + std::string(75, '1') + std::string(1, '\0'));
  EXPECT_EQ(header.pixdim[4], 0) << "not known";
  EXPECT_EQ(header.xyzt_units, NIFTI_UNITS_MM) << "no time is claimed";
}

TEST_F(Results, phase_is_written_in_radians_where_asked_for) {
  const auto series = random_series(oblique_geometry(), 2, 1);
  write_results(path("out"), series, some_provenance(2));
  EXPECT_FALSE(std::filesystem::exists(path("out_phase.nii.gz")));
  write_results({path("out"), {{"phase", ""}}}, series, some_provenance(2));
  EXPECT_STREQ(nifti_header_of(path("out_phase.nii.gz")).descrip, "fhd 1.2.3 least squares, phase in rad");
  const auto image = nifti_of("out_phase.nii.gz");
  ASSERT_TRUE(image);
  ASSERT_EQ(image->nvox, 144U);
  const auto* phase = static_cast<const float*>(image->data);
  for (std::size_t i = 0; i < image->nvox; ++i) {
    const auto value = series.images[i / 72].values[static_cast<std::int64_t>(i % 72)];
    EXPECT_NEAR(abs(value) * std::cos(phase[i]), value.re, 1e-6);  // a few roundings of numbers below 2
    EXPECT_NEAR(abs(value) * std::sin(phase[i]), value.im, 1e-6);
  }
}

TEST_F(Results, keep_what_the_scan_file_calls_their_images) {
  auto provenance = some_provenance(4);
  provenance.repetitions = {1, 3};
  provenance.slices = {0, 2};
  provenance.repetition_counters = {{0, 4, 0, 0}, {1, 0, 7, 2}};
  provenance.slice_counters = {3, 9};
  write_results(path("out"), random_series(oblique_geometry(), 2, 2), provenance);
  const auto images = nlohmann::json::parse(bytes_of(path("out.json")))["images"];
  EXPECT_EQ(images[1]["repetition"], 1);
  EXPECT_EQ(images[1]["slice"], 2);
  EXPECT_EQ(images[0]["counters"],
            (nlohmann::json{{"repetition", 0}, {"contrast", 4}, {"phase", 0}, {"set", 0}, {"slice", 3}}));
  EXPECT_EQ(images[3]["counters"],
            (nlohmann::json{{"repetition", 1}, {"contrast", 0}, {"phase", 7}, {"set", 2}, {"slice", 9}}));
  const auto file = hdf5::File::open(path("out.h5"));
  for (const auto& [name, numbers] :
       std::map<std::string, std::vector<double>>{{"repetitions", {1, 3}},
                                                  {"slices", {0, 2}},
                                                  {"contrast_counters", {4, 0}},
                                                  {"phase_counters", {0, 7}},
                                                  {"set_counters", {0, 2}},
                                                  {"repetition_counters", {0, 1}},
                                                  {"slice_counters", {3, 9}}})
    EXPECT_EQ(file.number_attribute("/image", name), numbers) << name;
  write_results(path("plain"), random_series(oblique_geometry(), 1, 1), some_provenance(1));
  EXPECT_FALSE(nlohmann::json::parse(bytes_of(path("plain.json")))["images"][0].contains("counters"));
  EXPECT_FALSE(hdf5::File::open(path("plain.h5")).has_attribute("/image", "contrast_counters"));
}

TEST(RepetitionNames, are_the_counters_that_differ) {
  EXPECT_EQ(name_of_repetition({}, 0), "");
  EXPECT_EQ(name_of_repetition({{5, 1, 2, 3}}, 0), "");
  EXPECT_EQ(name_of_repetition({{0, 1, 0, 0}, {0, 4, 0, 0}}, 1), "contrast 4");
  EXPECT_EQ(name_of_repetition({{0, 0, 0, 0}, {1, 0, 0, 0}}, 1), "") << "its number";
  EXPECT_EQ(name_of_repetition({{0, 0, 0, 0}, {2, 0, 0, 0}}, 1), "repetition 2");
  EXPECT_EQ(name_of_repetition({{0, 0, 0, 0}, {1, 0, 3, 1}}, 1), "repetition 1, phase 3, set 1");
}

// Computed by hand, in LPS: columns 10 mm * (0,1,0), 5 mm * (0,0,1), 3 mm * (1,0,0); voxel (0,0,0) lies 2, 3 and 1
// voxels before the centre (1,2,3): (1-3, 2-20, 3-15). RAS turns the signs of the first two rows.
TEST_F(Results, nifti_affine_is_that_computed_by_hand) {
  const std::array<std::array<double, 4>, 3> expected{{{0, 0, -3, 2}, {-10, 0, 0, 18}, {0, 5, 0, -12}}};
  const auto series = random_series(oblique_geometry(), 2, 1);
  const auto affine = affine_of(stacks_of(series).front());
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column) EXPECT_NEAR(affine[row][column], expected[row][column], 1e-12);

  write_results(path("out"), series, some_provenance(2));
  const auto image = nifti_of("out.nii.gz");
  ASSERT_TRUE(image);
  EXPECT_EQ((std::array{image->ndim, image->nx, image->ny, image->nz, image->nt}),
            (std::array{4, 4, 6, 3, 2}));
  EXPECT_EQ((std::array{image->dx, image->dy, image->dz}), (std::array{10.0F, 5.0F, 3.0F}));
  EXPECT_GT(image->sform_code, 0);
  EXPECT_GT(image->qform_code, 0);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column) {
      EXPECT_NEAR(image->sto_xyz.m[row][column], expected[row][column], 1e-5);
      EXPECT_NEAR(image->qto_xyz.m[row][column], expected[row][column], 1e-5);  // single-precision quaternion
    }
  const auto* data = static_cast<const float*>(image->data);
  for (int i = 0; i < 144; ++i) EXPECT_EQ(data[i], abs(series.images[i / 72].values[i % 72]));
}

TEST_F(Results, nifti_slices_are_spaced_by_their_positions) {
  Geometry geometry;
  geometry.matrix_size = {8, 7, 1};
  geometry.fov_mm = {80, 70, 3};
  geometry.position_mm = {0, 0, -8};
  const auto series = random_series(geometry, 1, 5);  // 4 mm apart, 3 mm thick
  const auto affine = affine_of(stacks_of(series).front());
  EXPECT_NEAR(affine[2][2], 4, 1e-12);
  EXPECT_NEAR(affine[2][3], -8, 1e-12);
  EXPECT_NEAR(affine[0][3], 40, 1e-12);  // 8 voxels: the centre is voxel 4
  EXPECT_NEAR(affine[1][3], 30, 1e-12);  // 7 voxels: the centre is voxel 3
}

TEST_F(Results, of_several_stacks_of_slices_have_a_nifti_file_and_a_picture_for_each) {
  Geometry geometry;
  geometry.matrix_size = {8, 7, 1};
  geometry.fov_mm = {80, 70, 3};
  auto series = random_series(geometry, 2, 3);
  for (const std::size_t i : {1U, 4U}) {
    auto& own = series.images[i].geometry;
    own.phase_direction = {0, 0, -1}, own.slice_direction = {0, 1, 0};
  }
  const auto written = write_results({path("out"), {{"phase", ""}}}, series, some_provenance(6));
  ResultRequest request(path("out"), {{"phase", ""}});
  request.stack_count = 2;
  EXPECT_EQ(written, files_of_results(request));
  for (const char* name : {"out_1.nii.gz", "out_2.nii.gz", "out_1.png", "out_2.png", "out_2_phase.nii.gz"})
    EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
  const auto image = nifti_of("out_1.nii.gz");
  ASSERT_TRUE(image);
  EXPECT_EQ((std::array{image->nz, image->nt}), (std::array{2, 2}));
  EXPECT_EQ(image->dz, 8.0F) << "from slice 0 to slice 2";
  const auto* data = static_cast<const float*>(image->data);
  constexpr std::size_t images[]{0, 2, 3, 5};
  for (int i = 0; i < 4 * 56; ++i) EXPECT_EQ(data[i], abs(series.images[images[i / 56]].values[i % 56]));
  const auto read = read_image(path("out.h5"));
  EXPECT_EQ(read.images[4].geometry.slice_direction, (std::array<double, 3>{0, 1, 0}));
  EXPECT_EQ(read.images[5].geometry.slice_direction, (std::array<double, 3>{0, 0, 1}));

  // The name of a stack may also be that of another result.
  std::filesystem::rename(path("out_1.nii.gz"), path("other_1.nii.gz"));
  write_text(path("other_1.json"), "{}");
  request.prefix = path("other");
  EXPECT_CONTAINS(error_of([&] { require_replaceable(request, "scan.h5", ChecksumInBackground::of("a")); }),
                  "other_1.nii.gz");
}

TEST_F(Results, nifti_voxels_of_unknown_fov_are_1_mm) {
  Geometry geometry;
  geometry.matrix_size = {8, 8, 1};
  EXPECT_NEAR(affine_of(stacks_of(random_series(geometry, 1, 1)).front())[0][0], -1, 1e-12);
}

TEST_F(Results, montage_shows_small_slices_large_and_upright) {
  Geometry geometry;
  geometry.matrix_size = {64, 64, 1};
  Image image{Array<Complex<float>>(geometry.image_shape()), geometry};
  for (int x = 0; x < 64; ++x) image.values[x] = {0, 2};  // first y: on top
  write_results(path("out"), {1, 1, {image}}, some_provenance(1));
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&header, path("out.png").c_str()));
  EXPECT_EQ(header.width, 256u);
  EXPECT_EQ(header.height, 256u);
  header.format = PNG_FORMAT_GRAY;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(header));
  ASSERT_TRUE(png_image_finish_read(&header, nullptr, pixels.data(), 0, nullptr));
  EXPECT_EQ(pixels[0], 255);
  EXPECT_EQ(pixels[256 * 255], 0);
  geometry.matrix_size = {100, 50, 200};
  const auto many = montage({Image{Array<Complex<float>>(geometry.image_shape()), geometry}});
  EXPECT_EQ(many.width, 8 * 100 + 7 * 2) << "64 slices in eight columns";
  EXPECT_EQ(many.height, 8 * 50 + 7 * 2);
}

TEST_F(Results, gray_values_survive_nan) {
  const float magnitude[3]{NAN, 1, 5};
  EXPECT_EQ(gray_of(magnitude, 3, 1, 2).pixels, (std::vector<std::uint8_t>{0, 128, 255}));
  EXPECT_EQ(quantile({NAN, 3, 1, INFINITY, 2}, 0.5), 2);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST_F(Results, captions_are_drawn_and_cut_off_at_the_edge) {
  const auto image = make_gray_image(20, 10), labelled = captioned(image, "I, cut off \xff");
  EXPECT_EQ(labelled.height, 10 + 2 * 10);
  // Twice as large from (2, 2) on; the stem of the I is its third column.
  for (int row = 2; row < 16; ++row) EXPECT_EQ(labelled.at(6, row), 255);
  EXPECT_EQ(labelled.at(2, 2), 0);
  EXPECT_EQ(tile({image, image, image}, 2, 4).width, 44);
}

TEST_F(Results, nothing_appears_and_nothing_changes_when_the_disk_is_full) {
  const auto old_series = random_series(oblique_geometry(), 1, 1);
  write_results(path("out"), old_series, some_provenance(1));
  const auto before = contents_of(folder());
  ASSERT_EQ(before.size(), 4u);
  Geometry geometry;
  geometry.matrix_size = {64, 64, 1};
  const auto series = random_series(geometry, 1, 2);
  int failures = 0;
  // Each limit stops the first and largest file, OUT.h5, at another point.
  for (const rlim_t bytes : {0, 1, 100, 1000, 3000, 10000, 30000, 60000, 65000, 66000, 68000, 69000}) {
    std::string line;
    {
      const FileSizeLimit limit(bytes);
      line = error_of([&] { write_results(path("out"), series, some_provenance(2)); });
    }
    if (line.empty()) break;
    ++failures;
    EXPECT_CONTAINS(line, path("out")) << bytes;
    EXPECT_EQ(contents_of(folder()), before) << bytes;
  }
  EXPECT_GE(failures, 8);
  write_results(path("out"), series, some_provenance(2));
  EXPECT_EQ(contents_of(folder()).size(), 4u);
  EXPECT_EQ(read_image(path("out.h5")).slice_count, 2);
}

TEST_F(Results, are_refused_before_the_work_where_they_cannot_be_written) {
  EXPECT_CONTAINS(error_of([&] { check_writable(path("none/out")); }), "existing folder");
  EXPECT_CONTAINS(error_of([&] { check_writable({"/proc/out"}); }), "/proc/out");
  std::filesystem::create_directory(path("out.png"));
  EXPECT_CONTAINS(error_of([&] { check_writable(path("out")); }), "out.png: expected the name of a file");
  EXPECT_NO_THROW(check_writable(path("other")));
  EXPECT_FALSE(std::filesystem::exists(path("other.h5")));
}

TEST_F(Results, need_a_name_that_is_not_the_scan) {
  for (const char* prefix : {"", ".", "..", "folder/"})
    EXPECT_CONTAINS(error_of([&] { check_writable({prefix}); }), "add a name") << prefix;
  EXPECT_CONTAINS(error_of([&] { check_writable(path(std::string(250, 'x'))); }), "too long");
  for (const char* ending : {".h5", ".png"}) {
    const auto scan = path("scan") + ending;
    write_text(scan, "a scan");
    EXPECT_CONTAINS(error_of([&] { check_writable(path("scan"), {scan}); }), "is the scan itself");
    std::filesystem::remove(scan);
  }
}

TEST_F(Results, say_what_nifti_cannot_say_of_places) {
  Geometry geometry;
  geometry.matrix_size = {8, 7, 1};
  geometry.fov_mm = {80, 70, 3};
  auto series = random_series(geometry, 1, 4);  // 4 mm apart
  EXPECT_EQ(note_of_places(stacks_of(series)), "");
  series.images[2].geometry.position_mm[2] += 1;
  EXPECT_CONTAINS(note_of_places(stacks_of(series)), "up to 1 mm off");
  series.images[2].geometry.position_mm[2] -= 1;
  for (std::size_t i = 0; i < 4; ++i) series.images[i].geometry.position_mm[0] = static_cast<double>(i);
  EXPECT_CONTAINS(note_of_places(stacks_of(series)), "sform alone");
  write_results(path("out"), series, some_provenance(4));
  const auto image = nifti_of("out.nii.gz");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->qform_code, 0);
  EXPECT_EQ(image->sto_xyz.m[0][2], -1);
}

TEST_F(Results, images_of_another_shape_are_refused) {
  auto series = random_series(oblique_geometry(), 1, 2);
  series.images[1].geometry.matrix_size = {3, 8, 3};
  EXPECT_NE(error_of([&] { write_results(path("out"), series, some_provenance(2)); }), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(Results, truth_files_hold_several_series) {
  const auto first = random_series(oblique_geometry(), 1, 1),
             second = random_series(oblique_geometry(), 1, 2);
  const OutputLock lock(path("set"));
  FileSet files(lock);
  write_image_file(files, path("truth.h5"), {{"/image", &first}, {"/ideal", &second}});
  files.commit();
  EXPECT_EQ(read_image(path("truth.h5")).slice_count, 1);
  EXPECT_EQ(read_image(path("truth.h5"), "/ideal").slice_count, 2);
  EXPECT_CONTAINS(error_of([&] { read_image(path("truth.h5"), "/other"); }), "truth.h5:/other");
}

TEST_F(Results, a_failure_of_any_writer_leaves_nothing) {
  CompanionResults companions;
  companions.compression = {10, 3};
  const auto series = random_series(oblique_geometry(), 1, 1);
  EXPECT_CONTAINS(error_of([&] { write_results(path("out"), series, some_provenance(1), companions); }),
                  "out.nii.gz compression: expected 0 (none) ... 9 (smallest), found 10");
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(Results, are_the_same_bytes_whatever_the_number_of_threads) {
  Geometry geometry;
  geometry.matrix_size = {96, 96, 1};
  const auto series = random_series(geometry, 3, 5);
  CompanionResults companions;
  std::vector<std::map<std::string, std::string>> contents;
  for (const int threads : {1, 4}) {
    companions.compression.threads = threads;
    write_results({path("out"), {{"phase", ""}}}, series, some_provenance(15), companions);
    contents.push_back(contents_of(folder()));
  }
  EXPECT_EQ(contents[0].size(), 5u);
  EXPECT_TRUE(contents[0] == contents[1]);
}

}  // namespace
}  // namespace fhd::io
