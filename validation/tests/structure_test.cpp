// The shape of the tree: what may know what, where CUDA may show, how long things may be, what may not
// be left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "validation/tests/source_outline.hpp"

namespace {

namespace fs = std::filesystem;
using fhd::tests::Block;
using fhd::tests::SourceFile;

const std::vector<std::string> rooms{"app", "recon", "io", "data", "validation"};

const std::vector<SourceFile>& sources() {
  static const auto all = [] {
    std::vector<SourceFile> found;
    for (const auto& room : rooms)
      for (const auto& entry : fs::recursive_directory_iterator(fs::path(FHD_SOURCE) / room))
        if (const auto kind = entry.path().extension();
            kind == ".hpp" || kind == ".cpp" || kind == ".cu" || kind == ".cuh")
          found.emplace_back(FHD_SOURCE, fs::relative(entry.path(), FHD_SOURCE).generic_string());
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return found;
  }();
  return all;
}

std::string room_of(const SourceFile& source) { return source.path.substr(0, source.path.find('/')); }
bool is_header(const SourceFile& source) {
  return source.path.ends_with(".hpp") || source.path.ends_with(".cuh");
}

/// A list with one violation a line, for the message of a failed test.
class Violations {
 public:
  void add(const SourceFile& source, int line, const std::string& what) {
    lines_.push_back(source.path + ":" + std::to_string(line) + ": " + what);
  }
  std::size_t count() const { return lines_.size(); }
  friend std::ostream& operator<<(std::ostream& out, const Violations& all) {
    for (const auto& line : all.lines_) out << '\n' << line;
    return out;
  }

 private:
  std::vector<std::string> lines_;
};

/// Calls visit(source, line number, name, quoted) for every #include.
template <class Visit>
void for_each_include(const Visit& visit) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^">]+)[">])");
  for (const auto& source : sources())
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      if (std::smatch match; std::regex_search(source.lines[i], match, pattern))
        visit(source, static_cast<int>(i) + 1, match[2].str(), match[1].str() == "\"");
}

/// Every match of `pattern` in the lines that `view` gives, of the sources that `chosen` accepts.
template <class Chosen>
Violations matches(const std::regex& pattern, std::vector<std::string> SourceFile::*view,
                   const Chosen& chosen) {
  Violations found;
  for (const auto& source : sources()) {
    if (!chosen(source)) continue;
    for (std::size_t i = 0; i < (source.*view).size(); ++i)
      if (std::regex_search((source.*view)[i], pattern))
        found.add(source, static_cast<int>(i) + 1, source.lines[i]);
  }
  return found;
}

TEST(Structure, sources_are_found) { EXPECT_GE(sources().size(), 100u); }

