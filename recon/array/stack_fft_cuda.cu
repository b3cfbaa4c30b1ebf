// Transforms of a stack by one batched plan of cuFFT. Floor: the FFTs, two passes over the stack for images that fit
// the cache.
#include <algorithm>
#include <vector>

#include "recon/array/cufft.hpp"
#include "recon/array/stack_fft.hpp"

namespace fhd::device {
namespace {

template <class T>
class StackFftCuda final : public StackFft<T> {
 public:
  StackFftCuda(const Shape& image, std::int64_t count, Device device) : device_(device) {
    std::vector<long long> sizes;
    for (int axis = 0; axis < 3; ++axis)
      if (image[axis] > 1) sizes.push_back(image[axis]);
    if (sizes.empty()) return;  // images of one voxel
    const CurrentDevice current(device);
    const cufft::Layout layout{1, image.size()};
    plan_ = std::make_unique<cufft::Plan<T>>(sizes, layout, layout, count, device);
    // Never empty: cuFFT wants an address also for a plan that needs nothing.
    work_ = Array<unsigned char>(
        Shape{std::max<std::int64_t>(static_cast<std::int64_t>(plan_->work_bytes()), 256)}, device);
  }
  // The whole batch, also where some of it does not count: it lies in the buffer all the same.
  void forward(Array<Complex<T>>& stack, std::int64_t) const override { run(stack, CUFFT_FORWARD); }
  void backward(Array<Complex<T>>& stack, std::int64_t) const override { run(stack, CUFFT_INVERSE); }

 private:
  void run(Array<Complex<T>>& stack, int direction) const {
    if (!plan_) return;
    const CurrentDevice current(device_);
    plan_->execute(stack.data(), stack.data(), direction, work_.data());
  }
  Device device_;
  std::unique_ptr<cufft::Plan<T>> plan_;
  mutable Array<unsigned char> work_;
};

}  // namespace

template <class T>
std::unique_ptr<StackFft<T>> make_stack_fft(const Shape& image, std::int64_t count, Device device) {
  return std::make_unique<StackFftCuda<T>>(image, count, device);
}
template std::unique_ptr<StackFft<float>> make_stack_fft<float>(const Shape&, std::int64_t, Device);
template std::unique_ptr<StackFft<double>> make_stack_fft<double>(const Shape&, std::int64_t, Device);

}  // namespace fhd::device
