#pragma once
// Texts of small Pulseq sequences.
#include <fmt/format.h>

#include <string>

namespace fhd::io::pulseq::tests {

/// The sections of a sequence; those that are empty are left out.
struct Text {
  explicit Text(int version) : minor(version) {}
  int minor;
  std::string definitions = "GradientRasterTime 1e-05 \nBlockDurationRaster 1e-05\n";
  std::string blocks, rf, gradients, trap, adc, delays, extensions, shapes;

  std::string all() const {
    std::string text =
        fmt::format("# Pulseq sequence file\n\n[VERSION]\nmajor 1\nminor {}\nrevision 0\n\n", minor);
    for (const auto& [name, content] : {std::pair("DEFINITIONS", definitions),
                                        {"BLOCKS", blocks},
                                        {"RF", rf},
                                        {"GRADIENTS", gradients},
                                        {"TRAP", trap},
                                        {"ADC", adc},
                                        {"DELAYS", delays},
                                        {"EXTENSIONS", extensions},
                                        {"SHAPES", shapes}})
      if (!content.empty()) text += fmt::format("# section\n[{}]\n{}\n", name, content);
    return text + "[SIGNATURE]\nType md5\nHash 0\n";
  }
};

/// Returns two gradient echoes of version 1.`minor`: 1 ms of pulse, -1e5 Hz/m along x for 1 ms with ramps of 0.1 ms (in the
/// second echo also 5e4 Hz/m along y), then 1e5 Hz/m with 10 samples of 100 us, then 1 ms of nothing. The label LIN counts
/// them.
inline std::string gradient_echo(int minor) {
  Text text(minor);
  text.definitions += "FOV 0.2 0.1 0.005\n";
  int number = 0;
  // Before 1.4 a block states the number of a delay, before 1.3 no extension.
  const auto block = [&](int steps, const char* events, int extension) {
    const bool is_delay = events == std::string("0 0 0 0 0");
    text.blocks += fmt::format("{} {} {}", ++number, minor >= 4 ? steps : is_delay ? 1 : 0, events);
    text.blocks += minor == 2 ? "\n" : fmt::format(" {}\n", extension);
  };
  for (int echo = 0; echo < 2; ++echo) {
    block(100, "1 0 0 0 0", 0);
    block(120, echo == 0 ? "0 1 0 0 0" : "0 1 3 0 0", 0);
    block(120, "0 2 0 0 1", echo + 1);
    block(100, "0 0 0 0 0", 0);
  }
  text.trap = "1 -100000 100 1000 100 0\n2 100000 100 1000 100 0\n3 50000 100 1000 100 0\n";
  if (minor >= 5) {
    text.rf = "1 80 1 2 0 500 0 0 0 0 0 e\n";
    text.adc = "1 10 100000 100 0 0 0 0 0\n";
  } else {
    text.rf = minor == 4 ? "1 80 1 2 0 0 0 0\n" : "1 80 1 2 0 0 0\n";
    text.adc = "1 10 100000 100 0 0\n";
  }
  if (minor < 4) text.delays = "1 1000\n";
  text.shapes = "shape_id 1\nnum_samples 1000\n1\n0\n0\n997\n\nshape_id 2\nnum_samples 1000\n0\n0\n998\n";
  if (minor >= 3)
    text.extensions = "1 1 1 0\n2 2 1 0\nextension LABELSET 1\n1 0 LIN\nextension LABELINC 2\n1 1 LIN\n";
  return text.all();
}

}  // namespace fhd::io::pulseq::tests
