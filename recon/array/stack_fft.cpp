#include "recon/array/stack_fft.hpp"

#include "recon/array/fft.hpp"

namespace fhd {
namespace {

template <class T>
class StackFftCpu final : public StackFft<T> {
 public:
  explicit StackFftCpu(const Shape& image) : fft_(image) {}
  void forward(Array<Complex<T>>& stack, std::int64_t used) const override { fft_(stack.data(), used, -1); }
  void backward(Array<Complex<T>>& stack, std::int64_t used) const override { fft_(stack.data(), used, +1); }

 private:
  GridFft<T> fft_;
};

}  // namespace

template <class T>
std::unique_ptr<StackFft<T>> make_stack_fft(const Shape& image, std::int64_t count, Device device) {
  if (image.rank() != 3) throw Error("FFT", "images [z][y][x]", image.text());
  if (device.is_cpu()) return std::make_unique<StackFftCpu<T>>(image);
  if constexpr (built_with_cuda) return device::make_stack_fft<T>(image, count, device);
  refuse_cuda();
}

template std::unique_ptr<StackFft<float>> make_stack_fft<float>(const Shape&, std::int64_t, Device);
template std::unique_ptr<StackFft<double>> make_stack_fft<double>(const Shape&, std::int64_t, Device);

}  // namespace fhd
