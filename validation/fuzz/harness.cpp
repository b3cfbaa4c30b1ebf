#include "validation/fuzz/harness.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "io/files/input_memory.hpp"

namespace fhd::fuzz {

namespace fs = std::filesystem;

Folder::Folder() {
  const char* const chosen = std::getenv("TMPDIR");
  const fs::path in_memory = "/dev/shm";
  const fs::path base = chosen                  ? fs::path(chosen)
                        : fs::exists(in_memory) ? in_memory
                                                : fs::temp_directory_path();
  std::string pattern = (base / "fhd-fuzz-XXXXXX").string();
  require(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Folder::write(std::string_view name, Bytes bytes) const {
  std::ofstream out(file(name), std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void Folder::clear() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored)) fs::remove_all(entry.path(), ignored);
}

// Another file for each input: libhdf5 takes one of the same inode that it has left open for the same content.
InputFile::InputFile(Bytes bytes) {
  static const Folder folder;
  io::set_input_memory(std::uint64_t{1} << 30);  // as in a reader process
  folder.write("input", bytes);
  path_ = folder.file("input");
}

InputFile::~InputFile() { ::unlink(path_.c_str()); }

std::vector<Part> parts_of(Bytes input, std::size_t names) {
  std::vector<Part> parts;
  constexpr std::size_t head = 4;
  while (input.size() >= head) {
    const std::size_t stated = input[1] | std::size_t{input[2]} << 8 | std::size_t{input[3]} << 16;
    const auto number = input[0] % names;
    input = input.subspan(head);
    const auto length = std::min(stated, input.size());
    parts.push_back({number, input.first(length)});
    input = input.subspan(length);
  }
  return parts;
}

namespace {

void read_volumes(const std::string& path, const io::ReadOptions& options) {
  const auto file = io::open_scan(path, options);
  const auto& summary = file->summary();
  constexpr double most_values = 1 << 20;
  const auto& n = summary.geometry.matrix_size;
  const double maps = double(n[0]) * n[1] * n[2];
  if (static_cast<double>(summary.coil_count) * (static_cast<double>(summary.samples_per_scan) + maps) >
      most_values)
    return;
  const auto read = [&](std::int64_t slice, std::int64_t repetition) {
    const auto scan = file->read(slice, repetition);
    scan.validate(path);  // what a reader gives is valid
  };
  read(0, 0);
  succeeds([&] { read(summary.slice_count - 1, summary.repetition_count - 1); });
}

}  // namespace

void read_scan(const std::string& path) {
  succeeds([&] { read_volumes(path, {}); });
  io::ReadOptions told;
  told.matrix_size = {6, 6, 1};
  told.fov_mm = {200, 200, 0};
  told.trajectory_unit = io::TrajectoryUnit::cycles_per_fov;
  told.precision = Precision::double_precision;
  told.zeros_are_measured = true;
  succeeds([&] { read_volumes(path, told); });
}

}  // namespace fhd::fuzz
