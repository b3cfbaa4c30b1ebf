// Small files that state more slices than anybody measures: each command says so at once, without memory for them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class ManyVolumes : public ProgramTest {
 protected:
  /// `slices` of one sample, all stored: zeros, deflated to a thousandth.
  void write_scan(hsize_t slices) const {
    {
      auto file = io::hdf5::File::create(path("scan.h5"), path("scan.h5"), 0);
      const std::vector<double> k{-4, 0}, matrix{8, 8, 1};
      file.write("/trajectory", k.data(), {1, 2});
      file.write_attribute("/trajectory", "unit", "cycles/FOV");
      file.write_attribute("/", "matrix_size", matrix);
      file.close();
    }
    const hid_t file = H5Fopen(path("scan.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(type, "r", 0, H5T_IEEE_F32LE);
    H5Tinsert(type, "i", 4, H5T_IEEE_F32LE);
    const hsize_t extents[] = {1, slices, 1, 1}, chunk[] = {1, 1 << 16, 1, 1};
    const hid_t space = H5Screate_simple(4, extents, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 4, chunk);
    H5Pset_deflate(creation, 9);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC);
    const hid_t dataset = H5Dcreate2(file, "/kspace", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    EXPECT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
  }
  void expect_one_cheap_line(const std::vector<std::string>& arguments) const {
    const auto end = measured(arguments);
    EXPECT_EQ(end.status, 1) << arguments.front();
    EXPECT_LE(end.processor_seconds, 2) << arguments.front();
    EXPECT_LE(end.peak_bytes, 200 * 0x1p20) << arguments.front();
  }
  std::vector<std::vector<std::string>> commands() const {
    return {{"check", path("scan.h5")},
            {"recon", path("scan.h5"), "-o", path("o"), "--device", "cpu"},
            {"batch", path("scan.h5"), "-o", path("r"), "--device", "cpu"}};
  }
};

TEST_F(ManyVolumes, that_no_scan_has_are_refused_where_it_is_opened) {
  write_scan((1 << 24) + 1);
  auto all = commands();
  all.push_back({"plan", path("scan.h5"), "--device", "cpu"});
  all.push_back({"info", path("scan.h5")});
  for (const auto& arguments : all) {
    expect_one_cheap_line(arguments);
    EXPECT_CONTAINS(
        text("err_bg") + text("out_bg"),
        "expected at most 16777216 slices of all repetitions, found 16777217 slices of 1 repetitions");
  }
}

TEST_F(ManyVolumes, that_no_result_holds_are_refused_before_there_are_lists_of_them) {
  write_scan(1 << 22);
  for (const auto& arguments : commands()) expect_one_cheap_line(arguments);
  for (const char* command : {"recon scan.h5 -o o --device cpu", "batch scan.h5 -o r --device cpu"}) {
    EXPECT_EQ(run(command), 1);
    EXPECT_CONTAINS(text("err") + text("out"), "at most 32767 slices");
  }
  const auto plan = measured({"plan", path("scan.h5"), "--device", "cpu"});
  EXPECT_LE(plan.processor_seconds, 10);  // rates of this machine are measured
  EXPECT_LE(plan.peak_bytes, 200 * 0x1p20);
}

TEST_F(ManyVolumes, that_fail_alike_are_not_all_read_by_check) {
  write_scan(1 << 22);
  EXPECT_EQ(run("check scan.h5"), 1);
  EXPECT_CONTAINS(text("out"),
                  "volumes that follow were not read: those before them have all the same problem");
}

}  // namespace
}  // namespace fhd::tests
