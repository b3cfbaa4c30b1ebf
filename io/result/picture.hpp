#pragma once
// Gray pictures for people: made of magnitudes, enlarged, put together, written on; as PNG files, 8 bits a pixel.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "recon/domain/scan.hpp"

namespace fhd::io {

/// Row-major, row 0 on top; 0 is black.
struct GrayImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
  std::uint8_t& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
  std::uint8_t at(int x, int y) const { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

/// Returns a black image. Throws Error unless both sides are 1 ... 32768.
GrayImage make_gray_image(int width, int height);

/// Returns magnitudes [y][x] (`width` x `height`) from 0 (black) to `white` and above. What is not finite is black.
GrayImage gray_of(const float* magnitude, int width, int height, float white);

/// Returns the value below which a fraction (0 ... 1) of the finite magnitudes lies; 0 when there are none.
float quantile(std::vector<float> magnitudes, double fraction);
/// This quantile of the magnitudes is white in pictures and windows.
inline constexpr double white_quantile = 0.995;

/// Returns an image with every pixel `factor` x `factor` times.
GrayImage enlarged(const GrayImage& image, int factor);

/// Returns the panels row by row, `panels_per_row` of them, in equal cells as large as the largest, `gap` pixels between them.
GrayImage tile(const std::vector<GrayImage>& panels, int panels_per_row, int gap);

/// Returns the panel with a caption of ASCII text in a band above it.
GrayImage captioned(const GrayImage& panel, std::string_view caption);

/// Returns a montage of the magnitudes of all slices of the images `numbers`, in their order (empty: of all images), at most
/// 64 slices evenly chosen. White
/// is the 99.5 % quantile of what is shown. Row 0 of a slice, the first y, is on top (anterior in a standard
/// axial scan). Small slices are enlarged to about 256 pixels; large ones are means of blocks of pixels where the
/// montage would be wider than a picture may be. `read`: gives images that are shown, where `images`
/// hold no values.
GrayImage montage(const std::vector<Image>& images, std::vector<std::size_t> numbers = {},
                  const std::function<std::shared_ptr<const Image>(std::size_t)>& read = {});

/// Writes to `path`; messages call it `reported_path`. `small`: a fifth smaller, in six times the time. Throws Error. (Not
/// atomic by itself.)
void write_png(const std::string& path, const GrayImage& image, const std::string& reported_path,
               bool small = false);

}  // namespace fhd::io
