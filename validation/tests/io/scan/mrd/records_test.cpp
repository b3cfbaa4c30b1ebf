// Readouts of an ISMRMRD file, one at a time.
#include "io/scan/mrd/records.hpp"

#include <cstring>
#include <numeric>

#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::mrd {
namespace {

class RecordReaderTest : public FolderTest {
 protected:
  /// Returns numbers of readout i that no other has.
  static std::vector<float> numbers(std::int64_t i, std::size_t count, float first) {
    std::vector<float> result(count);
    std::iota(result.begin(), result.end(), first + 1000 * static_cast<float>(i));
    return result;
  }
  /// A file of readouts with as many values each.
  std::string write(const std::vector<std::size_t>& values) const {
    auto file = hdf5::File::create(path("scan.mrd"), "scan.mrd");
    RecordWriter writer(file, "<header/>", static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      const auto k = numbers(number, i % 7, 0.5f), data = numbers(number, values[i], 0);
      ReadoutHead head{};
      head.scan_counter = static_cast<std::uint32_t>(i);
      writer.write({head, k, data});
    }
    writer.close();
    file.close();
    return path("scan.mrd");
  }
  static void expect_all(const std::string& name, const std::vector<std::size_t>& sizes) {
    const auto file = hdf5::File::open(name);
    const RecordDataset records(file, usual_group);
    RecordReader reader(records, true);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      expect(reader(static_cast<std::int64_t>(i)), static_cast<std::int64_t>(i), sizes[i]);
  }
  static void expect(const Readout& readout, std::int64_t i, std::size_t count) {
    EXPECT_EQ(readout.head.scan_counter, i);
    const auto k = numbers(i, static_cast<std::size_t>(i % 7), 0.5f), data = numbers(i, count, 0);
    EXPECT_TRUE(std::equal(k.begin(), k.end(), readout.trajectory.begin(), readout.trajectory.end())) << i;
    EXPECT_TRUE(std::equal(data.begin(), data.end(), readout.values.begin(), readout.values.end())) << i;
  }
};
using RecordReaderFile = RecordReaderTest;

// The index of the chunks (a B-tree, version 1) states their lengths, and libhdf5 writes so many bytes of one that is not
// compressed: behind the end of what was meant for it, found by the fuzz target of these files.
TEST_F(RecordReaderFile, a_chunk_that_is_stored_longer_than_it_is_does_not_go_beyond_its_memory) {
  const std::vector<std::size_t> sizes(2000, 40);
  auto bytes = bytes_of(write(sizes));
  int changed = 0;
  constexpr std::size_t first_key = 24;  // behind signature, kind, level, count and two neighbours
  for (auto node = bytes.find("TREE"); node != std::string::npos; node = bytes.find("TREE", node + 4)) {
    if (bytes[node + 4] != 1 || bytes[node + 5] != 0) continue;  // of groups, or not a leaf
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + node + first_key, sizeof length);
    length += 200000;
    std::memcpy(bytes.data() + node + first_key, &length, sizeof length);
    ++changed;
  }
  ASSERT_GE(changed, 1);
  write_text(path("long.mrd"), bytes);
  const auto file = hdf5::File::open(path("long.mrd"));
  const RecordDataset records(file, usual_group);
  RecordReader whole(records, true);
  // Read as it is or refused: what counts is that nothing else was overwritten, which sanitizers, or malloc, would tell.
  error_of([&] { expect(whole(0), 0, sizes[0]); });
  error_of([&] { expect(whole(1999), 1999, sizes[1999]); });
}

