#include "io/result/gray_image.hpp"

#include <algorithm>
#include <cmath>

#include "recon/error.hpp"

namespace fhd::io {

GrayImage make_gray_image(int width, int height) {
  constexpr int largest = 32768;
  if (width < 1 || height < 1 || width > largest || height > largest)
    throw Error("picture", "1 ... 32768 pixels per side",
                std::to_string(width) + " x " + std::to_string(height));
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height, 0)};
}

GrayImage gray_of(const float* magnitude, int width, int height, float white) {
  auto image = make_gray_image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const float shade = magnitude[i] / white * 255.0f;
    if (shade > 0)
      image.pixels[i] = static_cast<std::uint8_t>(std::min(shade, 255.0f) + 0.5f);  // NaN stays black
  }
  return image;
}

float quantile(std::vector<float> magnitudes, double fraction) {
  std::erase_if(magnitudes, [](float value) { return !std::isfinite(value); });
  if (magnitudes.empty()) return 0;
  const auto index =
      static_cast<std::ptrdiff_t>(std::lround(fraction * static_cast<double>(magnitudes.size() - 1)));
  std::nth_element(magnitudes.begin(), magnitudes.begin() + index, magnitudes.end());
  return magnitudes[static_cast<std::size_t>(index)];
}

GrayImage enlarged(const GrayImage& image, int factor) {
  auto result = make_gray_image(image.width * factor, image.height * factor);
  for (int y = 0; y < result.height; ++y)
    for (int x = 0; x < result.width; ++x)
      result.pixels[static_cast<std::size_t>(y) * result.width + x] =
          image.pixels[static_cast<std::size_t>(y / factor) * image.width + x / factor];
  return result;
}

void paste(GrayImage& image, const GrayImage& panel, int x, int y) {
  for (int row = std::max(0, -y); row < std::min(panel.height, image.height - y); ++row)
    for (int column = std::max(0, -x); column < std::min(panel.width, image.width - x); ++column)
      image.pixels[static_cast<std::size_t>(y + row) * image.width + x + column] =
          panel.pixels[static_cast<std::size_t>(row) * panel.width + column];
}

GrayImage reduced(const GrayImage& image, int side) {
  const int stride = (std::max(image.width, image.height) + side - 1) / side;
  if (stride <= 1) return image;
  auto result = make_gray_image((image.width + stride - 1) / stride, (image.height + stride - 1) / stride);
  for (int y = 0; y < result.height; ++y)
    for (int x = 0; x < result.width; ++x) {
      int sum = 0, count = 0;
      for (int j = y * stride; j < std::min(image.height, (y + 1) * stride); ++j)
        for (int i = x * stride; i < std::min(image.width, (x + 1) * stride); ++i, ++count)
          sum += image.pixels[static_cast<std::size_t>(j) * image.width + i];
      result.pixels[static_cast<std::size_t>(y) * result.width + x] =
          static_cast<std::uint8_t>((sum + count / 2) / count);
    }
  return result;
}

}  // namespace fhd::io
