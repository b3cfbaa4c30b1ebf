#include "io/result/montage.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "recon/error.hpp"

namespace fhd::io {

GrayImage tile(const std::vector<GrayImage>& panels, int panels_per_row, int gap) {
  if (panels.empty() || panels_per_row < 1)
    throw Error("picture", "at least one panel and one column", "none");
  int width = 0, height = 0;
  for (const auto& panel : panels) {
    width = std::max(width, panel.width);
    height = std::max(height, panel.height);
  }
  const int count = static_cast<int>(panels.size());
  panels_per_row = std::min(panels_per_row, count);
  const int rows = (count + panels_per_row - 1) / panels_per_row;
  auto image = make_gray_image(panels_per_row * (width + gap) - gap, rows * (height + gap) - gap);
  for (int i = 0; i < count; ++i)
    paste(image, panels[i], i % panels_per_row * (width + gap), i / panels_per_row * (height + gap));
  return image;
}

GrayImage captioned(const GrayImage& panel, std::string_view caption, int scale) {
  const int band = (text_height + 2) * scale;
  auto image = make_gray_image(panel.width, panel.height + band);
  draw_text(image, scale, scale, caption, scale);
  paste(image, panel, 0, band);
  return image;
}

GrayImage montage(const std::vector<Image>& images) {
  constexpr std::int64_t most_panels = 64;
  std::int64_t slice_count = 0;
  for (const auto& image : images) slice_count += image.geometry.matrix_size[2];
  if (slice_count == 0) throw Error("picture", "at least one slice", "none");
  const auto panel_count = std::min(slice_count, most_panels);

  std::vector<std::vector<float>> slices;
  std::vector<std::array<int, 2>> sizes;
  std::vector<float> shown;
  std::int64_t slice = 0;
  for (const auto& image : images) {
    const int width = image.geometry.matrix_size[0], height = image.geometry.matrix_size[1];
    for (int z = 0; z < image.geometry.matrix_size[2]; ++z, ++slice) {
      const auto next = static_cast<std::int64_t>(slices.size());
      if (next == panel_count || slice != next * slice_count / panel_count) continue;
      std::vector<float> magnitude(static_cast<std::size_t>(width) * height);
      for (std::size_t i = 0; i < magnitude.size(); ++i)
        magnitude[i] =
            abs(image.values[static_cast<std::int64_t>(magnitude.size()) * z + static_cast<std::int64_t>(i)]);
      shown.insert(shown.end(), magnitude.begin(), magnitude.end());
      slices.push_back(std::move(magnitude));
      sizes.push_back({width, height});
    }
  }
  const float white = quantile(std::move(shown), 0.995);
  const int panels_per_row = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(panel_count))));
  int side = 1;
  for (const auto& size : sizes) side = std::max({side, size[0], size[1]});
  constexpr int wanted_side = 256, wanted_width = 2048;
  const int factor =
      std::max(1, std::min((wanted_side + side - 1) / side, wanted_width / (panels_per_row * side)));
  std::vector<GrayImage> panels;
  for (std::size_t i = 0; i < slices.size(); ++i)
    panels.push_back(
        enlarged(gray_of(slices[i].data(), sizes[i][0], sizes[i][1], white > 0 ? white : 1), factor));
  return tile(panels, panels_per_row);
}

}  // namespace fhd::io
