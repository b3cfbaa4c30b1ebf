// The folder of a series under way: what it keeps, what counts as finished, who may go on; and results made from it.
#include "io/result/series_folder.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "io/hdf5/hdf5.hpp"
#include "io/result/report_json.hpp"
#include "io/result/results.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

Image random_image(unsigned seed, bool in_double, std::array<int, 3> matrix_size = {6, 4, 3}) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Image image;
  image.geometry.matrix_size = matrix_size;
  image.geometry.fov_mm = {1.0 / 3, 2, 3};
  image.geometry.position_mm = {0, 0, seed / 7.0};
  image.in_double = Array<Complex<double>>(image.geometry.image_shape());
  for (auto& value : image.in_double) value = {uniform(generator), uniform(generator)};
  image.values = converted<Complex<float>>(image.in_double);
  if (!in_double) image.in_double = {};
  return image;
}

Report report_of(unsigned seed) {
  Report report;
  report.settings = {{"method", "cg"}, {"iterations", "3"}};
  report.relative_residuals.assign(2 + seed % 3, 1.0 / (3 + seed));
  report.messages = {{"verdict", Severity::suspicion, "doubt " + std::to_string(seed), "remedy", "lambda"}};
  report.certificate.emplace().adjoint_error = 1e-7 / (1 + seed);
  report.certificate->seconds = 0.25;
  report.verdict.emplace().judgement = Verdict::Judgement::varies;
  report.verdict->by_coil = {{1, 0.5, 0.25, 0}};
  report.stages = {{"FhD", 0.5, {{0.125, 0.5}}}};
  report.terms = {{"tv", 0.1, 3}};
  report.noise_summary.emplace().widths = {{{1, 2, 3}, {1.5, 2.5, 0}, {}}};
  report.verdict->cause = {"delays", "gradients are late"};
  report.device_planned_bytes = 100;
  report.device_peak_bytes = 90;
  return report;
}

template <class T>
bool same_bits(const Array<T>& a, const Array<T>& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(T)) == 0;
}

class SeriesFolderTest : public FolderTest {
 protected:
  static constexpr unsigned count = 6;
  std::unique_ptr<SeriesFolder> open(const SeriesIdentity& identity = {{"the scan", "abc"}},
                                     bool anew = false) const {
    return std::make_unique<SeriesFolder>(
        path("out"), count, [identity] { return identity; }, [] { return std::string("CPU"); }, anew);
  }
  static void add(SeriesFolder& folder, unsigned number, bool in_double = false) {
    const Image image = random_image(number, in_double), gridded = random_image(100 + number, in_double);
    folder.add(number, image, &gridded, {}, report_of(number));
  }
  std::string there(const std::string& name) const { return path("out.partial/" + name); }
};
using SeriesFolders = SeriesFolderTest;

TEST_F(SeriesFolders, take_volumes_from_several_threads) {
  {
    const auto folder = open();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back([&, i] { add(*folder, i); });
    for (auto& thread : threads) thread.join();
  }
  const auto folder = open();
  EXPECT_EQ(folder->finished_count(), count);
  for (unsigned i = 0; i < count; ++i) {
    ASSERT_TRUE(folder->holds(i));
    Image image;
    folder->images()->read(i, image);
    EXPECT_TRUE(same_bits(image.values, random_image(i, false).values));
    EXPECT_EQ(folder->report(i).report, json_line(json_of(report_of(i)).report));
  }
}

TEST_F(SeriesFolders, give_volumes_back_to_the_last_bit) {
  for (const bool in_double : {false, true}) {
    {
      const auto folder = open({{"double", in_double ? "yes" : "no"}}, true);
      for (const unsigned i : {4U, 0U}) add(*folder, i, in_double);
    }
    const auto folder = open({{"double", in_double ? "yes" : "no"}});
    EXPECT_EQ(folder->finished_count(), 2u);
    EXPECT_EQ(folder->earlier_host(), "CPU");
    ASSERT_TRUE(folder->holds(4) && folder->holds(0));
    EXPECT_FALSE(folder->holds(1));
    Image image, gridded;
    folder->images()->read(4, image);
    folder->gridded()->read(4, gridded);
    const Image expected = random_image(4, in_double);
    EXPECT_TRUE(same_bits(image.values, expected.values));
    EXPECT_TRUE(same_bits(image.in_double, expected.in_double));
    EXPECT_TRUE(same_bits(gridded.values, random_image(104, in_double).values));
    const auto [geometry, summary] = folder->summary(4);
    EXPECT_EQ(geometry.fov_mm, expected.geometry.fov_mm);
    EXPECT_EQ(geometry.position_mm, expected.geometry.position_mm);
    EXPECT_EQ(folder->report(4).report, json_line(json_of(report_of(4)).report));
    EXPECT_EQ(folder->report(4).times, json_line(json_of(report_of(4)).times));
    EXPECT_EQ(summary.messages.at(0).severity, Severity::suspicion);
    EXPECT_EQ(summary.certificate->adjoint_error, report_of(4).certificate->adjoint_error);
    EXPECT_EQ(summary.certificate->normal_error, -1) << "not checked";
    EXPECT_EQ(summary.relative_residuals.size(), report_of(4).relative_residuals.size());
  }
}

