// --dicom and --ismrmrd-images: what is refused before the work, what is replaced, what is left alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class SeriesCommand : public SmallScanTest {
 protected:
  void prepare() override { ASSERT_EQ(simulate("scan", 1), 0) << text("err"); }
  int simulate(const std::string& name, int seed) const {
    return run("simulate -o " + name + " --matrix 16 --coils 2 --repetitions 2 --seed " +
               std::to_string(seed));
  }
  int recon(const std::string& arguments) const { return run("recon --device cpu -o out " + arguments); }
  std::size_t entries(const std::string& name) const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path(name)), fs::directory_iterator()));
  }
  /// A series that cannot be written is refused before anything is computed or written.
  void expect_refused(const std::string& arguments, const std::string& line) const {
    EXPECT_EQ(recon("scan.h5 " + arguments), 1) << arguments;
    EXPECT_EQ(text("err"), "fhd: " + line + "\n");
    EXPECT_LACKS(text("out"), "image ");
    EXPECT_FALSE(exists("out.json")) << arguments;
  }
};

class DicomCommand : public SeriesCommand {
 protected:
  void SetUp() override {
    if (!fs::exists(fs::path(program()).parent_path() / "fhd_dicom.so"))
      GTEST_SKIP() << "built without DCMTK";
    SeriesCommand::SetUp();
  }
};

TEST_F(DicomCommand, writes_a_file_for_each_image_and_says_who_stands_for_the_patient) {
  ASSERT_DONE(recon("scan.h5 --dicom series/"));
  EXPECT_EQ(entries("series"), 2u);
  EXPECT_TRUE(exists("series/image_0001.dcm") && exists("series/image_0002.dcm"));
  EXPECT_CONTAINS(text("out"), "note      the scan states no name and ID of the patient: ANON^fhd, fhd-");
  EXPECT_CONTAINS(text("out"), "out.json series/\n");
  EXPECT_EQ(text("err"), "");
}

TEST_F(DicomCommand, an_earlier_series_of_the_scan_is_replaced_and_one_of_another_is_not) {
  ASSERT_DONE(recon("scan.h5 --dicom series"));
  ASSERT_DONE(recon("scan.h5 --dicom series --repetitions 1"));
  EXPECT_EQ(entries("series"), 1u);
  ASSERT_EQ(simulate("other", 2), 0);
  const auto before = bytes_of(path("series/image_0001.dcm"));
  EXPECT_EQ(run("recon other.h5 -o other_out --device cpu --dicom series"), 1);
  EXPECT_EQ(text("err"),
            "fhd: series: expected a new name, or an earlier result of this scan, found one of another scan; "
            "--force "
            "overwrites it; or choose another name\n");
  EXPECT_EQ(bytes_of(path("series/image_0001.dcm")), before);
  EXPECT_FALSE(exists("other_out.json"));
  EXPECT_DONE(run("recon other.h5 -o other_out --device cpu --dicom series --force"));
  EXPECT_EQ(entries("series"), 2u);
}

TEST_F(DicomCommand, folders_with_anything_else_are_left_alone_even_by_force) {
  ASSERT_DONE(recon("scan.h5 --dicom series"));
  ASSERT_TRUE(fs::remove(path("out.json")));
  fs::create_directories(path("series/sub"));
  expect_refused(
      "--dicom series --force",
      "series: expected a folder, new, empty or with a DICOM series of fhd, found 'sub', which fhd did "
      "not make; choose another folder");
  fs::remove(path("series/sub"));
  write_text(path("series/image_0002.dcm"), "no DICOM");
  expect_refused(
      "--dicom series --force",
      "series: expected a folder, new, empty or with a DICOM series of fhd, found 'image_0002.dcm', "
      "which fhd did not make; choose another folder");
  EXPECT_EQ(text("series/image_0002.dcm"), "no DICOM");
}

TEST_F(DicomCommand, places_that_make_no_sense_are_refused) {
  write_text(path("file"), "mine");
  fs::create_symlink("nothing", path("link"));
  const std::string
      other = "; choose another name",
      folder = "; choose another folder",
      of_scan =
          ": expected a name other than those of the scan and its pieces, found scan.h5 is the scan itself",
      of_result = ": expected a name other than those of the other results, found out.h5";
  for (const auto& [arguments, line] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--dicom file", "file: expected a folder, new or empty, found a file" + folder},
           {"--dicom .", "--dicom .: expected the name of a folder, new or empty, found none"},
           {"--dicom nowhere/s",
            "nowhere/s: expected an existing folder 'nowhere', found none; create it first"},
           {"--dicom out.h5", "--dicom out.h5" + of_result + other},
           {"--dicom scan.h5", "--dicom scan.h5" + of_scan + other},
           {"--dicom link", "link: expected a folder, new or empty, found a link to nothing" + folder},
           {"--ismrmrd-images scan.h5", "--ismrmrd-images scan.h5" + of_scan + other},
           {"--ismrmrd-images ./out.h5", "--ismrmrd-images ./out.h5" + of_result + other},
           {"--ismrmrd-images /dev/null --force",
            "/dev/null: expected the name of a file, found a pipe, a device or a socket" + other}})
    expect_refused(arguments, line);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  fs::create_directory(path("all"));
  EXPECT_EQ(run("recon scan.h5 --device cpu -o all/out --dicom all"), 1);
  EXPECT_EQ(
      text("err"),
      "fhd: --dicom all: expected a name other than those of the other results, found -o all/out; choose "
      "another name\n");
  EXPECT_EQ(entries("all"), 0u);
  EXPECT_EQ(recon("scan.h5 --dicom ''"), 2);
  EXPECT_EQ(bytes_of(path("file")), "mine");
  if (geteuid() == 0) return;  // may write everywhere
  fs::create_directory(path("closed"));
  fs::permissions(path("closed"), fs::perms::owner_read | fs::perms::owner_exec);
  expect_refused("--dicom closed/series",
                 "closed/series: expected a folder 'closed' that can be written, found Permission denied");
}

