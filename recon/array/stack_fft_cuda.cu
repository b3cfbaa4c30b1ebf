// Transforms of a stack by one batched plan of cuFFT. Floor: the FFTs, two passes over the stack for images that fit
// the cache.
#include <algorithm>
#include <memory>
#include <vector>

#include "recon/array/cufft.hpp"
#include "recon/array/fft.hpp"

namespace fhd::device {
namespace {

template <class T>
class StackFftCuda {
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
  void run(Array<Complex<T>>& stack, int sign) {
    if (!plan_) return;
    const CurrentDevice current(device_);
    plan_->execute(stack.data(), stack.data(), sign < 0 ? CUFFT_FORWARD : CUFFT_INVERSE, work_.data());
  }

 private:
  Device device_;
  std::unique_ptr<cufft::Plan<T>> plan_;
  Array<unsigned char> work_;
};

}  // namespace

template <class T>
StackFft<T> make_stack_fft(const Shape& image, std::int64_t count, Device device) {
  return [fft = std::make_shared<StackFftCuda<T>>(image, count, device)](
             Array<Complex<T>>& stack, std::int64_t, int sign) { fft->run(stack, sign); };
}
template StackFft<float> make_stack_fft<float>(const Shape&, std::int64_t, Device);
template StackFft<double> make_stack_fft<double>(const Shape&, std::int64_t, Device);

}  // namespace fhd::device