TEST_F(SeriesFolders, count_a_volume_when_its_line_is_whole_and_its_values_are_those_of_the_line) {
  {
    const auto folder = open();
    for (unsigned i = 0; i < 4; ++i) add(*folder, i);
  }
  const auto lines = bytes_of(there("reports.jsonl"));
  write_text(there("reports.jsonl"), "no JSON\n{\"number\": 77}\n" + lines.substr(0, lines.size() - 1));
  std::fstream values(there("images.raw"), std::ios::in | std::ios::out | std::ios::binary);
  values.seekp(6 * 4 * 3 * 8 + 5);  // of volume 1
  values.put('?');
  values.close();
  const auto folder = open();
  EXPECT_TRUE(folder->holds(0));
  EXPECT_FALSE(folder->holds(1)) << "its values have changed";
  EXPECT_TRUE(folder->holds(2));
  EXPECT_FALSE(folder->holds(3)) << "its line is cut off";
  EXPECT_EQ(folder->finished_count(), 2u);
  for (const unsigned i : {1U, 3U}) add(*folder, i);
  EXPECT_EQ(folder->report(3).report, json_line(json_of(report_of(3)).report));
}

TEST_F(SeriesFolders, of_another_series_are_refused_and_left) {
  {
    const auto folder = open({{"the scan", "abc"}, {"--iterations", "9"}});
    add(*folder, 0);
  }
  const auto before = bytes_of(there("images.raw"));
  EXPECT_EQ(error_of([&] {
              open({{"the scan", "abc"}, {"--iterations", "5"}});
            }),
            path("out.partial") +
                ": expected the volumes of an unfinished run with --iterations 5, found those of one "
                "with 9; --force begins anew, -o NAME writes beside it");
  EXPECT_CONTAINS(error_of([&] {
                    open({{"the scan", "abc"}});
                  }),
                  "with --iterations none, found those of one with 9");
  EXPECT_CONTAINS(error_of([&] { open({{"the scan", "abd"}, {"--iterations", "9"}}); }), "with the scan abd");
  EXPECT_EQ(bytes_of(there("images.raw")), before);
  EXPECT_EQ(open({{"the scan", "abd"}}, true)->finished_count(), 0u);
  EXPECT_EQ(bytes_of(there("images.raw")), before) << "until the first volume of the new series is finished";
}

TEST_F(SeriesFolders, are_not_made_of_what_somebody_else_put_there) {
  fs::create_directory(path("out.partial"));
  write_text(there("letter"), "dear");
  EXPECT_CONTAINS(error_of([&] { open({}, true); }), "found a folder with other files; choose another -o");
  EXPECT_EQ(bytes_of(there("letter")), "dear");
  fs::remove_all(path("out.partial"));
  write_text(path("out.partial"), "a file");
  EXPECT_CONTAINS(error_of([&] { open({}, true); }), "found a file");
}

TEST_F(SeriesFolders, appear_with_the_first_finished_volume_and_write_through_no_link) {
  const auto folder = open();
  EXPECT_FALSE(fs::exists(path("out.partial")));
  write_text(path("victim"), "mine");
  fs::create_directory(path("out.partial"));
  fs::create_symlink(path("victim"), there("images.raw"));
  add(*folder, 0);
  EXPECT_EQ(bytes_of(path("victim")), "mine");
  EXPECT_EQ(open()->finished_count(), 1u);
  EXPECT_EQ(note_of_unfinished_series(),
            "1 of 6 images are in " + path("out.partial") + "; the same command goes on with the others");
  folder->remove();
  EXPECT_FALSE(fs::exists(path("out.partial")));
  EXPECT_EQ(note_of_unfinished_series(), "");
}

TEST_F(SeriesFolders, with_a_damaged_description_are_begun_anew) {
  for (const std::string text : {"", "[]", "{\"program\": \"fhd\", \"series\": 3}", "{\"program\": 1}"}) {
    {
      const auto folder = open({{"the scan", "abc"}}, true);
      add(*folder, 2);
    }
    write_text(there("series.json"), text);
    EXPECT_EQ(open()->finished_count(), 0u) << text;
  }
}