// What a folder may include, beside itself; the longest folder that a file lies in counts. "recon/" is all of
// the library, also its one public header.
const std::map<std::string, std::vector<std::string>> may_include{
    {"recon/error.hpp", {}},
    {"recon/array/", {"recon/error.hpp"}},
    {"recon/domain/", {"recon/array/", "recon/error.hpp"}},
    {"recon/field_map/", {"recon/solve/", "recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"recon/trajectory/", {"recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"recon/transform/", {"recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"recon/encoding/", {"recon/transform/", "recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"recon/solve/", {"recon/domain/", "recon/array/", "recon/error.hpp"}},  // nothing of MRI
    {"recon/coils/",
     {"recon/solve/", "recon/encoding/", "recon/transform/", "recon/domain/", "recon/array/",
      "recon/error.hpp"}},
    {"recon/pipeline/", {"recon/"}},
    {"recon/fhd.hpp", {"recon/"}},
    {"io/", {"recon/error.hpp"}},
    {"io/files/", {"recon/error.hpp"}},  // nothing of MRI
    {"io/hdf5/", {"io/files/", "recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"io/scan/", {"io/hdf5/", "io/files/", "recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"io/result/", {"io/scan/", "io/hdf5/", "io/files/", "recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"io/page/",
     {"io/result/", "io/scan/", "io/hdf5/", "io/files/", "recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"io/reader/",
     {"io/page/", "io/result/", "io/scan/", "io/hdf5/", "io/files/", "recon/domain/", "recon/array/",
      "recon/error.hpp"}},
    {"data/", {"recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"validation/", {"recon/", "io/", "data/"}},
    {"validation/fuzz/", {"recon/", "io/", "app/"}},
    {"validation/tests/", {"recon/", "io/", "data/", "validation/", "app/"}},
    {"app/", {"recon/", "io/", "data/", "validation/"}},
};

TEST(Structure, each_folder_includes_only_what_it_may_know) {
  Violations found;
  for_each_include([&](const SourceFile& source, int line, const std::string& name, bool) {
    if (std::find(rooms.begin(), rooms.end(), name.substr(0, name.find('/'))) == rooms.end()) return;
    auto rule = may_include.end();
    for (auto each = may_include.begin(); each != may_include.end(); ++each)
      if (source.path.starts_with(each->first) &&
          (rule == may_include.end() || each->first.size() > rule->first.size()))
        rule = each;
    if (rule == may_include.end()) return found.add(source, line, "no rule for this folder: see may_include");
    const auto& [own, others] = *rule;
    if (!name.starts_with(own) && std::none_of(others.begin(), others.end(),
                                               [&](const auto& other) { return name.starts_with(other); }))
      found.add(source, line, own + " includes " + name);
  });
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, own_headers_are_included_by_their_path_from_the_root) {
  Violations found;
  for_each_include([&](const SourceFile& source, int line, const std::string& name, bool quoted) {
    if (!quoted || name == "version.hpp" || name.starts_with("hwy/"))
      return;  // generated; Highway's own idiom
    if (!fs::exists(fs::path(FHD_SOURCE) / name)) found.add(source, line, name);
  });
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, the_library_knows_nothing_of_files_terminals_or_formats) {
  const std::vector<std::string> foreign{"CLI",      "fmt/",     "spdlog/",   "nlohmann/", "hdf5",
                                         "H5",       "ismrmrd/", "nifti",     "png.h",     "zlib.h",
                                         "iostream", "fstream",  "filesystem"};
  Violations found;
  for_each_include([&](const SourceFile& source, int line, const std::string& name, bool) {
    if (room_of(source) == "recon" && std::any_of(foreign.begin(), foreign.end(), [&](const auto& prefix) {
          return name.starts_with(prefix);
        }))
      found.add(source, line, name);
  });
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, only_the_program_prints_or_exits) {
  // std::fprintf to a file is io's business; the terminal and the process are not.
  const auto found =
      matches(std::regex(R"(std::(cout|cerr|clog|terminate)\b|\bstderr\b|\bstdout\b|(std::|[^\w:])v?printf\()"
                         R"(|\bputs\(|fmt::print\(|\b(_?exit|quick_exit|_Exit|abort)\()"),
              &SourceFile::code, [](const SourceFile& source) {
                return room_of(source) != "app" && !source.path.starts_with("validation/tests/") &&
                       !source.path.starts_with("io/reader/") &&  // ends processes of its own
                       !source.path.starts_with("validation/studies/");
              });
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, texts_reach_the_terminal_in_one_place) {
  const std::set<std::string> may{"app/terminal/console.cpp", "app/terminal/console.hpp", "app/terminal/event_lines.cpp",
                                  "app/commands/documentation.cpp",  // its text is the program's own
                                  "app/terminal/ending.cpp",              // without memory to make a text
                                  "app/main.cpp"};                        // flushes what CLI11 wrote
  const auto found =
      matches(std::regex(R"(std::(cout|cerr|clog)\b|fmt::print\(|(std::|[^\w:])(v?printf|fprintf|f?puts)\()"),
              &SourceFile::code, [&](const SourceFile& source) {
                return source.path.starts_with("app/") && may.count(source.path) == 0;
              });
  EXPECT_EQ(found.count(), 0u) << found;
}

// Where the library sets a number of threads, and why it may.
const std::map<std::string, std::string> sets_threads{
    {"recon/array/thread_limit.hpp", "of the calling thread, which gets it back"},
    {"recon/array/linear_algebra.cpp", "of OpenBLAS, which has only a number for the process"},
};

TEST(Structure, the_library_leaves_threads_and_settings_of_the_process_alone) {
  const std::regex pattern(
      R"(omp_set_(num_threads|dynamic|nested|max_active_levels|schedule)|set_num_threads|std::signal)"
      R"(|plan_with_nthreads|\b(setenv|putenv|setlocale|sigaction)\()");
  const auto found = matches(pattern, &SourceFile::code, [](const SourceFile& source) {
    return room_of(source) == "recon" && !sets_threads.count(source.path);
  });
  EXPECT_EQ(found.count(), 0u) << found;
}

/// CLI::Range lets NaN through, and what is made of it has no meaning.
TEST(Structure, ranges_of_numbers_are_those_that_refuse_nan) {
  const auto found = matches(std::regex(R"(CLI::(Range|PositiveNumber|NonNegativeNumber|Bound)\b)"), &SourceFile::code,
                             [](const SourceFile& source) { return room_of(source) == "app"; });
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, cuda_shows_in_at_most_three_headers) {
  std::vector<std::string> headers;
  const std::regex pattern(R"(^\s*#.*\b__CUDACC__\b)");
  for (const auto& source : sources()) {
    if (std::none_of(source.lines.begin(), source.lines.end(),
                     [&](const std::string& line) { return std::regex_search(line, pattern); }))
      continue;
    EXPECT_TRUE(is_header(source)) << source.path;
    headers.push_back(source.path);
  }
  EXPECT_LE(headers.size(), 3u) << ::testing::PrintToString(headers);
}

TEST(Structure, no_file_stands_in_for_a_missing_backend) {
  Violations found;
  for (const auto& source : sources())
    if (source.path.find("_no_cuda") != std::string::npos)
      found.add(source, 1, "a stub: branch with `if constexpr (built_with_cuda)` instead");
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, std_complex_stays_out_of_device_code) {
  const auto found = matches(std::regex("std::complex"), &SourceFile::lines, [](const SourceFile& source) {
    return source.path.ends_with(".cu") || source.path.ends_with(".cuh");
  });
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, every_header_has_pragma_once) {
  for (const auto& source : sources()) {
    if (!is_header(source)) continue;
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
  const auto found = matches(pattern, &SourceFile::lines, [](const SourceFile&) { return true; });
  EXPECT_EQ(found.count(), 0u) << found;
}

// Longer than the limit, each with its reason; at most five.
const std::map<std::string, std::string> long_functions{
    {"recon/transform/direct/direct_cuda.cu: forward_tile_kernel",
     "a kernel whose registers are shared by all its parts"}};

TEST(Structure, no_function_is_longer_than_60_lines) {
  EXPECT_LE(long_functions.size(), 5u);
  Violations found;
  std::size_t excused = 0;
  for (const auto& source : sources())
    for (const Block& block : source.blocks()) {
      if (block.kind != Block::Kind::function || block.lines() <= 60) continue;
      if (long_functions.count(source.path + ": " + block.name))
        ++excused;
      else
        found.add(source, block.first_line, block.name + ", " + std::to_string(block.lines()) + " lines");
    }
  EXPECT_EQ(found.count(), 0u) << found;
  EXPECT_EQ(excused, long_functions.size()) << "an exception that is none";
}

TEST(Structure, no_class_is_longer_than_300_lines) {
  Violations found;
  for (const auto& source : sources())
    for (const Block& block : source.blocks())
      if (block.kind == Block::Kind::type && block.lines() > 300)
        found.add(source, block.first_line, block.name + ", " + std::to_string(block.lines()) + " lines");
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, no_file_is_longer_than_600_lines) {
  Violations found;
  for (const auto& source : sources())
    if (source.lines.size() > 600) found.add(source, 1, std::to_string(source.lines.size()) + " lines");
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, nothing_nests_deeper_than_four) {
  Violations found;
  for (const auto& source : sources())
    for (const Block& block : source.blocks())
      if (block.kind == Block::Kind::function && block.nesting > 4)
        found.add(source, block.deepest_line,
                  block.name + " nests " + std::to_string(block.nesting) + " deep");
  EXPECT_EQ(found.count(), 0u) << found;
}

/// What the scanner is relied on to see.
TEST(Structure, the_scanner_sees_functions_types_and_nesting) {
  const SourceFile source("example.cpp", std::vector<std::string>{
                                             "namespace a {",                                      // 1
                                             "struct B : C<int> {",                                // 2
                                             "  B(int x) : x_{x}, y_{1} {",                        // 3
                                             "    if (x) for (;;) { f(\"}{\"); } // {",            // 4
                                             "  }",                                                // 5
                                             "  int x_{0}, y_ = R\"(}})\"[0];",                    // 6
                                             "};",                                                 // 7
                                             "template <class T>",                                 // 8
                                             "enum E f(T t = {1}) {",                              // 9
                                             "  std::sort(t, [&](auto c) { if (c) return 1'000;",  // 10
                                             "  });",                                              // 11
                                             "  return '{' + g{};",                                // 12
                                             "}",                                                  // 13
                                             "const int table[] = {1, 2};",                        // 14
                                             "}",                                                  // 15
                                         });
  std::vector<std::string> seen;
  for (const Block& block : source.blocks())
    seen.push_back(std::string(block.kind == Block::Kind::type ? "type " : "function ") + block.name + " " +
                   std::to_string(block.first_line) + "-" + std::to_string(block.last_line) + " nests " +
                   std::to_string(block.nesting));
  EXPECT_EQ(seen, (std::vector<std::string>{"function B 3-5 nests 2", "type B 2-7 nests 0",
                                            "function f 8-13 nests 1"}));
}

}  // namespace