TEST_F(DicomCommand, a_symbolic_link_to_a_folder_stays_one) {
  fs::create_directory(path("disk"));
  fs::create_directory(path("disk/series"));
  fs::create_directory_symlink(path("disk/series"), path("series"));
  for (int time = 0; time < 2; ++time) {
    ASSERT_DONE(recon("scan.h5 --dicom series"));
    EXPECT_TRUE(fs::is_symlink(path("series")));
    EXPECT_EQ(entries("disk/series"), 2u);
    EXPECT_EQ(entries("disk"), 1u);
  }
}

TEST_F(DicomCommand, a_scan_of_unknown_size_is_refused_and_told_how) {
  auto scan = io::open_scan(path("scan.h5"))->read(0, 0);
  scan.geometry.fov_mm = {0, 0, 0};
  io::ScanSeries series;
  series.scans.push_back(scan);
  io::write_scan(path("scan.h5"), io::ScanFormat::fhd, series);
  expect_refused(
      "--dicom series",
      "scan.h5: expected a FOV in mm, for a DICOM series, found none along x; give it with --fov-mm X,Y,Z");
  ASSERT_DONE(recon("scan.h5 --dicom series --fov-mm 220"));
  EXPECT_EQ(entries("series"), 1u);
}

TEST_F(SeriesCommand, says_what_a_build_without_dcmtk_lacks) {
  fs::copy_file(program(), path("fhd"));
  fs::copy_file(fs::path(program()).parent_path() / "fhd-reader", path("fhd-reader"));
  EXPECT_EQ(run_command("./fhd recon scan.h5 --device cpu -o out --dicom series"), 1);
  EXPECT_EQ(text("err"),
            "fhd: DICOM files: expected " + fs::canonical(folder()).string() +
                "/fhd_dicom.so, which a build with DCMTK makes, found none; install fhd-dicom where fhd is a "
                "package; else libdcmtk-dev, and build fhd again\n");
  EXPECT_FALSE(exists("out.json"));
  EXPECT_EQ(run_command("./fhd recon scan.h5 --device cpu -o out"), 0) << "everything else works";
}

TEST_F(SeriesCommand, ismrmrd_images_hold_the_magnitudes_of_the_results) {
  ASSERT_DONE(recon("scan.h5 --ismrmrd-images images.h5"));
  ASSERT_EQ(recon("scan.h5 --ismrmrd-images images.h5"), 0) << "again: " << text("err");
  EXPECT_CONTAINS(text("out"), "out.json images.h5\n");
  const auto results = io::read_image(path("out.h5"));
  const auto file = io::hdf5::File::open(path("images.h5"));
  const auto data = file.dataset("/dataset/image_0/data");
  ASSERT_EQ(data.extents(), (io::hdf5::Extents{2, 1, 1, 16, 16}));
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto read = data.read<float>({1, 16, 16}, {i, 0});
    const auto& image = results.images[static_cast<std::size_t>(i)];
    for (std::int64_t v = 0; v < read.size(); ++v) EXPECT_EQ(read[v], abs(image.values[v]));
  }
  EXPECT_TRUE(file.text_attribute("/", "made_by").starts_with("fhd "));
}

TEST_F(SeriesCommand, ismrmrd_images_replace_nothing_but_earlier_ones_of_the_scan) {
  write_text(path("mine.h5"), "mine");
  expect_refused(
      "--ismrmrd-images mine.h5",
      "mine.h5: expected a new name, or an earlier result of this scan, found a file that is no result "
      "of fhd; --force overwrites it; or choose another name");
  EXPECT_EQ(bytes_of(path("mine.h5")), "mine");
  ASSERT_EQ(simulate("other", 2), 0);
  ASSERT_DONE(run("recon other.h5 -o other_out --device cpu --ismrmrd-images images.h5"));
  expect_refused(
      "--ismrmrd-images images.h5",
      "images.h5: expected a new name, or an earlier result of this scan, found one of another scan; "
      "--force overwrites it; or choose another name");
  ASSERT_DONE(recon("scan.h5 --ismrmrd-images images.h5 --force"));
}

}  // namespace
}  // namespace fhd::tests