TEST_F(SeriesFolders, give_the_files_that_images_in_memory_give) {
  ImageSeries held{3, 2, {}}, held_gridded{3, 2, {}};
  Provenance provenance{"1", "fhd", "scan.h5", "abc", "now", {{"threads", "2"}}, {}};
  const auto folder = open();
  ImageSeries stored{3, 2, {}};
  for (unsigned i = 0; i < count; ++i) {
    add(*folder, i);
    held.images.push_back(random_image(i, false));
    held_gridded.images.push_back({random_image(100 + i, false).values, held.images.back().geometry});
    provenance.reports.push_back(report_of(i));
    stored.images.push_back({{}, folder->summary(i).first});
  }
  CompanionResults companions{held_gridded, {}};
  write_results({path("held"), {{"phase", ""}}}, held, provenance, companions);
  stored.stored = folder->images();
  companions.gridded = stored;
  companions.gridded->stored = folder->gridded();
  provenance.reports.clear();
  provenance.stored_report = [&](std::size_t i) { return folder->report(i); };
  write_results({path("stored"), {{"phase", ""}}}, stored, provenance, companions);
  for (const char* ending :
       {".h5", ".json", "_1.png", "_2.png", "_2.nii.gz", "_1_phase.nii.gz"}) {  // two slabs
    EXPECT_FALSE(bytes_of(path("held") + ending).empty());
    EXPECT_TRUE(bytes_of(path("held") + ending) == bytes_of(path("stored") + ending)) << ending;
  }
  const auto file = hdf5::File::open(path("stored.h5"));
  const auto table = file.dataset("/report/relative_residuals").read<double>({6, 4});
  EXPECT_EQ(table[1 * 4 + 2], 0.25);
  EXPECT_TRUE(std::isnan(table[1 * 4 + 3])) << "the second image has three";
}

/// 12 MiB: more than is held in memory.
ImageSeries large_series() {
  ImageSeries series{24, 1, {}};
  for (unsigned i = 0; i < 24; ++i) series.images.push_back(random_image(i, false, {256, 256, 1}));
  return series;
}

TEST_F(SeriesFolders, large_files_are_complete) {
  const auto series = large_series();
  Provenance provenance{"1", "fhd", "scan.h5", "abc", "now", {}, {}};
  for (unsigned i = 0; i < 24; ++i) provenance.reports.push_back(report_of(i));
  write_results(path("out"), series, provenance);
  const auto file = hdf5::File::open(path("out.h5"));
  EXPECT_EQ(read_report_text(path("out.h5")), bytes_of(path("out.json")));
  EXPECT_LE(fs::file_size(path("out.h5")), (std::uintmax_t{12} << 20) + (1 << 18))
      << "what was reserved is given back";
  const auto read = read_image(path("out.h5"));
  ASSERT_EQ(read.images.size(), 24u);
  for (std::size_t i = 0; i < 24; ++i)
    EXPECT_TRUE(same_bits(read.images[i].values, series.images[i].values)) << i;
}

TEST_F(SeriesFolders, large_files_are_those_that_images_in_memory_give) {
  const auto held = large_series();
  const auto folder = std::make_unique<SeriesFolder>(
      path("out"), 24,
      [] {
        return SeriesIdentity{{"the scan", "abc"}};
      },
      [] { return std::string("CPU"); }, false);
  for (const auto& [repetitions, slices] : {std::pair(24, 1), {8, 3}, {1, 24}}) {
    ImageSeries series = held;
    series.repetition_count = repetitions, series.slice_count = slices;
    Provenance provenance{"1", "fhd", "scan.h5", "abc", "now", {}, {}};
    ImageSeries stored{repetitions, slices, {}};
    for (unsigned i = 0; i < 24; ++i) {
      provenance.reports.push_back(report_of(i));
      folder->add(i, held.images[i], nullptr, {}, report_of(i));
      stored.images.push_back({{}, held.images[i].geometry});
    }
    stored.stored = folder->images();
    write_results(path("held"), series, provenance);
    write_results(path("stored"), stored, provenance);
    EXPECT_TRUE(bytes_of(path("held.h5")) == bytes_of(path("stored.h5"))) << slices;
  }
}

TEST_F(SeriesFolders, large_files_appear_whole_or_not_at_all) {
  const auto series = large_series();
  for (const rlim_t bytes : {100 << 10, 5 << 20, 11 << 20, (12 << 20) + 1000}) {
    std::string line;
    {
      const FileSizeLimit limit(bytes);
      line = error_of([&] { write_results(path("out"), series, {}); });
    }
    EXPECT_CONTAINS(line, "expected a file that can be written to its end") << bytes;
    EXPECT_CONTAINS(line, "free some space") << bytes;
    EXPECT_TRUE(fs::is_empty(folder())) << bytes;
  }
}

}  // namespace
}  // namespace fhd::io
