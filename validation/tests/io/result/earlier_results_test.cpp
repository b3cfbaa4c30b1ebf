// Files under the names of results: the scan that they state, and whether they may be replaced.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "io/scan/checksum.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class EarlierResults : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    write_text(scan(), "abc");
  }
  std::string scan() const { return path("scan.h5"); }
  /// Why `out` may not be replaced by a result of the scan; empty where it may.
  std::string refusal(bool with_phase = false, bool with_noise = false) const {
    ResultRequest request(path("out"));
    if (with_phase) request.add("phase");
    if (with_noise) request.add_noise_maps();
    return error_of([&] { require_replaceable(request, scan(), ChecksumInBackground(scan())); });
  }
  void tell(const std::string& scan_path, const std::string& checksum, const std::string& more = "") const {
    write_text(path("out.json"), R"({"program": "fhd", )" + more + R"("input": {"checksum": ")" + checksum +
                                     R"("}, "environment": {"input_path": ")" + scan_path + R"("}})");
  }
  void tell_in_hdf5(const std::string& checksum) const {
    auto file = hdf5::File::create(path("out.h5"), path("out.h5"));
    file.create_group("/report");
    if (!checksum.empty()) file.write_attribute("/report", "input_checksum", checksum);
    file.close();
  }
};

constexpr auto none_of_fhd = "found a file that is no result of fhd";

TEST_F(EarlierResults, of_this_scan_are_replaced) {
  EXPECT_EQ(refusal(), "");
  tell("elsewhere.h5", checksum_of(scan()));
  EXPECT_EQ(refusal(), "");
  tell("elsewhere.h5", checksum_of(scan()), R"("images": [{"a": [1, {"input": 2}]}], )");
  EXPECT_EQ(refusal(true, true), "");
  write_text(path("out.png"), "a picture");  // the report beside it says of which scan it is
  EXPECT_EQ(refusal(), "");
  tell_in_hdf5(checksum_of(scan()));
  EXPECT_EQ(refusal(), "");
}

TEST_F(EarlierResults, of_other_scans_stay) {
  const std::string other(checksum_of(scan()).size(), '0');
  tell("other.h5", other);
  EXPECT_CONTAINS(refusal(),
                  "out.json: expected a new name, or an earlier result of this scan, found one of other.h5");
  tell(scan(), other);
  EXPECT_CONTAINS(refusal(), "found one of " + scan() + " with another content");
  std::filesystem::remove(path("out.json"));
  tell_in_hdf5(other);
  EXPECT_CONTAINS(refusal(), "found one of another scan");
}

TEST_F(EarlierResults, that_are_none_of_fhd_stay) {
  for (const std::string text : {"", "no JSON", "[]", "{}", R"({"program": "other", "input": {}})",
                                 R"({"program": "fhd"})", R"({"program": "fhd", "input": 3})",
                                 R"({"program": "fhd", "input": {"path": 3, "checksum": ["a"]}})"}) {
    write_text(path("out.json"), text);
    EXPECT_CONTAINS(refusal(), none_of_fhd);
  }
  write_text(path("out.json"), R"({"program": "fhd", "input": {"path": {"a": [[]]}, "checksum": [[1]]}})");
  EXPECT_CONTAINS(refusal(), none_of_fhd);
  write_text(path("out.json"), std::string(100000, '['));
  EXPECT_CONTAINS(refusal(), none_of_fhd);
  std::filesystem::remove(path("out.json"));
  std::filesystem::create_directory(path("out.json"));
  EXPECT_CONTAINS(refusal(), none_of_fhd);
  std::filesystem::remove(path("out.json"));
  write_text(path("out.h5"), "no HDF5");
  EXPECT_CONTAINS(refusal(), none_of_fhd);
  tell_in_hdf5("");
  EXPECT_CONTAINS(refusal(), none_of_fhd);
}

TEST_F(EarlierResults, that_do_not_say_of_which_scan_they_are_stay) {
  write_text(path("out.png"), "a picture");
  EXPECT_CONTAINS(
      refusal(),
      "out.png: expected a new name, or an earlier result of this scan, found a file that does not say");
  std::filesystem::remove(path("out.png"));
  write_text(path("out_phase.nii.gz"), "a phase");
  EXPECT_EQ(refusal(), "");  // not among what would be written
  EXPECT_CONTAINS(refusal(true), "does not say of which scan it is");
}

TEST_F(EarlierResults, of_a_name_that_is_also_that_of_a_companion_stay) {
  tell("x", checksum_of(scan()));
  for (const std::string name : {"out_phase", "out_gfactor"}) {
    write_text(path(name + ".nii.gz"), "an image");
    EXPECT_EQ(refusal(true, true), "");
    write_text(path(name + ".json"), "{}");
    EXPECT_CONTAINS(refusal(true, true), "found one of the result " + path(name));
    EXPECT_EQ(refusal(false, false), "");
    std::filesystem::remove(path(name + ".json"));
    std::filesystem::remove(path(name + ".nii.gz"));
  }
}

}  // namespace
}  // namespace fhd::io
