// Files that fhd does not read: each is named in a line, with what helps.
#include "io/scan/foreign_files.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

std::string at(std::size_t offset, const std::string& bytes, std::size_t length = 1024) {
  std::string content(std::max(length, offset + bytes.size()), '\1');
  return content.replace(offset, bytes.size(), bytes);
}

struct Row {
  const char* file;
  std::string content;
  const char *name, *remedy;
};
const Row rows[]{
    {"a.mat", at(0, "MATLAB 5.0 MAT-file, Platform: GLNXA64"), "a MATLAB file (version 5 to 7)", "h5py"},
    {"a.npy", at(0, std::string("\x93NUMPY\1\0", 8)), "a NumPy array (.npy)", "fhd.reconstruct"},
    {"a.npz", "PK\3\4" + at(26, "kspace.npy"), "NumPy arrays (.npz)", "fhd.reconstruct"},
    {"a.zip", "PK\3\4" + at(26, "scan.dat"), "a zip archive", "unzip"},
    {"a.h5.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3\xab\0\0\x83\x16\xdc\x8c\1\0\0\0", 21), "gzip",
     "decompress it"},
    {"a.h5.xz",
     at(0, std::string("\xFD"
                       "7zXZ\0",
                       6)),
     "xz", "xz -dk"},
    {"a.h5.bz2", at(0, "BZh9"), "bzip2", "bunzip2 -k"},
    {"a.h5.zst", at(0, "\x28\xB5\x2F\xFD"), "zstd", "zstd -dk"},
    {"P12345.7", at(64, "of a newer version"), "a GE P-file", "ge_to_ismrmrd"},
    {"renamed.7", at(108, "GE_MED_NMR"), "a GE P-file", "ge_to_ismrmrd"},
    {"P54321.7", at(34, "INVALIDNMR"), "a GE P-file", "ge_to_ismrmrd"},
    {"a.ndjson", at(0, "{\"yardl\":{\"version\":1}}"), "MRD version 2", "BinaryMrdWriter"},
    {"a.dcm", at(128, "DICM"), "DICOM", "raw data"},
    {"a.nii", at(344, std::string("n+1\0", 4)), "NIfTI", "raw data"},
    {"b.nii", at(4, std::string("n+2\0\r\n\x1a\n", 8)), "NIfTI-2", "raw data"},
    {"lfs.h5", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS", "git lfs pull"}};

class ForeignFiles : public FolderTest {};

TEST_F(ForeignFiles, are_named_with_what_helps) {
  for (const auto& row : rows) {
    write_text(path(row.file), row.content);
    const auto line = error_of([&] { open_scan(path(row.file)); });
    EXPECT_CONTAINS(line, row.name) << row.file;
    EXPECT_CONTAINS(line, row.remedy) << row.file;
  }
}

TEST_F(ForeignFiles, of_philips_are_told_by_the_set_that_they_belong_to) {
  for (const char* name : {"scan.raw", "scan.lab", "scan.sin", "other.data", "other.list", "lonely.raw"})
    write_text(path(name), std::string(1024, '\1'));
  for (const char* name : {"scan.raw", "scan.lab", "scan.sin"}) {
    EXPECT_REFUSED(open_scan(path(name)), "Philips raw data (.raw, .lab, .sin)");
    EXPECT_REFUSED(open_scan(path(name)), "philips_to_ismrmrd");
  }
  for (const char* name : {"other.data", "other.list"})
    EXPECT_REFUSED(open_scan(path(name)), "Philips raw data (.list, .data)");
  EXPECT_REFUSED(open_scan(path("lonely.raw")), "another format");
}

TEST_F(ForeignFiles, in_hdf5_are_told_by_their_groups_and_first_bytes) {
  {
    auto file = hdf5::File::create(path("archive.h5"), "archive.h5");
    file.create_group("/ArchiveMetaData");
    file.close();
  }
  EXPECT_REFUSED(open_scan(path("archive.h5")), "a GE ScanArchive");
  {
    auto file = hdf5::File::create(path("v2.h5"), "v2.h5");
    file.write("/$yardl_schema", "{}");
    file.close();
  }
  EXPECT_REFUSED(open_scan(path("v2.h5")), "MRD version 2 (HDF5)");
  {
    auto file = hdf5::File::create(path("other.h5"), "other.h5");
    file.create_group("/x");
    file.close();
  }
  EXPECT_REFUSED(open_scan(path("other.h5")), "an HDF5 file without them");
  // A user block of 512 bytes before the HDF5 file.
  const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(creation, 512);
  H5Fclose(H5Fcreate(path("v73.mat").c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT));
  H5Pclose(creation);
  auto bytes = bytes_of(path("v73.mat"));
  const std::string title = "MATLAB 7.3 MAT-file, Platform: GLNXA64";
  write_text(path("v73.mat"), bytes.replace(0, title.size(), title));
  EXPECT_REFUSED(open_scan(path("v73.mat")), "a MATLAB file (version 7.3)");
}

}  // namespace
}  // namespace fhd::io
