// A gridded transform of fhd that a script measures in turns with other libraries' (gridding_beside_peers):
//
//     gridded_turns FOLDER NX NY NZ COILS ACCURACY
//
// FOLDER holds trajectory.bin (double, [3][sample], columns x, y, z, cycles/FOV), samples.bin (complex64,
// [coil][sample]) and images.bin (complex64, [coil][z][y][x]). For every line of the standard input (plan, adjoint,
// forward) it does that once, as many threads as OMP_NUM_THREADS says, and prints the seconds. At the end of the input
// it writes the last results, adjoint.bin and forward.bin.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include "recon/domain/scan.hpp"
#include "recon/error.hpp"
#include "recon/transform/transform.hpp"

namespace {

using fhd::Array;
using fhd::Complex;

template <class T>
void read(const std::string& path, T* to, std::int64_t count) {
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(to), count * static_cast<std::int64_t>(sizeof(T))))
    throw fhd::Error(path, std::to_string(count) + " numbers", "fewer");
}
void write(const std::string& path, const Array<Complex<float>>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()), values.size() * 8);
  if (!file) throw fhd::Error(path, "a file that can be written", "none");
}

void serve(const std::string& folder, std::array<int, 3> size, std::int64_t coils, double accuracy) {
  std::ifstream file(folder + "/trajectory.bin", std::ios::binary | std::ios::ate);
  const std::int64_t count = static_cast<std::int64_t>(file.tellg()) / 24;
  fhd::Trajectory trajectory;
  trajectory.k = Array<double>(fhd::Shape{3, count});
  read(folder + "/trajectory.bin", trajectory.k.data(), 3 * count);
  const auto make = [&] {
    return fhd::make_gridded_transform<float>(trajectory, size, accuracy, fhd::Device::cpu());
  };
  auto transform = make();
  Array<Complex<float>> samples(transform->samples_shape(coils)), images(transform->images_shape(coils)),
      gridded(transform->images_shape(coils)), predicted(transform->samples_shape(coils));
  read(folder + "/samples.bin", samples.data(), samples.size());
  read(folder + "/images.bin", images.data(), images.size());
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = std::chrono::steady_clock::now();
    if (line == "plan")
      transform = make();
    else if (line == "adjoint")
      transform->adjoint(samples, gridded);
    else
      transform->forward(images, predicted);
    std::printf("%.9f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    std::fflush(stdout);
  }
  write(folder + "/adjoint.bin", gridded);
  write(folder + "/forward.bin", predicted);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return std::fprintf(stderr, "gridded_turns FOLDER NX NY NZ COILS ACCURACY\n"), 2;
  try {
    serve(argv[1], {std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])}, std::atoi(argv[5]),
          std::atof(argv[6]));
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "gridded_turns: %s\n", error.what()), 1;
  }
}
