// Lists of floats in a global heap made by hand: whole, and damaged in every way.
#include "io/scan/mrd/global_heap.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::mrd {
namespace {

void append(std::string& bytes, std::uint64_t number, int width) {
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(number >> 8 * i);
}

class GlobalHeapFile : public FolderTest {
 protected:
  ~GlobalHeapFile() override {
    if (descriptor_ >= 0) close(descriptor_);
  }
  static void append_object(std::string& bytes, int index, std::uint64_t size, std::size_t floats, float first) {
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
    return GlobalHeap(descriptor_);
  }

 private:
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
    const auto second = heap.floats({before, 5, 2});
    ASSERT_TRUE(second && second->size() == 5u);
    EXPECT_EQ((*second)[4], 204);
    const auto whole = heap.floats({far, many, 1});
    ASSERT_TRUE(whole && whole->size() == many);
    EXPECT_EQ((*whole)[many - 1], many - 1);
    const auto first = heap.floats({before, 3, 7});
    ASSERT_TRUE(first && first->size() == 3u);
    EXPECT_EQ((*first)[0], 100);
    const auto none = heap.floats({~std::uint64_t{0}, 0, 1});
    EXPECT_TRUE(none && none->empty());
  }
}

TEST_F(GlobalHeapFile, leaves_to_others_what_is_not_as_described) {
  std::string objects;
  append_object(objects, 1, 12, 3, 100);
  append_object(objects, 2, 20, 5, 200);
  const auto whole = collection(objects, objects.size() + 16);
  const auto found = [&](const std::string& bytes, const StoredList& list) {
    return heap_of(bytes).floats(list).has_value();
  };
  ASSERT_TRUE(found(whole, {0, 5, 2}));
  EXPECT_FALSE(found(whole, {0, 5, 3})) << "no such list";
  EXPECT_FALSE(found(whole, {0, 4, 2})) << "another length";
  EXPECT_FALSE(found(whole, {8, 5, 2})) << "no collection";
  for (const auto address : {std::uint64_t{whole.size()}, std::uint64_t{whole.size() - 8}, ~std::uint64_t{0}})
    EXPECT_FALSE(found(whole, {address, 5, 2})) << address;
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(found(whole.substr(0, size), {0, 5, 2})) << size;
  EXPECT_FALSE(found("", {0, 5, 2}));
  auto version = whole;
  version[4] = 2;
  EXPECT_FALSE(found(version, {0, 5, 2}));
  for (const auto size : {std::uint64_t{0}, std::uint64_t{16}, std::uint64_t{whole.size() - 8},
                          std::uint64_t{whole.size() + 8}, ~std::uint64_t{0}})
    EXPECT_FALSE(found(collection(objects, size), {0, 5, 2})) << size;
  for (const auto size : {std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} - 15}) {
    std::string odd;
    append_object(odd, 1, size, 3, 100);
    append_object(odd, 2, 20, 5, 200);
    EXPECT_FALSE(found(collection(odd, odd.size() + 16), {0, 5, 2})) << size;
  }
  std::string free;
  append_object(free, 0, 12, 3, 100);
  append_object(free, 2, 20, 5, 200);
  EXPECT_FALSE(found(collection(free, free.size() + 16), {0, 5, 2})) << "behind free space";
}

TEST(GlobalHeap, finds_nothing_without_a_file) {
  EXPECT_FALSE(GlobalHeap(-1).floats({0, 1, 1}).has_value());
}

}  // namespace
}  // namespace fhd::io::mrd