// Their product was taken before their number was looked at: a signed overflow, found by the fuzz target of these files.
TEST_F(RecordReaderFile, extents_whose_product_no_integer_holds_are_refused) {
  const auto name = write({4, 4});
  const auto file = H5Fopen(name.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const auto old = H5Dopen2(file, "/dataset/data", H5P_DEFAULT), type = H5Dget_type(old);
  H5Dclose(old);
  H5Ldelete(file, "/dataset/data", H5P_DEFAULT);
  const hsize_t extents[] = {hsize_t{1} << 62, 6}, chunk[] = {2, 2};
  const auto space = H5Screate_simple(2, extents, nullptr), properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 2, chunk);
  const auto made = H5Dcreate2(file, "/dataset/data", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  ASSERT_GE(made, 0);
  H5Dclose(made);
  H5Tclose(type);
  H5Fclose(file);
  EXPECT_REFUSED(RecordDataset(hdf5::File::open(name), usual_group),
                 "[readout] with at least one, found [4611686018427387904][6]");
}

TEST_F(RecordReaderFile, delivers_every_readout_in_any_order) {
  std::vector<std::size_t> sizes(700);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i * i % 301;
  const auto file = hdf5::File::open(write(sizes));
  const RecordDataset records(file, usual_group);
  RecordReader whole(records, true), heads(records, false);
  std::vector<std::int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  auto orders = std::vector{order, order, order, order};
  std::reverse(orders[1].begin(), orders[1].end());
  std::shuffle(orders[2].begin(), orders[2].end(), std::mt19937(1));
  std::stable_sort(orders[3].begin(), orders[3].end(), [](auto a, auto b) { return a % 9 < b % 9; });
  for (const auto& numbers_of_order : orders)
    for (const auto i : numbers_of_order) {
      expect(whole(i), i, sizes[static_cast<std::size_t>(i)]);
      const auto head = heads(i);
      EXPECT_EQ(head.head.scan_counter, i);
      EXPECT_EQ(head.trajectory.size(), static_cast<std::size_t>(i % 7));
      EXPECT_TRUE(head.values.empty());
    }
}

TEST_F(RecordReaderFile, delivers_readouts_that_are_larger_than_what_it_reads_ahead) {
  constexpr std::size_t mega = 1 << 20;  // 4 MiB
  const std::vector<std::size_t> sizes{10, 10,   10,   10,   10,       10, 3 * mega,
                                       20, mega, mega, mega, mega / 2, 5,  5};
  expect_all(write(sizes), sizes);
}

/// Writes the same readouts, compressed.
void compress(const std::string& from, const std::string& to) {
  auto source = hdf5::File::open(from), file = hdf5::File::create(to, to);
  file.create_group(usual_group);
  const auto name = records_name(usual_group);
  const auto records = source.open_dataset(name);
  const hdf5::Handle type(H5Dget_type(records.get()), H5Tclose, from, "a type"),
      space(H5Dget_space(records.get()), H5Sclose, from, "a space"),
      properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, to, "properties");
  const hsize_t chunk = 16;
  H5Pset_chunk(properties.get(), 1, &chunk);
  H5Pset_deflate(properties.get(), 4);
  std::vector<char> values(H5Tget_size(type.get()) *
                           static_cast<std::size_t>(hdf5::extents_of(space.get(), from).at(0)));
  hdf5::check(H5Dread(records.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), from,
              "values");
  auto copy = file.create_dataset(name, type.get(), space.get(), properties.get());
  hdf5::check(H5Dwrite(copy.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), to, "a file");
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, values.data());
  copy.close(to);
  file.close();
}

TEST_F(RecordReaderFile, delivers_the_same_out_of_a_compressed_file) {
  std::vector<std::size_t> sizes(300);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i * i % 301;
  compress(write(sizes), path("compressed.mrd"));
  expect_all(path("compressed.mrd"), sizes);
}

/// Where the records of such a file, of 340 + 16 + 16 bytes each, lie.
std::size_t place_of_records(const std::string& path) {
  const auto file = hdf5::File::open(path);
  const auto records = file.open_dataset(records_name(usual_group));
  const hsize_t first = 0;
  hsize_t bytes = 0;
  unsigned filters = 0;
  haddr_t place = 0;
  hdf5::check(H5Dget_chunk_info_by_coord(records.get(), &first, &filters, &place, &bytes), path, "a chunk");
  return place;
}

// The length, the address or the index of a list, changed in the records themselves: libhdf5 1.10.8 wrote behind its memory.
TEST_F(RecordReaderFile, a_list_that_does_not_fit_its_heap_is_an_error) {
  const std::vector<std::size_t> sizes(20, 30);
  const auto whole = bytes_of(write(sizes));
  constexpr std::size_t record_bytes = 372, head_bytes = 340, list_bytes = 16, hit = 3;
  const auto list = place_of_records(path("scan.mrd")) + hit * record_bytes + head_bytes;
  struct Change {
    std::size_t at;
    std::uint32_t value;
  };
  for (const bool of_values : {false, true})
    for (const auto& [at, value] : {Change{0, 1},
                                    {0, 29},
                                    {0, 31},
                                    {0, ~0u},
                                    {4, 8},
                                    {4, ~0u},
                                    {8, 1},
                                    {8, ~0u},
                                    {12, 0},
                                    {12, 9999},
                                    {12, 70000},
                                    {12, ~0u}}) {
      auto bytes = whole;
      std::memcpy(bytes.data() + list + (of_values ? list_bytes : 0) + at, &value, sizeof value);
      write_text(path("changed.mrd"), bytes);
      const auto file = hdf5::File::open(path("changed.mrd"));
      const RecordDataset records(file, usual_group);
      RecordReader reader(records, true);
      EXPECT_REFUSED(reader(hit), of_values ? "/dataset/data[3].data: expected a list of numbers"
                                            : "/dataset/data[3].traj");
      EXPECT_EQ(error_of([&] { expect(reader(hit + 1), hit + 1, sizes[hit + 1]); }), "");
    }
}

