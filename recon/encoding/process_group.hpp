#pragma once
// Processes that reconstruct one scan together: each transforms a share of the samples and applies the
// Toeplitz operator to a share of the coils; images are summed.
#include <cstdint>
#include <memory>

#include "recon/array/array.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/array/linear_operator.hpp"

namespace fhd {

/// Implemented where the means of communication are known. Every process makes the same calls in the same
/// order.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// values[i] = their sum over the processes, the same bits in all. Host memory.
  virtual void sum(float* values, std::int64_t count) const = 0;
  virtual void sum(double* values, std::int64_t count) const = 0;
};

/// A share of `count` things, as even as possible: of rank r, [first, last).
struct Share {
  std::int64_t first = 0, last = 0;
  std::int64_t size() const { return last - first; }
};
inline Share share_of(std::int64_t count, const ProcessGroup& team) {
  const auto at = [&](std::int64_t rank) { return count * rank / team.size(); };
  return {at(team.rank()), at(team.rank() + 1)};
}

/// Sums an array over the processes, on any device.
template <class T>
void sum_over(const ProcessGroup& team, Array<Complex<T>>& values) {
  if (values.device().is_cpu())
    return team.sum(reinterpret_cast<T*>(values.data()), 2 * values.size());
  Array<Complex<T>> host = values.to(Device::cpu());
  team.sum(reinterpret_cast<T*>(host.data()), 2 * host.size());
  values = host.to(values.device());
}

/// E of all samples, of which this process has a part: forward gives that part, adjoint the whole image.
template <class T>
class SharedEncoding final : public Encoding<T> {
 public:
  SharedEncoding(std::shared_ptr<const Encoding<T>> part, std::shared_ptr<const ProcessGroup> team)
      : part_(std::move(part)), team_(std::move(team)) {}
  Shape domain() const override { return part_->domain(); }
  Shape range() const override { return part_->range(); }
  Device device() const override { return part_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    part_->forward(in, out);
  }
  void forward_through(const FourierTransform<T>& transform, const Array<Complex<T>>& in,
                       Array<Complex<T>>& out) const override {
    part_->forward_through(transform, in, out);
  }
  void adjoint(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    part_->adjoint(in, out);
    sum_over(*team_, out);
  }

 private:
  std::shared_ptr<const Encoding<T>> part_;
  std::shared_ptr<const ProcessGroup> team_;
};

/// The sum of Hermitian operators of which each process has one, or none (null).
template <class T>
class SharedNormal final : public HermitianOperator<T> {
 public:
  SharedNormal(std::shared_ptr<const HermitianOperator<T>> part, Shape domain, Device device,
             std::shared_ptr<const ProcessGroup> team)
      : part_(std::move(part)), domain_(domain), device_(device), team_(std::move(team)) {}
  Shape domain() const override { return domain_; }
  Device device() const override { return device_; }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    if (part_)
      part_->forward(in, out);
    else
      out.fill_zero();
    sum_over(*team_, out);
  }

 private:
  std::shared_ptr<const HermitianOperator<T>> part_;
  Shape domain_;
  Device device_;
  std::shared_ptr<const ProcessGroup> team_;
};

}  // namespace fhd
