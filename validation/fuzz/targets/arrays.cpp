// Arrays as Python hands them over: shapes and strides at the door, and scans made of arrays of any shape and value. The
// input is numbers of 8 bytes.
#include <algorithm>
#include <cmath>

#include "app/python/array_layout.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

namespace {

/// Takes numbers off an input; 0 behind its end.
class Numbers {
 public:
  explicit Numbers(fuzz::Bytes bytes) : bytes_(bytes) {}
  std::int64_t next() {
    std::int64_t number = 0;
    const auto count = std::min(sizeof number, bytes_.size());
    std::copy_n(bytes_.data(), count, reinterpret_cast<std::uint8_t*>(&number));
    bytes_ = bytes_.subspan(count);
    return number;
  }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(next()) % static_cast<std::uint64_t>(end));
  }
  double real() {
    const auto bits = next();
    double number;
    static_assert(sizeof number == sizeof bits);
    std::copy_n(reinterpret_cast<const char*>(&bits), sizeof number, reinterpret_cast<char*>(&number));
    return number;
  }

 private:
  fuzz::Bytes bytes_;
};

void look_at_layout(Numbers& numbers) {
  std::vector<std::int64_t> extents, strides;
  for (auto axes = numbers.below(8); axes > 0; --axes) {
    extents.push_back(numbers.next());
    strides.push_back(numbers.next());
  }
  if (!python::lies_in_order(extents, strides) || std::count(extents.begin(), extents.end(), 0) > 0) return;
  // The last element of such an array lies at the number of elements less one.
  __extension__ __int128 count = 1, last = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) count *= extents[axis];
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    if (extents[axis] != 1) last += static_cast<__int128>(extents[axis] - 1) * strides[axis];
  fuzz::require(count > 0 && last == count - 1);
}

template <class T>
Array<T> array_of(Numbers& numbers, std::initializer_list<std::int64_t> usual) {
  std::int64_t extents[4] = {1, 1, 1, 1};
  std::size_t axes = 0;
  for (const auto extent : usual) extents[axes++] = numbers.below(16) == 0 ? numbers.below(9) : extent;
  Array<T> array(axes == 1   ? Shape{extents[0]}
                 : axes == 2 ? Shape{extents[0], extents[1]}
                 : axes == 3 ? Shape{extents[0], extents[1], extents[2]}
                             : Shape{extents[0], extents[1], extents[2], extents[3]});
  if (array.size() > 0) {
    const double value = numbers.real();
    if constexpr (requires { array[0].re; })
      array[numbers.below(array.size())].re = value;
    else
      array[numbers.below(array.size())] = static_cast<T>(std::abs(value) < 1e30 ? value : 0);
  }
  return array;
}

void look_at_scan(Numbers& numbers) {
  Scan scan;
  const auto coils = numbers.below(4), samples = numbers.below(6);
  for (int axis = 0; axis < 3; ++axis) {
    scan.geometry.matrix_size[axis] =
        static_cast<int>(numbers.below(5)) - (numbers.below(64) == 0 ? 1 << 30 : 0);
    scan.geometry.fov_mm[axis] = numbers.real();
    scan.geometry.position_mm[axis] = numbers.real();
    scan.geometry.read_direction[axis] = numbers.below(3) == 0 ? numbers.real() : axis == 0;
    scan.cropped_matrix_size[axis] = static_cast<int>(numbers.below(5));
  }
  const auto& n = scan.geometry.matrix_size;
  scan.trajectory.k = array_of<double>(numbers, {3, samples});
  scan.kspace.values = array_of<Complex<float>>(numbers, {coils, samples});
  if (numbers.below(2) == 0)
    scan.sensitivity_maps = SensitivityMaps{array_of<Complex<float>>(
        numbers, {coils, std::abs(n[2] % 9), std::abs(n[1] % 9), std::abs(n[0] % 9)})};
  if (numbers.below(2) == 0)
    scan.field_map = array_of<float>(numbers, {std::abs(n[2] % 9), std::abs(n[1] % 9), std::abs(n[0] % 9)});
  if (numbers.below(2) == 0) scan.sample_time_s = array_of<double>(numbers, {samples});
  if (numbers.below(2) == 0) scan.noise = array_of<Complex<float>>(numbers, {coils, 4});
  scan.validate("scan");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Numbers numbers({data, size});
  fuzz::succeeds([&] { look_at_layout(numbers); });
  fuzz::succeeds([&] { look_at_scan(numbers); });
  return 0;
}
