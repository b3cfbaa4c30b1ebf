#pragma once
// Turns values into bytes and back, between processes of one program on one machine. The bytes that come in are not trusted:
// every length is checked against what may still come before memory is taken for it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "io/reader/fields.hpp"
#include "recon/array/array.hpp"
#include "recon/domain/option_words.hpp"
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

/// Walks through the parts of values. `Direction` moves the bytes of plain ones, lengths and arrays.
template <class Direction>
class Archive {
 public:
  template <class... T>
  void operator()(T&&... values) {
    (pass(values), ...);
  }

 private:
  Direction& direction() { return static_cast<Direction&>(*this); }

  template <class Value>
  void pass(Value& value) {
    using T = std::remove_const_t<Value>;
    if constexpr (is_plain<T>)
      direction().bytes(&value, sizeof value);
    else if constexpr (requires { std::tuple_size<T>::value; })
      std::apply([this](auto&... parts) { (pass(parts), ...); }, value);
    else
      std::apply([this](auto&... parts) { (pass(parts), ...); }, members(value));
  }
  template <class Value>
  requires std::is_same_v < std::remove_const_t<Value>,
  bool > void pass(Value& value) {
    auto byte = static_cast<unsigned char>(value);
    pass(byte);
    if constexpr (!std::is_const_v<Value>) value = byte != 0;
  }
  template <class Value>
  requires requires(Value& value) { value.capacity(); }  // texts and vectors
  void pass(Value& values) {
    using T = typename Value::value_type;
    direction().length(values);
    if constexpr (is_plain<T>)
      direction().bytes(values.data(), values.size() * sizeof(T));
    else
      for (auto& value : values) pass(value);
  }
  template <class Value>
  requires requires(Value& value) { value.has_value(); }
  void pass(Value& value) {
    bool there = value.has_value();
    pass(there);
    if constexpr (!std::is_const_v<Value>) value.reset();
    if constexpr (!std::is_const_v<Value>)
      if (there) value.emplace();
    if (there) pass(*value);
  }
  template <class T>
  void pass(const Array<T>& array) {
    direction().array(array);
  }
  template <class T>
  void pass(Array<T>& array) {
    direction().array(array);
  }
};

/// Puts values into bytes and hands these on.
class Output : public Archive<Output> {
 public:
  using Write = std::function<void(const void*, std::size_t)>;
  explicit Output(Write write) : write_(std::move(write)) {}

  template <class... T>
  void operator()(const T&... values) {  // which stay as they are
    Archive::operator()(values...);
  }
  void flush() {
    if (!buffer_.empty()) write_(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

 private:
  friend Archive;
  void bytes(const void* from, std::size_t count) {
    constexpr std::size_t large = 1 << 16;
    if (count >= large) {
      flush();
      return write_(from, count);
    }
    buffer_.append(static_cast<const char*>(from), count);
    if (buffer_.size() >= large) flush();
  }
  void length(const auto& values) { (*this)(std::uint64_t{values.size()}); }
  template <class T>
  void array(const Array<T>& array) {
    std::array<std::int64_t, 5> n{};
    for (int axis = 0; axis < array.shape().rank(); ++axis)
      n[static_cast<std::size_t>(axis)] = array.shape()[axis];
    (*this)(std::int32_t{array.shape().rank()}, n);
    bytes(array.data(), static_cast<std::size_t>(array.size()) * sizeof(T));
  }

  Write write_;
  std::string buffer_;
};

/// Takes values out of bytes. Throws Error if they need more than `most_bytes` of memory.
class Input : public Archive<Input> {
 public:
  using Read = std::function<void(void*, std::size_t)>;
  Input(std::string subject, std::uint64_t most_bytes, Read read)
      : subject_(std::move(subject)), left_(most_bytes), read_(std::move(read)) {}

 private:
  friend Archive;
  [[noreturn]] void refuse() const {
    throw Error(subject_, "values that fit into the memory that reading may take", "more",
                "raise the limit with " + option_words("input-memory", "GIB") + " if you trust the file");
  }
  /// Takes the memory of `count` values of `size` bytes each.
  void take(std::uint64_t count, std::size_t size) {
    if (count > left_ / size) refuse();
    left_ -= count * size;
  }
  void bytes(void* to, std::size_t count) { read_(to, count); }
  void length(auto& values) {
    std::uint64_t count = 0;
    (*this)(count);
    take(count, sizeof(values[0]));
    values.clear();
    values.resize(count);
  }
  template <class T>
  void array(Array<T>& array) {
    std::int32_t rank = 0;
    std::array<std::int64_t, 5> n{};
    (*this)(rank, n);
    if (rank < 0 || rank > 5) refuse();
    std::fill(n.begin() + rank, n.end(), 0);
    const Shape shapes[]{{},
                         {n[0]},
                         {n[0], n[1]},
                         {n[0], n[1], n[2]},
                         {n[0], n[1], n[2], n[3]},
                         {n[0], n[1], n[2], n[3], n[4]}};  // these throw Error, too
    const auto& shape = shapes[rank];
    take(static_cast<std::uint64_t>(shape.size()), sizeof(T));
    array = Array<T>(shape);
    bytes(array.data(), static_cast<std::size_t>(shape.size()) * sizeof(T));
  }

  std::string subject_;
  std::uint64_t left_;
  Read read_;
};

}  // namespace fhd::io::reader
