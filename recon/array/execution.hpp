#pragma once
// Where work runs: a value of its own, beside what is computed. Processes that work on one problem together are
// implemented where the means of communication are known; a process alone is a group of one. Threads that each lead
// a GPU are a group, too: device_team.hpp.
#include <cstdint>
#include <memory>
#include <vector>

#include "recon/array/array.hpp"

namespace fhd {

/// Every process makes the same calls in the same order.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// values[i] = their sum over the processes, the same bits in all. Host memory.
  virtual void sum(float* values, std::int64_t count) const = 0;
  virtual void sum(double* values, std::int64_t count) const = 0;
  /// Sums values on `device`, a GPU, in the order of its work: through host memory unless overridden.
  virtual void sum_on_device(Complex<float>* values, std::int64_t count, Device device) const {
    sum_through_host(values, count, device);
  }
  virtual void sum_on_device(Complex<double>* values, std::int64_t count, Device device) const {
    sum_through_host(values, count, device);
  }
  bool is_shared() const { return size() > 1; }

 private:
  template <class T>
  void sum_through_host(Complex<T>* values, std::int64_t count, Device device) const {
    Array<Complex<T>> host(Shape{count});
    const auto bytes = static_cast<std::size_t>(count) * sizeof(Complex<T>);
    copy_bytes(host.data(), Device::cpu(), values, device, bytes);
    sum(reinterpret_cast<T*>(host.data()), 2 * count);
    copy_bytes(values, device, host.data(), Device::cpu(), bytes);
  }
};

class SingleProcess final : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(float*, std::int64_t) const override {}
  void sum(double*, std::int64_t) const override {}
};

struct Execution {
  Device device{};
  int threads = 0;  ///< of this process; at most; 0: as many as OpenMP takes
  std::shared_ptr<const ProcessGroup> processes = std::make_shared<SingleProcess>();
};

/// A share of `count` things, as even as possible: of rank r, [first, last).
struct Share {
  std::int64_t first = 0, last = 0;
  std::int64_t size() const { return last - first; }
};
inline Share share_of(std::int64_t count, const ProcessGroup& group) {
  const auto at = [&](std::int64_t rank) { return count * rank / group.size(); };
  return {at(group.rank()), at(group.rank() + 1)};
}

/// Sums an array over the processes, on any device.
template <class T>
void sum_over(const ProcessGroup& group, Array<Complex<T>>& values) {
  if (!group.is_shared()) return;
  if (values.device().is_cpu()) return group.sum(reinterpret_cast<T*>(values.data()), 2 * values.size());
  group.sum_on_device(values.data(), values.size(), values.device());
}

/// [row][column] -> [row][columns of the share]
template <class T>
Array<T> columns_of(Array<T> values, const Share& share) {
  const std::int64_t rows = values.extent(0), count = values.extent(1);
  if (share.size() == count) return values;
  Array<T> part(Shape{rows, share.size()});
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(values.data() + row * count + share.first, share.size(), part.data() + row * share.size());
  return part;
}

/// The chosen columns of [column] or [row][column], in this order; empty of an empty array.
template <class T>
Array<T> columns_of(const Array<T>& values, const std::vector<std::int64_t>& chosen) {
  if (values.empty()) return {};
  const bool is_row = values.shape().rank() == 1;
  const std::int64_t rows = is_row ? 1 : values.extent(0), all = values.size() / rows,
                     count = static_cast<std::int64_t>(chosen.size());
  Array<T> part(is_row ? Shape{count} : Shape{rows, count});
#pragma omp parallel for schedule(static) if (part.size() >= 1 << 17)
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < count; ++i)
      part.data()[row * count + i] = values.data()[row * all + chosen[static_cast<std::size_t>(i)]];
  return part;
}

/// The inverse of columns_of a share: every process gets all columns, in host memory.
template <class T>
Array<Complex<T>> all_columns(Array<Complex<T>> part, std::int64_t count, const ProcessGroup& group) {
  if (!group.is_shared()) return part;
  const Share share = share_of(count, group);
  Array<Complex<T>> whole(Shape{part.extent(0), count});
  for (std::int64_t row = 0; row < part.extent(0); ++row)
    std::copy_n(part.data() + row * share.size(), share.size(), whole.data() + row * count + share.first);
  sum_over(group, whole);
  return whole;
}

}  // namespace fhd