// A member of a record that lies behind its end: HDF5 converted what is there.
TEST_F(RecordReaderFile, types_whose_parts_lie_beyond_them_are_refused) {
  auto bytes = bytes_of(write({4, 4}));
  const std::string member("idx", 4);  // then its place, in as many bytes as that of the last may need
  const auto name = bytes.find(member);
  ASSERT_NE(name, std::string::npos);
  std::uint16_t offset = 0;
  std::memcpy(&offset, bytes.data() + name + member.size(), sizeof offset);
  ASSERT_LT(offset, 340u);
  offset = 339;
  std::memcpy(bytes.data() + name + member.size(), &offset, sizeof offset);
  write_text(path("changed.mrd"), bytes);
  EXPECT_NE(error_of([&] {
              const auto file = hdf5::File::open(path("changed.mrd"));
              const RecordDataset records(file, usual_group);
              RecordReader reader(records, true);
              reader(0);
            }),
            "");
}

/// Writes the same readouts as 64-bit numbers in the other byte order.
TEST_F(RecordReaderFile, delivers_numbers_of_other_types) {
  std::vector<std::size_t> sizes(100);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i * i % 301;
  const auto name = write(sizes);
  {
    const auto source = hdf5::File::open(name);
    const auto records = source.open_dataset(records_name(usual_group));
    const hdf5::Handle stored(H5Dget_type(records.get()), H5Tclose, name, "a type"),
        head(H5Tget_member_type(stored.get(), 0), H5Tclose, name, "a type"),
        list(H5Tvlen_create(H5T_IEEE_F64BE), H5Tclose, name, "a type"),
        type(H5Tcreate(H5T_COMPOUND, 372), H5Tclose, name, "a type"),
        space = hdf5::space_of({static_cast<std::int64_t>(sizes.size())}, name);
    H5Tinsert(type.get(), "head", 0, head.get());
    H5Tinsert(type.get(), "traj", 340, list.get());
    H5Tinsert(type.get(), "data", 356, list.get());
    std::vector<char> values(372 * sizes.size());
    hdf5::check(H5Dread(records.get(), stored.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), name,
                "values");
    const auto to = H5Fcreate(path("other.mrd").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const auto group = H5Gcreate2(to, usual_group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const auto copy =
        H5Dcreate2(group, "data", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hdf5::check(H5Dwrite(copy, stored.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), name, "a file");
    H5Dvlen_reclaim(stored.get(), space.get(), H5P_DEFAULT, values.data());
    H5Dclose(copy);
    H5Gclose(group);
    H5Fclose(to);
  }
  expect_all(path("other.mrd"), sizes);
}

TEST_F(RecordReaderFile, damage_hinders_only_the_readouts_it_hits) {
  const std::vector<std::size_t> sizes(40, 3000);
  const auto name = write(sizes);
  auto bytes = bytes_of(name);
  const auto heap = bytes.rfind("GCOL");  // holds the arrays of a few of the readouts
  ASSERT_NE(heap, std::string::npos);
  bytes.replace(heap, 4, "XXXX");
  write_text(name, bytes);
  const auto file = hdf5::File::open(name);
  const RecordDataset records(file, usual_group);
  RecordReader in_order(records, true);
  int damaged = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    RecordReader alone(records, true);
    const auto line = error_of([&] { expect(alone(number), number, sizes[i]); });
    EXPECT_EQ(error_of([&] { expect(in_order(number), number, sizes[i]); }), line) << i;
    if (line.empty()) continue;
    ++damaged;
    EXPECT_CONTAINS(line, "scan.mrd:/dataset/data[" + std::to_string(i) + "].");
    EXPECT_CONTAINS(line, "found a reference to none of this length; the file is damaged");
  }
  EXPECT_GE(damaged, 1);
  EXPECT_LE(damaged, 10);
}

}  // namespace
}  // namespace fhd::io::mrd
