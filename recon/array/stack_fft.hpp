#pragma once
// Fourier transforms of stacks of images on their device: by fft.hpp or cuFFT.
#include <memory>

#include "recon/array/array.hpp"

namespace fhd {

/// Unnormalised transforms of `count` images [z][y][x], one after the other, along all their axes, in place; plans and
/// work areas are made once. Of a GPU: to be used by the thread that made it.
template <class T>
class StackFft {
 public:
  virtual ~StackFft() = default;
  /// exp(-i ...) forward, exp(+i ...) backward, of all images; of fewer where a stack begins with `used` that count.
  virtual void forward(Array<Complex<T>>& stack, std::int64_t used) const = 0;
  virtual void backward(Array<Complex<T>>& stack, std::int64_t used) const = 0;
};

/// `image` is [z][y][x].
template <class T>
std::unique_ptr<StackFft<T>> make_stack_fft(const Shape& image, std::int64_t count, Device device);

namespace device {

/// The CUDA side, in stack_fft_cuda.cu.
template <class T>
std::unique_ptr<StackFft<T>> make_stack_fft(const Shape& image, std::int64_t count, Device device);

}  // namespace device
}  // namespace fhd
