// Equal work gives equal bytes: the same scan, settings and version, under two names in two folders.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;

/// Adds the bytes of an attribute.
herr_t add_attribute(hid_t object, const char* name, const H5A_info_t*, void* contents) {
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
  std::string bytes(H5Aget_storage_size(attribute), '\0');
  H5Aread(attribute, type, bytes.data());
  (*static_cast<Contents*>(contents))["@" + std::string(name)] = bytes;
  H5Tclose(type), H5Aclose(attribute);
  return 0;
}

/// Adds the values and attributes of an object, by its path.
herr_t add_object(hid_t file, const char* name, const H5O_info_t* info, void* contents) {
  auto& all = *static_cast<Contents*>(contents);
  const hid_t object = H5Oopen(file, name, H5P_DEFAULT);
  Contents attributes;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &attributes);
  for (const auto& [attribute, bytes] : attributes) all[name + attribute] = bytes;
  if (info->type == H5O_TYPE_DATASET) {
    const hid_t type = H5Dget_type(object);
    std::string bytes(H5Dget_storage_size(object), '\0');
    if (H5Tdetect_class(type, H5T_STRING) <= 0 || H5Tis_variable_str(type) <= 0)
      H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data());
    all[name] = bytes;
    H5Tclose(type);
  }
  H5Oclose(object);
  return 0;
}

Contents contents_of_hdf5(const std::string& path) {
  Contents contents;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, add_object, &contents);
  H5Fclose(file);
  return contents;
}

/// Returns a DICOM file without the dates and times of its making, (0008,0012), (0008,0013), (0008,0023) and (0008,0033).
std::string without_times(std::string bytes) {
  for (const auto& [element, vr, length] :
       {std::tuple{'\x12', "DA", 8}, {'\x13', "TM", 6}, {'\x23', "DA", 8}, {'\x33', "TM", 6}}) {
    const std::string tag{'\x08', '\0', element, '\0'};
    const auto at = bytes.find(tag + vr);
    EXPECT_NE(at, std::string::npos) << vr;
    if (at != std::string::npos) bytes.replace(at + 8, static_cast<std::size_t>(length), "");
  }
  return bytes;
}

class EqualBytes : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    setenv("OMP_NUM_THREADS", "2", 1);
    fs::create_directory(path("elsewhere"));
  }
  /// Makes the result twice: as `out`, and as elsewhere/again from that folder.
  void make_two(const std::string& options) const {
    ASSERT_DONE(run("recon scan.h5 -o out --device cpu " + options));
    ASSERT_EQ(run_command("cd elsewhere && '" + program() +
                          "' recon ../scan.h5 -o again --device cpu --quiet " + options),
              0)
        << text("err");
  }
  void expect_same_file(const std::string& ending) const {
    EXPECT_TRUE(bytes_of(path("out" + ending)) == bytes_of(path("elsewhere/again" + ending))) << ending;
  }
  void expect_same_but_environment() const {
    const auto report = [](const std::string& text) {
      auto json = nlohmann::ordered_json::parse(text);
      EXPECT_EQ(json.erase("environment"), 1u);
      EXPECT_LT(text.find("\"images\""), text.find("\"environment\"")) << "it is the last";
      return text.substr(0, text.find(",\n  \"environment\": "));
    };
    EXPECT_EQ(report(bytes_of(path("out.json"))), report(bytes_of(path("elsewhere/again.json"))));
    auto first = contents_of_hdf5(path("out.h5")), second = contents_of_hdf5(path("elsewhere/again.h5"));
    EXPECT_GE(first.size(), 10u);
    EXPECT_NE(first["environment"], second["environment"]);
    first.erase("environment"), second.erase("environment");
    EXPECT_EQ(first.size(), second.size());
    for (const auto& [name, bytes] : first) EXPECT_TRUE(second[name] == bytes) << name;
  }
};

TEST_F(EqualBytes, of_a_volume_and_its_maps_of_noise) {
  ASSERT_DONE(run("simulate -o scan --matrix 24 --coils 2 --snr 30"));
  make_two("--phase --noise-map 4");
  for (const char* ending :
       {".png", ".nii.gz", "_phase.nii.gz", "_noise.nii.gz", "_snr.nii.gz", "_gfactor.nii.gz"})
    expect_same_file(ending);
  expect_same_but_environment();
}

TEST_F(EqualBytes, of_a_series_with_the_formats_of_viewers) {
  ASSERT_DONE(run("simulate -o scan --matrix 16 --coils 2 --repetitions 3"));
  const bool with_dicom = fs::exists(fs::path(program()).parent_path() / "fhd_dicom.so");
  make_two(std::string("--ismrmrd-images images.h5") + (with_dicom ? " --dicom series" : ""));
  for (const char* ending : {".png", ".nii.gz"}) expect_same_file(ending);
  expect_same_but_environment();
  EXPECT_EQ(contents_of_hdf5(path("images.h5")), contents_of_hdf5(path("elsewhere/images.h5")));
  for (int i = 1; with_dicom && i <= 3; ++i) {
    const auto name = "series/image_000" + std::to_string(i) + ".dcm";
    EXPECT_TRUE(without_times(bytes_of(path(name))) == without_times(bytes_of(path("elsewhere/" + name))))
        << name;
  }
}

}  // namespace
}  // namespace fhd::tests
