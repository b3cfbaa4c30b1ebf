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
  EXPECT_EQ(place, bytes.size());
  return value;
}

/// Puts another value into every member, down to the numbers, and into what may be absent.
class Filler {
 public:
  template <class T>
  void fill(T& value) {
    if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(1);
    else if constexpr (std::is_arithmetic_v<T>)
      value = static_cast<T>(++number_);
    else
      std::apply([this](auto&... parts) { (fill(parts), ...); }, members(value));
  }
  void fill(std::string& text) { text = "text " + std::to_string(++number_); }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(2);
    for (auto& value : values) fill(value);
  }
  template <class T, std::size_t count>
  void fill(std::array<T, count>& values) {
    for (auto& value : values) fill(value);
  }
  template <class T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
  template <class A, class B>
  void fill(std::pair<A, B>& value) {
    fill(value.first);
    fill(value.second);
  }
  template <class T>
  void fill(Array<T>& array) {
    array = Array<T>({2, 3});
    for (auto& value : array)
      if constexpr (requires { value.re; })
        value = {static_cast<decltype(value.re)>(++number_), 0};
      else
        fill(value);
  }

 private:
  int number_ = 0;
};

template <class T>
class Fields : public testing::Test {};
using Passed = testing::Types<Scan, ScanSummary, ReadOptions, ImageSeries, Volume, GradientResponse,
                              Hdf5Question, Hdf5Facts>;
TYPED_TEST_SUITE(Fields, Passed);

/// The size of a type is the sum of its members' (and of padding), so that one that `members` leaves out shows.
template <class T>
std::size_t bytes_of_members(T& value) {
  return std::apply([](auto&... parts) { return (sizeof(parts) + ...); }, members(value));
}

TYPED_TEST(Fields, every_member_comes_back) {
  TypeParam value;
  Filler().fill(value);
  const auto bytes = bytes_of_value(value);
  EXPECT_NE(bytes, bytes_of_value(TypeParam()));
  EXPECT_EQ(bytes_of_value(value_of<TypeParam>(bytes)), bytes);
}

TYPED_TEST(Fields, no_member_is_left_out) {
  TypeParam value;
  std::size_t left_out = 0;
  if constexpr (std::is_same_v<TypeParam, ImageSeries>) left_out = sizeof value.stored;
  const auto count = std::apply([](auto&... parts) { return sizeof...(parts); }, members(value));
  const std::size_t most_padding = count * (alignof(TypeParam) - 1);
  EXPECT_LE(bytes_of_members(value) + left_out, sizeof value);
  EXPECT_GE(bytes_of_members(value) + left_out + most_padding, sizeof value);
}

TYPED_TEST(Fields, any_cut_is_an_error) {
  TypeParam value;
  Filler().fill(value);
  const auto bytes = bytes_of_value(value);
  for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 97)
    EXPECT_NE(error_of([&] { value_of<TypeParam>(bytes.substr(0, length)); }), "") << length;
}

/// 0xff in place of eight bytes, from every place on: lengths and extents among them.
TYPED_TEST(Fields, absurd_lengths_take_no_memory) {
  TypeParam value;
  Filler().fill(value);
  const auto bytes = bytes_of_value(value);
  for (std::size_t place = 0; place + 8 <= bytes.size(); ++place)
    for (const char byte : {'\xff', '\x7f', '\x01'}) {
      auto damaged = bytes;
      damaged.replace(place, 8, 8, byte);
      std::size_t at = 0;
      Input in("file", 1 << 20, [&](void* to, std::size_t count) {
        if (at + count > damaged.size()) throw Error("file", "more bytes", "fewer");
        std::memcpy(to, damaged.data() + at, count);
        at += count;
      });
      TypeParam read;
      try {
        in(read);
      } catch (const Error&) {  // or not: it may have been a number
      }
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

TEST(Archive, of_a_large_array_the_address_passes) {
  Array<double> array({2, 1 << 16});
  for (std::int64_t i = 0; i < array.size(); ++i) array[i] = static_cast<double>(i);
  std::string bytes;
  Output out(
      [&](const void* from, std::size_t count) { bytes.append(static_cast<const char*>(from), count); },
      true);
  out(array);
  out.flush();
  EXPECT_LT(bytes.size(), 64u);
  const auto taken_with = [&](Input::Copy copy) {
    const char* next = bytes.data();
    const auto read = [&](void* to, std::size_t count) {
      std::memcpy(to, next, count);
      next += count;
    };
    Array<double> taken;
    Input("file", std::uint64_t{1} << 20, read, std::move(copy))(taken);
    return taken;
  };
  const auto taken = taken_with([](std::uint64_t address, void* to, std::size_t count) {
    std::memcpy(to, reinterpret_cast<const void*>(address), count);
    return true;
  });
  EXPECT_EQ(taken.shape(), array.shape());
  EXPECT_EQ(std::memcmp(taken.data(), array.data(), sizeof(double) * (2 << 16)), 0);
  EXPECT_CONTAINS(error_of([&] { taken_with([](auto...) { return false; }); }), "damaged");
  EXPECT_CONTAINS(error_of([&] { taken_with({}); }), "damaged");
}

}  // namespace
}  // namespace fhd::io::reader
