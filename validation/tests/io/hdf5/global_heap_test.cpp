// Global heaps made by hand: whole, and damaged in every way.
#include "io/hdf5/global_heap.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::hdf5 {
namespace {

void append(std::string& bytes, std::uint64_t number, int width) {
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(number >> 8 * i);
}

class GlobalHeapFile : public FolderTest {
 protected:
  ~GlobalHeapFile() override {
    if (descriptor_ >= 0) close(descriptor_);
  }
  static void append_object(std::string& bytes, int index, std::uint64_t size, std::size_t floats,
                            float first) {
    append(bytes, static_cast<std::uint64_t>(index), 2);
    append(bytes, 1, 2);
    append(bytes, 0, 4);
    append(bytes, size, 8);
    for (std::size_t i = 0; i < floats; ++i) {
      const float value = first + static_cast<float>(i);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    bytes.resize((bytes.size() + 7) / 8 * 8);
  }
  static std::string collection(const std::string& objects, std::uint64_t size) {
    std::string bytes("GCOL\1\0\0\0", 8);
    append(bytes, size, 8);
    return bytes + objects;
  }
  GlobalHeap heap_of(const std::string& bytes) {
    write_text(path("heap"), bytes);
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = open(path("heap").c_str(), O_RDONLY);
    return GlobalHeap({.descriptor = descriptor_});
  }

  static std::vector<float> floats_of(const std::optional<std::span<const char>>& value) {
    std::vector<float> floats(value.value().size() / sizeof(float));
    std::memcpy(floats.data(), value->data(), floats.size() * sizeof(float));
    return floats;
  }
  int descriptor_ = -1;
};

TEST_F(GlobalHeapFile, finds_lists_in_any_order) {
  constexpr std::uint64_t before = 4096, far = 3 << 20;
  std::string objects;
  append_object(objects, 7, 12, 3, 100);
  append_object(objects, 2, 20, 5, 200);
  std::string bytes(before, 'x');
  bytes += collection(objects, objects.size() + 16);
  bytes.resize(far, 'y');
  constexpr std::uint32_t many = 300000;  // more than is kept
  std::string large;
  append_object(large, 1, many * 4, many, 0);
  bytes += collection(large, large.size() + 16);
  auto heap = heap_of(bytes);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(floats_of(heap.value({before, 5, 2}, sizeof(float))).at(4), 204);
    const auto whole = floats_of(heap.value({far, many, 1}, sizeof(float)));
    ASSERT_EQ(whole.size(), many);
    EXPECT_EQ(whole[many - 1], many - 1);
    EXPECT_EQ(floats_of(heap.value({before, 3, 7}, sizeof(float))).at(0), 100);
    EXPECT_EQ(heap.value({before, 10, 2}, 2)->size(), 20u);
    for (const HeapReference& none : {HeapReference{~std::uint64_t{0}, 0, 1}, HeapReference{0, 5, 2}})
      EXPECT_TRUE(heap.value(none, sizeof(float)).value().empty());
  }
}

TEST_F(GlobalHeapFile, has_nothing_where_the_file_is_damaged) {
  std::string objects;
  append_object(objects, 1, 12, 3, 100);
  append_object(objects, 2, 20, 5, 200);
  const auto whole = collection(objects, objects.size() + 16);
  constexpr std::uint64_t start = 64;
  const std::string before(start, 'x');
  const auto found = [&](const std::string& bytes, const HeapReference& list) {
    return heap_of(before + bytes).value(list, sizeof(float)).has_value();
  };
  ASSERT_TRUE(found(whole, {start, 5, 2}));
  EXPECT_FALSE(found(whole, {start, 5, 3})) << "no such list";
  EXPECT_FALSE(found(whole, {start, 4, 2})) << "another length";
  EXPECT_FALSE(found(whole, {8, 5, 2})) << "no collection";
  for (const auto address :
       {start + whole.size(), start + whole.size() - 8, start + 8, ~std::uint64_t{0}, ~std::uint64_t{0} - 15})
    EXPECT_FALSE(found(whole, {address, 5, 2})) << address;
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(found(whole.substr(0, size), {start, 5, 2})) << size;
  EXPECT_FALSE(found("", {start, 5, 2}));
  auto version = whole;
  version[4] = 2;
  EXPECT_FALSE(found(version, {start, 5, 2}));
  for (const auto size : {std::uint64_t{0}, std::uint64_t{16}, std::uint64_t{whole.size() - 8},
                          std::uint64_t{whole.size() + 8}, ~std::uint64_t{0}})
    EXPECT_FALSE(found(collection(objects, size), {start, 5, 2})) << size;
  for (const auto size : {std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} - 15}) {
    std::string odd;
    append_object(odd, 1, size, 3, 100);
    append_object(odd, 2, 20, 5, 200);
    EXPECT_FALSE(found(collection(odd, odd.size() + 16), {start, 5, 2})) << size;
  }
  std::string free;
  append_object(free, 0, 12, 3, 100);
  append_object(free, 2, 20, 5, 200);
  EXPECT_FALSE(found(collection(free, free.size() + 16), {start, 5, 2})) << "behind free space";
}

TEST_F(GlobalHeapFile, free_space_is_passed_over_as_libhdf5_does) {
  std::string objects;
  append_object(objects, 0, 32, 4, 0);  // with its head
  append_object(objects, 2, 20, 5, 200);
  auto heap = heap_of("12345678" + collection(objects, objects.size() + 16));
  EXPECT_EQ(floats_of(heap.value({8, 5, 2}, sizeof(float))).at(0), 200);
}

TEST_F(GlobalHeapFile, addresses_and_sizes_may_be_shorter) {
  std::string bytes(8, 'x');
  bytes += std::string("GCOL\1\0\0\0", 8);
  append(bytes, 16 + 16 + 8, 4);  // the size, in 4 bytes, filled up to 8
  append(bytes, 0, 4);
  append(bytes, 5, 2);
  append(bytes, 1, 2);
  append(bytes, 0, 4);
  append(bytes, 8, 4);
  append(bytes, 0, 4);
  bytes += "contents";
  heap_of(bytes);
  GlobalHeap heap({.descriptor = descriptor_, .base = 4, .address_bytes = 4, .size_bytes = 4});
  const auto found = heap.value({4, 8, 5}, 1);
  EXPECT_EQ(std::string(found.value().begin(), found->end()), "contents");
}

TEST(GlobalHeap, finds_nothing_without_a_file) {
  EXPECT_FALSE(GlobalHeap({.descriptor = -1}).value({8, 1, 1}, 4));
}

}  // namespace
}  // namespace fhd::io::hdf5
