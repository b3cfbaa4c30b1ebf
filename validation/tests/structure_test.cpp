// The shape of the tree: what may know what, where CUDA may show, what may not be left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Source {
  std::string path;  // relative to the project, with '/'
  std::vector<std::string> lines;
  std::string room() const { return path.substr(0, path.find('/')); }
  bool is_header() const { return path.ends_with(".hpp") || path.ends_with(".cuh"); }
};

const std::vector<std::string> rooms{"app", "recon", "io", "data", "validation"};

const std::vector<Source>& sources() {
  static const auto all = [] {
    std::vector<Source> found;
    for (const auto& room : rooms)
      for (const auto& entry : fs::recursive_directory_iterator(fs::path(FHD_SOURCE) / room)) {
        const auto extension = entry.path().extension().string();
        if (extension != ".hpp" && extension != ".cpp" && extension != ".cu" && extension != ".cuh") continue;
        Source source{fs::relative(entry.path(), FHD_SOURCE).generic_string(), {}};
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) source.lines.push_back(line);
        found.push_back(std::move(source));
      }
    return found;
  }();
  return all;
}

std::string where(const Source& source, std::size_t line) {
  return source.path + ":" + std::to_string(line + 1);
}

/// Calls visit(source, line number, name, quoted) for every #include.
template <class Visit>
void for_each_include(const Visit& visit) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^">]+)[">])");
  for (const auto& source : sources())
    for (std::size_t line = 0; line < source.lines.size(); ++line)
      if (std::smatch match; std::regex_search(source.lines[line], match, pattern))
        visit(source, line, match[2].str(), match[1].str() == "\"");
}

TEST(Structure, sources_are_found) { EXPECT_GE(sources().size(), 20u); }

TEST(Structure, each_room_includes_only_what_it_may_know) {
  // Of the library: arrays, domain types, and the interface of the cache that io/ implements.
  const std::vector<std::string> arrays_and_types{"recon/array/", "recon/domain/scan.hpp", "recon/domain/report.hpp",
                                                  "recon/error.hpp", "recon/domain/trajectory_cache.hpp"};
  const auto with = [&](const char* own) {
    auto list = arrays_and_types;
    list.emplace_back(own);
    return list;
  };
  const std::map<std::string, std::vector<std::string>> allowed{
      {"recon", {"recon/"}},
      {"io", with("io/")},
      {"data", with("data/")},
      {"validation", {"recon/", "io/", "data/", "validation/"}},
      {"app", {"recon/", "io/", "data/", "validation/", "app/"}}};
  for_each_include([&](const Source& source, std::size_t line, const std::string& name, bool) {
    const auto room = name.substr(0, name.find('/'));
    if (std::find(rooms.begin(), rooms.end(), room) == rooms.end()) return;
    const auto& prefixes = allowed.at(source.room());
    EXPECT_TRUE(
        std::any_of(prefixes.begin(), prefixes.end(), [&](const auto& p) { return name.starts_with(p); }))
        << where(source, line) << " includes " << name;
  });
}

TEST(Structure, own_headers_are_included_by_their_path_from_the_root) {
  for_each_include([](const Source& source, std::size_t line, const std::string& name, bool quoted) {
    if (!quoted || name == "version.hpp" || name.starts_with("hwy/"))
      return;  // generated; Highway's own idiom
    const auto root = fs::path(FHD_SOURCE);
    const bool beside_a_test =
        source.path.starts_with("validation/tests/") && fs::exists(root / "validation/tests" / name);
    EXPECT_TRUE(beside_a_test || fs::exists(root / name))
        << where(source, line) << " includes \"" << name << '"';
  });
}

TEST(Structure, the_library_knows_nothing_of_files_terminals_or_formats) {
  const std::vector<std::string> foreign{"CLI",      "fmt/",     "spdlog/",   "nlohmann/", "hdf5",
                                         "H5",       "ismrmrd/", "nifti",     "png.h",     "zlib.h",
                                         "iostream", "fstream",  "filesystem"};
  for_each_include([&](const Source& source, std::size_t line, const std::string& name, bool) {
    if (source.room() != "recon") return;
    for (const auto& prefix : foreign)
      EXPECT_FALSE(name.starts_with(prefix)) << where(source, line) << " includes " << name;
  });
}

TEST(Structure, only_the_program_prints_or_exits) {
  // std::fprintf to a file is io's business; the terminal and the process are not.
  const std::regex pattern(
      R"(std::cout|std::cerr|\bstderr\b|\bstdout\b|(std::|\s)printf\(|fmt::print\(|\bexit\(|\babort\()");
  for (const auto& source : sources()) {
    if (source.room() == "app" || source.path.starts_with("validation/tests/") ||
        source.path.starts_with("validation/benchmarks/"))
      continue;
    for (std::size_t line = 0; line < source.lines.size(); ++line)
      EXPECT_FALSE(std::regex_search(source.lines[line], pattern))
          << where(source, line) << ": " << source.lines[line];
  }
}

TEST(Structure, cuda_shows_in_at_most_three_headers) {
  std::vector<std::string> headers;
  for (const auto& source : sources()) {
    const bool shows = std::any_of(source.lines.begin(), source.lines.end(), [](const std::string& line) {
      return std::regex_search(line, std::regex(R"(^\s*#.*\b__CUDACC__\b)"));
    });
    if (!shows) continue;
    EXPECT_TRUE(source.is_header()) << source.path;
    headers.push_back(source.path);
  }
  EXPECT_LE(headers.size(), 3u) << ::testing::PrintToString(headers);
}

TEST(Structure, std_complex_stays_out_of_device_code) {
  for (const auto& source : sources()) {
    if (!source.path.ends_with(".cu") && !source.path.ends_with(".cuh")) continue;
    for (std::size_t line = 0; line < source.lines.size(); ++line)
      EXPECT_EQ(source.lines[line].find("std::complex"), std::string::npos) << where(source, line);
  }
}

TEST(Structure, every_header_has_pragma_once) {
  for (const auto& source : sources()) {
    if (!source.is_header()) continue;
    EXPECT_NE(std::find(source.lines.begin(), source.lines.end(), "#pragma once"), source.lines.end())
        << source.path;
  }
}

TEST(Structure, nothing_is_left_for_later) {
  const std::regex pattern(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X|HA"
      "CK)\\b");  // split, so as not to find itself
  for (const auto& source : sources())
    for (std::size_t line = 0; line < source.lines.size(); ++line)
      EXPECT_FALSE(std::regex_search(source.lines[line], pattern))
          << where(source, line) << ": " << source.lines[line];
}

}  // namespace
