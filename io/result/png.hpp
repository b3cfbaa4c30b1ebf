#pragma once
// Pictures for people: gray images, montages with captions, PNG files.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recon/domain/scan.hpp"

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

/// `panels` row by row in `columns` columns of equal cells as large as the largest panel, `gap` pixels
/// between them.
GrayImage tile(const std::vector<GrayImage>& panels, int columns, int gap = 2);

/// Copies `panel` into `image` with its top left corner at (x, y); what lies outside is cut off.
void paste(GrayImage& image, const GrayImage& panel, int x, int y);

constexpr int text_width = 6, text_height = 8;  ///< pixels per character, at scale 1
/// Writes one line of ASCII text with its top left corner at (x, y); what lies outside is cut off.
void draw_text(GrayImage& image, int x, int y, std::string_view text, int scale = 1,
               std::uint8_t shade = 255);

/// `panel` with a caption in a band above it, scaled to be readable.
GrayImage captioned(const GrayImage& panel, std::string_view caption, int scale = 2);

/// A montage of the magnitudes of all slices of all images, in order, at most 64 of them evenly chosen. White
/// is the 99.5 % quantile of what is shown. Row 0 of a slice, the first y, is on top (anterior in a standard
/// axial scan). Small slices are enlarged to about 256 pixels.
GrayImage montage(const std::vector<Image>& images);

/// Means of blocks of pixels, at most `side` wide and high; a smaller image as it is.
GrayImage reduced(const GrayImage& image, int side);

/// An 8-bit gray PNG as bytes; messages call it `reported_path`. Throws Error.
std::vector<std::uint8_t> encode_png(const GrayImage& image, const std::string& reported_path);
/// Reads any PNG as 8-bit gray. Throws Error.
GrayImage read_png(const std::string& path);

/// Writes an 8-bit gray PNG to `path`; messages call it `reported_path`. Throws Error. (Not atomic by
/// itself.)
void write_png(const std::string& path, const GrayImage& image, const std::string& reported_path);
/// The same, whole or not at all.
void write_png(const std::string& path, const GrayImage& image);

}  // namespace fhd::io
