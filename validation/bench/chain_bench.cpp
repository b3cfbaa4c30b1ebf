#include "validation/bench/chain_bench.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "recon/error.hpp"

namespace fhd {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

double seconds_from(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// One volume: options of `fhd simulate`.
Words volume(int dimensions, int matrix, const char* trajectory, int coils, int readouts, int samples,
             bool maps) {
  Words words{"--dimensions",      std::to_string(dimensions),
              "--matrix",          std::to_string(matrix),
              "--trajectory",      trajectory,
              "--coils",           std::to_string(coils),
              "--readouts",        std::to_string(readouts),
              "--readout-samples", std::to_string(samples)};
  if (!maps) words.push_back("--no-maps");
  return words;
}

ChainCase single(int dimensions, int matrix, const char* trajectory, int coils, int readouts, int samples,
                 bool maps) {
  return {fmt::format("{}^{}, {} coil{}{}, {} samples", matrix, dimensions, coils, coils == 1 ? "" : "s",
                      maps || coils == 1 ? "" : " without maps", readouts * samples),
          volume(dimensions, matrix, trajectory, coils, readouts, samples, maps)};
}

ChainCase series(int frames, int matrix, int readouts) {
  ChainCase made{fmt::format("{} frames of {}^2, 8 coils without maps", frames, matrix),
                 volume(2, matrix, "golden-radial", 8, readouts, 2 * matrix, false)};
  made.simulate.insert(made.simulate.end(), {"--repetitions", std::to_string(frames)});
  made.frames = frames;
  return made;
}

ChainCase batch_of(int scans, int matrix, int readouts) {
  return {fmt::format("batch of {} scans of {}^2, 8 coils", scans, matrix),
          volume(2, matrix, "golden-radial", 8, readouts, 2 * matrix, true), scans};
}

/// The last line of a file that is not empty.
std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  return last;
}

/// Seconds that `words` take; what they print goes to files in `folder`.
double run_process(const Words& words, const std::string& folder) {
  const auto log = (fs::path(folder) / "printed.txt").string();
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const auto begin = std::chrono::steady_clock::now();
  pid_t process = -1;
  const int error = posix_spawn(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Error(words[0], "a program that runs", std::strerror(error));
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  const double seconds = seconds_from(begin);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(fmt::format("fhd {}", fmt::join(words.begin() + 1, words.end(), " ")), "success",
                last_line(log));
  return seconds;
}

double bytes_in(const fs::path& place) {
  if (!fs::is_directory(place)) return static_cast<double>(fs::file_size(place));
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(place))
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  return bytes;
}

using Spans = std::vector<std::pair<double, double>>;  // begin, end

/// Returns the time that all spans cover together, each moment counted once.
double length_of_union(Spans spans) {
  std::sort(spans.begin(), spans.end());
  double length = 0, end = -1e300;
  for (const auto& [from, to] : spans) {
    length += std::max(0.0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return length;
}

}  // namespace

std::vector<ChainCase> chain_cases(bool quick) {
  if (quick)
    return {single(3, 48, "radial-3d", 1, 144, 96, true),
            single(3, 48, "phyllotaxis-3d", 8, 586, 96, false),
            single(3, 64, "phyllotaxis-3d", 8, 512, 128, false),
            single(2, 256, "golden-radial", 8, 201, 512, false),
            series(20, 128, 88),
            batch_of(60, 128, 201),
            single(2, 128, "golden-radial", 8, 88, 256, true),
            single(2, 32, "golden-radial", 1, 51, 64, true)};
  return {single(3, 128, "radial-3d", 1, 576, 256, true),
          single(3, 128, "phyllotaxis-3d", 16, 1562, 256, false),
          single(3, 256, "phyllotaxis-3d", 16, 2048, 512, false),
          single(2, 256, "golden-radial", 8, 201, 512, false),
          series(200, 128, 88),
          series(2000, 128, 88),
          batch_of(200, 128, 201),
          single(2, 128, "golden-radial", 8, 88, 256, true)};
}

ChainRow row_of_timeline(const std::string& path) {
  std::ifstream file(path);
  const auto events = nlohmann::json::parse(file, nullptr, false);
  if (!events.is_array()) throw Error(path, "a timeline of fhd --trace", "another file");
  ChainRow row;
  Spans stages;
  std::map<std::string, double> seconds_of;
  std::map<std::int64_t, Spans> of_device;
  for (const auto& event : events) {
    if (event.value("ph", "") != "X") continue;
    const double begin = 1e-6 * event.at("ts").get<double>(), length = 1e-6 * event.at("dur").get<double>();
    const auto category = event.at("cat").get<std::string>();
    if (category == "stage") {
      stages.emplace_back(begin, begin + length);
      seconds_of[event.at("name")] += length;
      row.stages_s += length;
    } else if (category == "device") {
      of_device[event.at("tid")].emplace_back(begin, begin + length);
    } else if (category == "command") {
      row.wall_s = std::max(row.wall_s, length);
    }
  }
  row.outside_s = std::max(0.0, row.wall_s - length_of_union(stages));
  for (const auto& [device, spans] : of_device)
    row.device_s += length_of_union(spans) / static_cast<double>(of_device.size());
  row.devices = static_cast<int>(of_device.size());
  row.largest.assign(seconds_of.begin(), seconds_of.end());
  std::stable_sort(row.largest.begin(), row.largest.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (row.largest.size() > 3) row.largest.resize(3);
  return row;
}

ChainRow run_chain_case(const ChainCase& what, const ChainSettings& settings) {
  const fs::path folder = settings.folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  Words make{settings.program, "simulate", "-o", at("scan")};
  make.insert(make.end(), what.simulate.begin(), what.simulate.end());
  run_process(make, settings.folder);
  fs::create_directory(folder / "scans");
  for (std::int64_t i = 1; i < what.scans; ++i)
    fs::copy_file(folder / "scan.h5", folder / "scans" / fmt::format("s{}.h5", i));
  const fs::path first = folder / "scans" / "s0.h5", results = folder / "results";
  fs::rename(folder / "scan.h5", first);
  Words run{settings.program,
            what.scans > 1 ? "batch" : "recon",
            what.scans > 1 ? at("scans") : first.string(),
            "-o",
            what.scans > 1 ? results.string() : (results / "image").string(),
            "--quiet",
            "--device",
            settings.device,
            "--cache",
            what.scans > 1 ? at("cache") : "off"};
  fs::create_directory(results);
  run_process(run, settings.folder);
  fs::remove_all(results);
  fs::create_directory(results);
  run.insert(run.end(), {"--trace", at("trace.json")});
  const double wall_s = run_process(run, settings.folder);
  ChainRow row = row_of_timeline(at("trace.json"));
  row.outside_s += wall_s - row.wall_s;
  row.wall_s = wall_s;
  row.bytes_read = bytes_in(folder / "scans");
  row.bytes_written = bytes_in(results);
  row.images_per_s = static_cast<double>(what.scans * what.frames) / wall_s;
  for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
  return row;
}

FileRates measure_file_rates(const std::string& folder) {
  const auto path = (fs::path(folder) / "rate").string();
  std::vector<char> block(1 << 20, 1);
  constexpr int blocks = 128;
  FileRates rates;
  const double bytes = static_cast<double>(block.size()) * blocks;
  auto begin = std::chrono::steady_clock::now();
  {
    std::ofstream file(path, std::ios::binary);
    for (int i = 0; i < blocks; ++i) file.write(block.data(), static_cast<std::streamsize>(block.size()));
    if (!file.flush()) throw Error(path, "room for 128 MiB", "a write that fails", "choose another --folder");
  }
  rates.write = bytes / seconds_from(begin);
  begin = std::chrono::steady_clock::now();
  {
    std::ifstream file(path, std::ios::binary);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size()))) {
    }
  }
  rates.read = bytes / seconds_from(begin);
  fs::remove(path);
  return rates;
}

}  // namespace fhd
