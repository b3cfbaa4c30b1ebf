#pragma once
// Gray images for people: made of magnitudes, enlarged, put together, written on.
#include <cstdint>
#include <string_view>
#include <vector>

namespace fhd::io {

/// Row-major, row 0 on top; 0 is black.
struct GrayImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// A black image. Throws Error unless both sides are 1 ... 32768.
GrayImage make_gray_image(int width, int height);

/// Magnitudes [y][x] (`width` x `height`) from 0 (black) to `white` and above. What is not finite is black.
GrayImage gray_of(const float* magnitude, int width, int height, float white);

/// The value below which a fraction (0 ... 1) of the finite magnitudes lies; 0 when there are none.
float quantile(std::vector<float> magnitudes, double fraction);

/// Every pixel `factor` x `factor` times.
GrayImage enlarged(const GrayImage& image, int factor);
/// Means of blocks of pixels, at most `side` wide and high; a smaller image as it is.
GrayImage reduced(const GrayImage& image, int side);

/// Copies `panel` into `image` with its top left corner at (x, y); what lies outside is cut off.
void paste(GrayImage& image, const GrayImage& panel, int x, int y);

constexpr int text_width = 6, text_height = 8;  ///< pixels per character, at scale 1
/// Writes one line of ASCII text with its top left corner at (x, y); what lies outside is cut off.
void draw_text(GrayImage& image, int x, int y, std::string_view text, int scale = 1,
               std::uint8_t shade = 255);

}  // namespace fhd::io
