#include "io/result/picture.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "io/files/atomic_file.hpp"
#include "io/result/formats.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr int largest_side = 32768;  // pixels

// Characters ' ' to '~', 5 x 7 pixels: two hexadecimal digits per column from the left, the lowest bit on top.
constexpr std::string_view font =
    "000000000000005F00000007000700147F147F14242A7F2A12231308646236495522500005030000001C2241000041221C00"
    "14083E081408083E080800503000000808080808006060000020100804023E5149453E00427F400042615149462141454B31"
    "1814127F1027454545393C4A49493001710905033649494936064949291E0036360000005636000008142241001414141414"
    "00412214080201510906324979413E7E1111117E7F494949363E414141227F4141221C7F494949417F090909013E4149497A"
    "7F0808087F00417F41002040413F017F081422417F404040407F020C027F7F0408107F3E4141413E7F090909063E4151215E"
    "7F09192946464949493101017F01013F4040403F1F2040201F3F4038403F631408146307087008076151494543007F414100"
    "02040810200041417F0004020102044040404040000102040020545454787F484444383844444420384444487F3854545418"
    "087E0901020C5252523E7F0804047800447D40002040443D007F1028440000417F40007C041804787C080404783844444438"
    "7C14141408081414187C7C080404084854545420043F4440203C4040207C1C2040201C3C4030403C44281028440C5050503C"
    "4464544C44000836410000007F000000413608000804081008";

/// Returns whether a pixel of a character is white.
bool is_set(char character, int column, int row) {
  const char known = character >= ' ' && character <= '~' ? character : '?';
  const auto digit = font[static_cast<std::size_t>(10 * (known - ' ') + 2 * column + (row < 4 ? 1 : 0))];
  return (digit > '9' ? digit - 'A' + 10 : digit - '0') >> row % 4 & 1;
}

/// Copies `panel` into `image`, in which it lies, with its top left corner at (x, y).
void paste(GrayImage& image, const GrayImage& panel, int x, int y) {
  for (int row = 0; row < panel.height; ++row)
    std::copy_n(panel.pixels.begin() + std::ptrdiff_t{row} * panel.width, panel.width, &image.at(x, y + row));
}

/// Writes one line of ASCII text with its top left corner at (x, y); what lies outside is cut off.
void draw_text(GrayImage& image, int x, int y, std::string_view text, int scale) {
  for (const char character : text) {
    for (int column = 0; column < 5 * scale && x + column < image.width; ++column)
      for (int row = 0; row < 7 * scale && y + row < image.height; ++row)
        if (is_set(character, column / scale, row / scale)) image.at(x + column, y + row) = 255;
    x += 6 * scale;
  }
}

/// Returns panel(i), i from 0 to `count` - 1, row by row in equal cells of this size, `gap` pixels between them.
template <class Panel>
GrayImage tile(int count, int width, int height, int panels_per_row, int gap, const Panel& panel) {
  panels_per_row = std::min(panels_per_row, count);
  const int rows = (count + panels_per_row - 1) / panels_per_row;
  auto image = make_gray_image(panels_per_row * (width + gap) - gap, rows * (height + gap) - gap);
  for (int i = 0; i < count; ++i)
    paste(image, panel(static_cast<std::size_t>(i)), i % panels_per_row * (width + gap),
          i / panels_per_row * (height + gap));
  return image;
}

}  // namespace

GrayImage make_gray_image(int width, int height) {
  if (width < 1 || height < 1 || width > largest_side || height > largest_side)
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
  for (int y = 0; y < image.height; ++y) {
    auto* const row = &result.at(0, y * factor);
    for (int x = 0; x < image.width; ++x) std::fill_n(row + x * factor, factor, image.at(x, y));
    for (int copy = 1; copy < factor; ++copy)
      std::copy_n(row, result.width, &result.at(0, y * factor + copy));
  }
  return result;
}

GrayImage tile(const std::vector<GrayImage>& panels, int panels_per_row, int gap) {
  int width = 0, height = 0;
  for (const auto& panel : panels)
    width = std::max(width, panel.width), height = std::max(height, panel.height);
  return tile(static_cast<int>(panels.size()), width, height, panels_per_row, gap,
              [&](std::size_t i) -> const GrayImage& { return panels[i]; });
}

GrayImage captioned(const GrayImage& panel, std::string_view caption) {
  constexpr int scale = 2, text_height = 8;
  const int band = (text_height + 2) * scale;
  auto image = make_gray_image(panel.width, panel.height + band);
  draw_text(image, scale, scale, caption, scale);
  paste(image, panel, 0, band);
  return image;
}

