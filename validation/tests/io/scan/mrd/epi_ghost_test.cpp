// Echoes of opposite directions that no flag tells.
#include "io/scan/mrd/epi_ghost.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace fhd::io::mrd {
namespace {

/// Returns [coil][sample] of a bar from `from` to `to` (FOV 1, middle 0), in the order of time.
Array<Complex<double>> echo_of_bar(double from, double to, int samples, bool backwards) {
  Array<Complex<double>> line({2, samples});
  for (int coil = 0; coil < 2; ++coil)
    for (int s = 0; s < samples; ++s) {
      const double k = (backwards ? samples - 1 - s : s) - samples / 2 + (backwards ? 0.4 : 0),
                   half = std::numbers::pi * k * (to - from), turn = std::numbers::pi * k * (to + from);
      const double size = (coil + 1) * (to - from) * (half == 0 ? 1 : std::sin(half) / half);
      line[coil * samples + s] = {size * std::cos(turn), -size * std::sin(turn)};
    }
  return line;
}

TEST(MirrorTest, tells_echoes_read_back_and_forth_but_for_symmetric_objects) {
  for (const int samples : {32, 33})
    for (const bool alternate : {true, false})
      for (const double to : {0.1, 0.3}) {  // 0.3: as far as it reaches to the other side
        MirrorTest test;
        for (int i = 0; i < 3; ++i) test.add(echo_of_bar(-0.3, to, samples, alternate && i % 2 == 1));
        EXPECT_EQ(test.is_likely(), alternate && to < 0.3) << samples << " " << to;
      }
  MirrorTest one;
  one.add(echo_of_bar(-0.3, 0.1, 32, true));
  EXPECT_FALSE(one.is_likely());
}

}  // namespace
}  // namespace fhd::io::mrd
