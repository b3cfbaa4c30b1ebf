// HDF5 files as they are written and read: on disk as in memory, and what is refused before there is memory for it.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "io/files/atomic_file.hpp"
#include "io/files/input_memory.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class Hdf5File : public FolderTest {
 protected:
  using Make = void (*)(hid_t file);
  /// x.h5, made by libhdf5 alone.
  void write(Make values) const {
    const auto file = H5Fcreate(path("x.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    values(file);
    ASSERT_GE(H5Fclose(file), 0);
  }
  hdf5::File opened() const { return hdf5::File::open(path("x.h5")); }
  std::string error_of_values(const Shape& shape) const {
    return error_of([&] { static_cast<void>(opened().dataset("/x").read<float>(shape)); });
  }
};

TEST_F(Hdf5File, on_disk_holds_what_one_in_memory_holds) {
  const std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  const std::string text = "{\"a\": 1}";
  for (const std::uint64_t expected_bytes : {0, 8 << 20}) {
    auto file = hdf5::File::create(path("x.h5"), path("x.h5"), expected_bytes);
    file.write("/text", text);
    file.create<double>("/x", {2, 3});
    Array<double> row({3});
    for (std::int64_t r = 0; r < 2; ++r) {
      for (std::int64_t i = 0; i < 3; ++i) row[i] = numbers[static_cast<std::size_t>(3 * r + i)];
      file.write_block("/x", row, {r});
    }
    file.close();
    EXPECT_LT(std::filesystem::file_size(path("x.h5")), 1u << 16);  // what was reserved is given back
    const auto read = opened();
    EXPECT_EQ(read.read_text("/text"), text);
    EXPECT_EQ(text_in_hdf5(path("x.h5"), "/text"), text);
    const auto values = read.dataset("/x").read<double>({2, 3});
    EXPECT_TRUE(std::equal(values.begin(), values.end(), numbers.begin()));
    const auto second = read.dataset("/x").read<double>({3}, {1});
    EXPECT_EQ(second[0], 4);
  }
}

// libhdf5 follows this variable whatever it is told, and would wait for our own lock.
TEST_F(Hdf5File, that_is_held_is_written_whatever_the_environment_says_of_locks) {
  for (const char* locking : {"TRUE", "BEST_EFFORT", "FALSE"}) {
    setenv("HDF5_USE_FILE_LOCKING", locking, 1);
    AtomicFile held(path("x.h5"));
    auto file = hdf5::File::create(held.temporary(), held.path(), 8 << 20);
    const double one = 1;
    file.write("/x", &one, {1});
    file.close();
    EXPECT_NO_THROW(held.commit()) << locking;
    EXPECT_EQ(opened().dataset("/x").read<double>(Shape{1})[0], 1)
        << locking << ": read while the writer lives";
  }
  unsetenv("HDF5_USE_FILE_LOCKING");
}

TEST_F(Hdf5File, indices_beyond_the_end_are_refused) {
  const float values[6]{};
  auto file = hdf5::File::create(path("x.h5"), path("x.h5"));
  file.write("/x", values, {2, 3});
  file.close();
  for (const std::int64_t index : {-1, 2})
    EXPECT_CONTAINS(error_of([&] { static_cast<void>(opened().dataset("/x").read<float>({3}, {index})); }),
                    "an index below 2, found " + std::to_string(index));
  EXPECT_CONTAINS(error_of_values({3, 2}), "x.h5:/x: expected [3][2], found [2][3]");
}

TEST_F(Hdf5File, values_that_are_no_numbers_are_refused) {
  write([](hid_t file) {
    const auto space = H5Screate(H5S_SCALAR), three = H5Tcreate(H5T_COMPOUND, 12);
    for (const std::size_t i : {0, 1, 2})
      H5Tinsert(three, std::string(1, "rix"[i]).c_str(), 4 * i, H5T_NATIVE_FLOAT);
    H5Dclose(H5Dcreate2(file, "/three", three, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "/bits", H5T_STD_B8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const auto one = H5Dcreate2(file, "/one", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const float value = 1;
    H5Dwrite(one, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
    H5Dclose(one);
  });
  for (const char* name : {"/three", "/bits"})
    EXPECT_CONTAINS(error_of([&] { opened().dataset(name); }), "complex numbers as a compound of two floats");
  EXPECT_CONTAINS(error_of([&] { static_cast<void>(opened().dataset("/one").complex_extents()); }),
                  "found real numbers [1]");
}

TEST_F(Hdf5File, values_behind_a_filter_that_is_not_there_are_refused) {
  write([](hid_t file) {
    constexpr H5Z_filter_t nobodys = 299;
    const hsize_t extent = 4;
    const auto space = H5Screate_simple(1, &extent, nullptr), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 1, &extent);
    H5Pset_filter(properties, nobodys, H5Z_FLAG_OPTIONAL, 0, nullptr);
    const auto dataset =
        H5Dcreate2(file, "/x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    const float values[4]{};
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(dataset);
  });
  EXPECT_CONTAINS(error_of_values({4}), "(299)");
  EXPECT_CONTAINS(error_of_values({4}), "rewrite the file with 'h5repack -f GZIP=4'");
}

/// Every place of a number of 64 bits.
void replace(std::string& bytes, std::uint64_t from, std::uint64_t to) {
  const std::string wanted(reinterpret_cast<const char*>(&from), sizeof from);
  for (auto at = bytes.find(wanted); at != std::string::npos; at = bytes.find(wanted, at))
    std::memcpy(bytes.data() + at, &to, sizeof to);
}

// A dataset that is not compressed states its own place: libhdf5 gives it back as what is stored.
TEST_F(Hdf5File, values_that_only_a_longer_file_could_hold_are_refused) {
  constexpr std::uint64_t count = 100003, claimed = std::uint64_t{1} << 33;
  write([](hid_t file) {
    const hsize_t extent = count;
    const auto space = H5Screate_simple(1, &extent, nullptr);
    const auto dataset =
        H5Dcreate2(file, "/x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const std::vector<float> values(count);
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(dataset);
  });
  EXPECT_EQ(error_of([&] { opened().dataset("/x"); }), "");
  auto bytes = bytes_of(path("x.h5"));
  replace(bytes, count, claimed);
  replace(bytes, count * 4, claimed * 4);
  write_text(path("x.h5"), bytes);
  const auto line = error_of([&] { opened().dataset("/x"); });
  EXPECT_CONTAINS(line, "x.h5:/x: expected values for its extents [8589934592], found ");
  EXPECT_CONTAINS(line, "where 34359738368 are claimed; the file is damaged");
}

TEST_F(Hdf5File, only_what_is_compressed_may_be_more_than_is_stored) {
  write([](hid_t file) {
    const hsize_t extent = 100000, chunk = 1000, zero = 0;
    const auto space = H5Screate_simple(1, &extent, nullptr), part = H5Screate_simple(1, &chunk, nullptr);
    const std::vector<float> values(extent);
    for (const bool compressed : {false, true}) {
      const auto properties = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_chunk(properties, 1, &chunk);
      if (compressed) H5Pset_deflate(properties, 4);
      const auto dataset = H5Dcreate2(file, compressed ? "/deflated" : "/x", H5T_NATIVE_FLOAT, space,
                                      H5P_DEFAULT, properties, H5P_DEFAULT);
      if (!compressed) H5Sselect_hyperslab(space, H5S_SELECT_SET, &zero, nullptr, &chunk, nullptr);
      H5Dwrite(dataset, H5T_NATIVE_FLOAT, compressed ? H5S_ALL : part, compressed ? H5S_ALL : space,
               H5P_DEFAULT, values.data());
      H5Sselect_all(space);
      H5Dclose(dataset);
    }
  });
  EXPECT_CONTAINS(error_of([&] { opened().dataset("/x"); }),
                  "found 4000 stored bytes, where 400000 are claimed");
  EXPECT_EQ(error_of([&] { opened().dataset("/deflated"); }), "");
}

// Before memory is taken for them: an error of the input's size, not of the matrix that is made of it.
TEST_F(Hdf5File, values_beyond_the_memory_of_inputs_are_refused) {
  auto file = hdf5::File::create(path("x.h5"), path("x.h5"));
  const std::vector<float> values(1000);
  file.write("/x", values.data(), {1000});
  file.close();
  set_input_memory(3999);
  EXPECT_CONTAINS(error_of_values({1000}), "raise the limit with --input-memory GIB");
  set_input_memory(4000);
  EXPECT_EQ(error_of_values({1000}), "");
  set_input_memory(0);
}

TEST_F(Hdf5File, texts_of_their_own_length_are_read) {
  write([](hid_t file) {
    const auto space = H5Screate(H5S_SCALAR), text = H5Tcopy(H5T_C_S1),
               compact = H5Pcreate(H5P_DATASET_CREATE);
    H5Tset_size(text, H5T_VARIABLE);
    H5Pset_layout(compact, H5D_COMPACT);
    const char *said = "what is said", *none = "";
    for (const auto properties : {compact, hid_t{H5P_DEFAULT}}) {
      const auto dataset = H5Dcreate2(file, properties == compact ? "/compact" : "/text", text, space,
                                      H5P_DEFAULT, properties, H5P_DEFAULT);
      H5Dwrite(dataset, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, &said);
      H5Dclose(dataset);
    }
    for (const char** value : {&said, &none}) {
      const auto attribute =
          H5Acreate2(file, value == &said ? "said" : "none", text, space, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, text, value);
      H5Aclose(attribute);
    }
  });
  const auto texts = [&] {
    const auto file = opened();
    return std::vector<std::string>{file.read_text("/compact"), file.read_text("/text"),
                                    file.text_attribute("/", "said"), file.text_attribute("/", "none")};
  };
  EXPECT_EQ(texts(), (std::vector<std::string>{"what is said", "what is said", "what is said", ""}));
}

TEST_F(Hdf5File, texts_are_as_long_as_what_is_stored) {
  write([](hid_t file) {
    const auto space = H5Screate(H5S_SCALAR), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, std::size_t{1} << 25);  // 32 MiB, of which nothing is written
    H5Dclose(H5Dcreate2(file, "/text", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "/number", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hsize_t two = 2;
    const auto pair = H5Screate_simple(1, &two, nullptr);
    H5Aclose(H5Acreate2(file, "two", H5T_C_S1, pair, H5P_DEFAULT, H5P_DEFAULT));
    H5Aclose(H5Acreate2(file, "one", H5T_C_S1, space, H5P_DEFAULT, H5P_DEFAULT));
  });
  EXPECT_CONTAINS(error_of([&] { opened().read_text("/text"); }),
                  "text of at most 16777216 bytes, found 33554432 bytes");
  EXPECT_CONTAINS(error_of([&] { opened().read_text("/number"); }), "expected text, found another type");
  EXPECT_CONTAINS(error_of([&] { opened().text_attribute("/", "two"); }), "expected one text, found 2");
  EXPECT_CONTAINS(error_of([&] { opened().number_attribute("/", "one"); }),
                  "expected numbers, found another type");
}

TEST_F(Hdf5File, facts_are_told_of_what_is_there) {
  auto file = hdf5::File::create(path("x.h5"), path("x.h5"));
  file.create_group("/report");
  file.write_attribute("/report", "input_path", "scan.h5");
  file.write_attribute("/report", "number", std::vector<int>{1});
  file.close();
  const std::vector<std::string> names{"/report", "/absent", "/report@input_path", "/absent@x"};
  EXPECT_EQ(facts_of_hdf5(path("x.h5"), names), (Hdf5Facts{"", {}, "scan.h5", {}}));
  EXPECT_FALSE(facts_of_hdf5(path("x.h5"), {"/report@number"})) << "no text";
  EXPECT_FALSE(facts_of_hdf5(path("absent.h5"), names));
}

}  // namespace
}  // namespace fhd::io
