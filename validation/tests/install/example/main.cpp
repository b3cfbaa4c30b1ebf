// example FOLDER SAMPLES COILS N: reconstructs the BART pairs scan, scan_traj and scan_sens of a folder on N x N voxels.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fhd/fhd.hpp>
#include <fstream>
#include <string>

using Values = fhd::Array<fhd::Complex<float>>;

Values read(const std::string& path, fhd::Shape shape) {
  Values values(shape);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(values.data()), 8 * values.size()))
    throw fhd::Error(path, shape.text() + " complex values", "fewer");
  return values;
}

int main(int, char** argument) try {
  const std::string scan_path = std::string(argument[1]) + "/scan";
  const int samples = std::atoi(argument[2]), coils = std::atoi(argument[3]), n = std::atoi(argument[4]);
  const Values k = read(scan_path + "_traj.cfl", {samples, 3});
  fhd::Array<double> positions({samples, 3});  // cycles/FOV
  for (int i = 0; i < positions.size(); ++i) positions[i] = k[i].re;

  fhd::Scan scan = fhd::scan_of(read(scan_path + ".cfl", {coils, samples}), positions, {n, n, 1});
  scan.sensitivity_maps = {read(scan_path + "_sens.cfl", {coils, 1, n, n})};
  const auto [image, report, gridded, diagnostic_images, prepared] = fhd::reconstruct_and_verify(scan);

  for (const auto& message : report.messages)
    std::printf("%s: %s\n", fhd::name_of(message.severity).data(), fhd::line_of(message).c_str());
  std::printf("accuracy %s; %s\n", report.certificate->passed ? "as asked" : "too low",
              report.verdict->sentence.c_str());
  std::ofstream(scan_path + ".image", std::ios::binary)
      .write(reinterpret_cast<const char*>(image.values.data()), 8 * image.values.size());
} catch (const std::exception& error) {
  std::fprintf(stderr, "example: %s\n", error.what());
  return 1;
}