/// Returns means of blocks of pixels, at most `side` wide and high; a smaller image as it is.
static GrayImage reduced(const GrayImage& image, int side) {
  const int stride = (std::max(image.width, image.height) + side - 1) / side;
  if (stride <= 1) return image;
  auto result = make_gray_image((image.width + stride - 1) / stride, (image.height + stride - 1) / stride);
  for (int y = 0; y < result.height; ++y)
    for (int x = 0; x < result.width; ++x) {
      int sum = 0, count = 0;
      for (int j = y * stride; j < std::min(image.height, (y + 1) * stride); ++j)
        for (int i = x * stride; i < std::min(image.width, (x + 1) * stride); ++i, ++count)
          sum += image.at(i, j);
      result.at(x, y) = static_cast<std::uint8_t>((sum + count / 2) / count);
    }
  return result;
}

GrayImage montage(const std::vector<Image>& images, std::vector<std::size_t> numbers,
                  const std::function<std::shared_ptr<const Image>(std::size_t)>& read) {
  if (numbers.empty()) {
    numbers.resize(images.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  }
  constexpr std::int64_t most_panels = 64;
  std::int64_t slice_count = 0;
  for (const auto number : numbers) slice_count += images[number].geometry.matrix_size[2];
  if (slice_count == 0) throw Error("picture", "at least one slice", "none");
  const auto panel_count = std::min(slice_count, most_panels);

  std::vector<std::array<int, 2>> sizes;
  std::vector<float> shown;  // the magnitudes of all panels, one after the other
  std::int64_t slice = 0;
  for (const auto number : numbers) {
    const auto& image = images[number];
    std::shared_ptr<const Image> held;
    const int width = image.geometry.matrix_size[0], height = image.geometry.matrix_size[1];
    const auto voxels = std::int64_t{width} * height;
    for (int z = 0; z < image.geometry.matrix_size[2]; ++z, ++slice) {
      const auto next = static_cast<std::int64_t>(sizes.size());
      if (next == panel_count || slice != next * slice_count / panel_count) continue;
      if (next == 0) shown.reserve(static_cast<std::size_t>(panel_count * voxels));
      if (read && !held) held = read(number);
      const auto& values = held ? held->values : image.values;
      for (std::int64_t i = 0; i < voxels; ++i) shown.push_back(abs(values[voxels * z + i]));
      sizes.push_back({width, height});
    }
  }
  const float brightest = quantile(shown, white_quantile), white = brightest > 0 ? brightest : 1;
  const int panels_per_row = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(panel_count))));
  int side = 1;
  for (const auto& size : sizes) side = std::max({side, size[0], size[1]});
  constexpr int wanted_side = 256, wanted_width = 1280, gap = 2;
  const int factor =
      std::max(1, std::min((wanted_side + side - 1) / side, wanted_width / (panels_per_row * side)));
  const int largest_panel = largest_side / panels_per_row - gap;
  const auto cell = [&](std::size_t axis) {
    int most = 1;
    for (const auto& size : sizes) most = std::max(most, std::min(size[axis] * factor, largest_panel));
    return most;
  };
  const float* magnitudes = shown.data();
  return tile(static_cast<int>(sizes.size()), cell(0), cell(1), panels_per_row, gap, [&](std::size_t i) {
    const auto [width, height] = sizes[i];
    const auto panel = gray_of(magnitudes, width, height, white);
    magnitudes += std::ptrdiff_t{width} * height;
    return reduced(enlarged(panel, factor), largest_panel);
  });
}

void write_png(const std::string& path, const GrayImage& image, const std::string& reported_path,
               bool small) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_GRAY;
  if (!small) header.flags = PNG_IMAGE_FLAG_FAST;  // in a sixth of the time, a quarter larger
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::uint8_t> bytes(size);
  if (!png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr))
    throw Error(reported_path, "a picture that can be encoded", header.message);
  write_bytes(path, bytes.data(), size, reported_path);
}

const ResultFormat png_format{.name = "png",
                              .ending = ".png",
                              .is_optional = false,
                              .is_per_stack = true,
                              .write = [](const AtomicFile& to, ResultContent& results, std::size_t stack) {
                                constexpr int small_from_level = 6;
                                const auto& series = results.series;
                                std::vector<std::size_t> shown;
                                for (std::size_t first = 0; first < series.images.size();
                                     first += static_cast<std::size_t>(series.slice_count))
                                  for (const auto slice : results.stacks[stack].slices)
                                    shown.push_back(first + slice);
                                const auto read = [&](std::size_t i) { return series.image(i); };
                                write_png(to.temporary(), montage(series.images, shown, read), to.path(),
                                          results.compression.level >= small_from_level);
                              }};

}  // namespace fhd::io
