#pragma once
// Turns values into bytes and back, between processes of one program on one machine. The bytes that come in are not trusted:
// every length is checked against what may still come before memory is taken for it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/reader/fields.hpp"
#include "recon/array/array.hpp"
#include "recon/error.hpp"

namespace fhd::io::reader {

template <class T>
struct IsPlain
    : std::bool_constant<(std::is_arithmetic_v<T> || std::is_enum_v<T>)&&!std::is_same_v<T, bool>> {};
template <class T, std::size_t count>
struct IsPlain<std::array<T, count>> : IsPlain<T> {};
/// Says that a value is just its bytes.
template <class T>
constexpr bool is_plain = IsPlain<T>::value;

/// Puts values into bytes and hands these on. Of large arrays it may hand on the address alone; the other side then copies
/// them from the memory of this process: one copy instead of two.
class Output {
 public:
  using Write = std::function<void(const void*, std::size_t)>;
  /// `lends`: hands on addresses; the values stay as they are until the other side has its copies.
  explicit Output(Write write, bool lends = false) : write_(std::move(write)), lends_(lends) {}

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  void flush() {
    if (!buffer_.empty()) write_(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

 private:
  static constexpr std::size_t large = 1 << 16;

  void put_bytes(const void* bytes, std::size_t count) {
    if (count >= large) {
      flush();
      return write_(bytes, count);
    }
    buffer_.append(static_cast<const char*>(bytes), count);
    if (buffer_.size() >= large) flush();
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      put(static_cast<unsigned char>(value));
    else if constexpr (is_plain<T>)
      put_bytes(&value, sizeof value);
    else
      std::apply([this](const auto&... parts) { (put(parts), ...); }, members(value));
  }
  void put(const std::string& text) {
    put(std::uint64_t{text.size()});
    put_bytes(text.data(), text.size());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(std::uint64_t{values.size()});
    if constexpr (is_plain<T>)
      put_bytes(values.data(), values.size() * sizeof(T));
    else
      for (const auto& value : values) put(value);
  }
  template <class T, std::size_t count>
  void put(const std::array<T, count>& values) {
    for (const auto& value : values) put(value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& value) {
    put(value.first);
    put(value.second);
  }
  template <class T>
  void put(const Array<T>& array) {
    const auto& shape = array.shape();
    put(std::int32_t{shape.rank()});
    for (int axis = 0; axis < shape.rank(); ++axis) put(shape[axis]);
    constexpr std::size_t worth_lending = std::size_t{1} << 18;
    const auto bytes = static_cast<std::size_t>(array.size()) * sizeof(T);
    std::optional<std::uint64_t> address;
    if (lends_ && bytes >= worth_lending) address = reinterpret_cast<std::uintptr_t>(array.data());
    put(address);
    if (!address) put_bytes(array.data(), bytes);
  }

  Write write_;
  bool lends_;
  std::string buffer_;
};

/// Takes values out of bytes. Throws Error if they need more than `most_bytes` of memory.
class Input {
 public:
  using Read = std::function<void(void*, std::size_t)>;
  /// Copies bytes from an address in the other process; returns false if there are not so many.
  using Copy = std::function<bool(std::uint64_t address, void*, std::size_t)>;
  Input(std::string subject, std::uint64_t most_bytes, Read read, Copy copy = {})
      : subject_(std::move(subject)), left_(most_bytes), read_(std::move(read)), copy_(std::move(copy)) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(subject_, "values that fit into the memory that reading may take", "more",
                "the file is damaged, or made to do harm; a good one: --input-memory GIB allows more");
  }
  /// Takes the memory of `count` values of `size` bytes each.
  void take(std::uint64_t count, std::size_t size) {
    if (count > left_ / size) refuse();
    left_ -= count * size;
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      unsigned char byte = 0;
      get(byte);
      value = byte != 0;
    } else if constexpr (is_plain<T>) {
      read_(&value, sizeof value);
    } else {
      std::apply([this](auto&... parts) { (get(parts), ...); }, members(value));
    }
  }
  void get(std::string& text) {
    std::uint64_t size = 0;
    get(size);
    take(size, 1);
    text.resize(size);
    read_(text.data(), size);
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::uint64_t size = 0;
    get(size);
    take(size, sizeof(T));
    values.clear();
    if constexpr (is_plain<T>) {
      values.resize(size);
      read_(values.data(), size * sizeof(T));
    } else {
      for (std::uint64_t i = 0; i < size; ++i) get(values.emplace_back());
    }
  }
  template <class T, std::size_t count>
  void get(std::array<T, count>& values) {
    for (auto& value : values) get(value);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    value.reset();
    if (there) get(value.emplace());
  }
  template <class A, class B>
  void get(std::pair<A, B>& value) {
    get(value.first);
    get(value.second);
  }
  template <class T>
  void get(Array<T>& array) {
    constexpr std::int64_t longest = std::int64_t{1} << 48;
    std::int32_t rank = 0;
    get(rank);
    std::array<std::int64_t, 5> n{};
    if (rank < 0 || rank > static_cast<int>(n.size())) refuse();
    std::uint64_t count = rank > 0 ? 1 : 0;
    for (int axis = 0; axis < rank; ++axis) {
      get(n[static_cast<std::size_t>(axis)]);
      const auto extent = n[static_cast<std::size_t>(axis)];
      const bool possible = extent >= 0 && extent < longest &&
                            !__builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count);
      if (!possible) refuse();
    }
    take(count, sizeof(T));
    const Shape shape = shape_of(rank, n);
    std::optional<std::uint64_t> address;
    get(address);
    array = Array<T>(shape);
    if (!address) return read_(array.data(), count * sizeof(T));
    if (!copy_ || !copy_(*address, array.data(), count * sizeof(T))) refuse();
  }
  static Shape shape_of(int rank, const std::array<std::int64_t, 5>& n) {
    switch (rank) {
      case 0:
        return {};
      case 1:
        return {n[0]};
      case 2:
        return {n[0], n[1]};
      case 3:
        return {n[0], n[1], n[2]};
      case 4:
        return {n[0], n[1], n[2], n[3]};
      default:
        return {n[0], n[1], n[2], n[3], n[4]};
    }
  }

  std::string subject_;
  std::uint64_t left_;
  Read read_;
  Copy copy_;
};

}  // namespace fhd::io::reader
