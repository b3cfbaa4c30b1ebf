// Values through bytes: nothing is forgotten, and no length is believed.
#include "io/reader/archive.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/reader/bytes_of_value.hpp"

namespace fhd::io::reader {
namespace {

template <class T>
T value_of(const std::string& bytes, std::uint64_t most_bytes = std::uint64_t{1} << 30) {
  std::size_t place = 0;
  Input in("file", most_bytes, [&](void* to, std::size_t count) {
    if (place + count > bytes.size()) throw Error("file", "more bytes", "fewer");
    std::memcpy(to, bytes.data() + place, count);
    place += count;
  });
  T value{};
  in(value);
  return value;
}

/// Puts other bytes into every member, down to the numbers, and into what may be absent.
class Filler : public Archive<Filler> {
  friend Archive<Filler>;
  void bytes(void* to, std::size_t count) { std::memset(to, 1 + number_++ % 100, count); }
  void length(auto& values) { values.resize(2); }
  template <class T>
  void array(Array<T>& array) {
    array = Array<T>({2, 3});
    bytes(array.data(), 6 * sizeof(T));
  }
  int number_ = 0;
};

template <class T>
class Fields : public testing::Test {};
using Passed = testing::Types<Scan, ScanSummary, ReadOptions, ImageSeries, Volume, GradientResponse>;
TYPED_TEST_SUITE(Fields, Passed);

TYPED_TEST(Fields, every_member_comes_back) {
  TypeParam value;
  Filler()(value);
  const auto bytes = bytes_of_value(value);
  EXPECT_NE(bytes, bytes_of_value(TypeParam()));
  EXPECT_EQ(bytes_of_value(value_of<TypeParam>(bytes)), bytes);
}

TYPED_TEST(Fields, any_cut_is_an_error) {
  TypeParam value;
  Filler()(value);
  const auto bytes = bytes_of_value(value);
  for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 97)
    EXPECT_NE(error_of([&] { value_of<TypeParam>(bytes.substr(0, length)); }), "") << length;
}

/// 0xff in place of eight bytes, from every place on: lengths and extents among them.
TYPED_TEST(Fields, absurd_lengths_take_no_memory) {
  TypeParam value;
  Filler()(value);
  const auto bytes = bytes_of_value(value);
  for (std::size_t place = 0; place + 8 <= bytes.size(); ++place)
    for (const char byte : {'\xff', '\x7f', '\x01'}) {
      auto damaged = bytes;
      damaged.replace(place, 8, 8, byte);
      static_cast<void>(
          error_of([&] { value_of<TypeParam>(damaged, 1 << 20); }));  // it may have been a number
    }
}

TEST(Archive, arrays_keep_shape_and_bits) {
  Array<double> array({2, 1, 3});
  for (std::int64_t i = 0; i < array.size(); ++i) array[i] = 0.1 * static_cast<double>(i);
  array[4] = std::numeric_limits<double>::quiet_NaN();
  const auto back = value_of<Array<double>>(bytes_of_value(array));
  EXPECT_EQ(back.shape(), array.shape());
  EXPECT_EQ(std::memcmp(back.data(), array.data(), sizeof(double) * 6), 0);
  EXPECT_EQ(value_of<Array<float>>(bytes_of_value(Array<float>())).shape(), Shape());
  EXPECT_EQ(value_of<Array<float>>(bytes_of_value(Array<float>({3, 0, 2}))).shape(), (Shape{3, 0, 2}));
}

TEST(Archive, an_array_is_held_against_what_may_come) {
  const auto bytes = bytes_of_value(Array<double>({1000}));
  EXPECT_EQ(value_of<Array<double>>(bytes, 8000).size(), 1000);
  EXPECT_CONTAINS(error_of([&] { value_of<Array<double>>(bytes, 7999); }), "--input-memory");
}

}  // namespace
}  // namespace fhd::io::reader
