#pragma once
// Several gray images in one.
#include "io/result/gray_image.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// `panels` row by row, `panels_per_row` of them, in equal cells as large as the largest panel, `gap` pixels
/// between them.
GrayImage tile(const std::vector<GrayImage>& panels, int panels_per_row, int gap = 2);

/// `panel` with a caption in a band above it, scaled to be readable.
GrayImage captioned(const GrayImage& panel, std::string_view caption, int scale = 2);

/// A montage of the magnitudes of all slices of all images, in order, at most 64 of them evenly chosen. White
/// is the 99.5 % quantile of what is shown. Row 0 of a slice, the first y, is on top (anterior in a standard
/// axial scan). Small slices are enlarged to about 256 pixels.
GrayImage montage(const std::vector<Image>& images);

}  // namespace fhd::io
