// The shape of the tree: what may know what, how long functions and files may be, how comments begin.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> rooms{"app", "recon", "io", "data", "validation"};

struct SourceFile {
  std::string path;                ///< from the root, with '/'
  std::vector<std::string> lines;  ///< as they are
  std::vector<std::string> code;   ///< without comments and the texts in quotes

  bool is_in(const std::string& folder) const { return path.starts_with(folder + "/"); }
};

/// Removes "...", '.' and // from a line.
std::string code_of(const std::string& line) {
  std::string code;
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (is_quoted && line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      is_quoted = !is_quoted;
    else if (!is_quoted && line[i] == '\'' && i + 2 < line.size() && line[i + 2] == '\'')
      i += 2;
    else if (!is_quoted && line.compare(i, 2, "//") == 0)
      break;
    else if (!is_quoted)
      code += line[i];
  }
  return code;
}

const std::vector<SourceFile>& sources() {
  static const auto all = [] {
    std::vector<SourceFile> found;
    const std::set<std::string> kinds{".hpp", ".cpp", ".cu", ".cuh"};
    for (const auto& room : rooms)
      for (const auto& entry : fs::recursive_directory_iterator(fs::path(FHD_SOURCE) / room)) {
        if (!kinds.count(entry.path().extension().string())) continue;
        auto& source = found.emplace_back();
        source.path = fs::relative(entry.path(), FHD_SOURCE).generic_string();
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) {
          source.code.push_back(code_of(line));
          source.lines.push_back(std::move(line));
        }
      }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return found;
  }();
  return all;
}

/// A list with one violation a line, for the message of a failed test.
class Violations {
 public:
  void add(const SourceFile& source, std::size_t line, const std::string& what) {
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

/// Calls visit(source, line number, name) for every #include.
template <class Visit>
void for_each_include(const Visit& visit) {
  static const std::regex pattern(R"(^\s*#\s*include\s*[<"]([^">]+)[">])");
  for (const auto& source : sources())
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      if (std::smatch match; std::regex_search(source.lines[i], match, pattern))
        visit(source, i + 1, match[1].str());
}

/// Returns the lines of code that match, of the sources that `is_chosen` accepts.
Violations matches(const std::string& pattern, const std::function<bool(const SourceFile&)>& is_chosen) {
  const std::regex expression(pattern);
  Violations found;
  for (const auto& source : sources())
    for (std::size_t i = 0; is_chosen(source) && i < source.code.size(); ++i)
      if (std::regex_search(source.code[i], expression)) found.add(source, i + 1, source.lines[i]);
  return found;
}

// The folders that a folder may include, beside itself; the longest folder that a file lies in counts. "recon/" is all
// of the library.
const std::map<std::string, std::vector<std::string>> may_include{
    {"recon/error.hpp", {}},
    {"recon/domain/option_words.hpp", {}},
    {"recon/array/", {"recon/domain/option_words.hpp", "recon/error.hpp"}},
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
    {"io/", {"recon/error.hpp"}},
    {"io/files/", {"recon/domain/option_words.hpp", "recon/error.hpp"}},  // nothing of MRI
    {"io/hdf5/", {"io/files/", "recon/domain/", "recon/array/", "recon/error.hpp"}},
    {"io/scan/",
     {"io/hdf5/", "io/files/", "recon/trajectory/", "recon/domain/", "recon/array/", "recon/error.hpp"}},
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
  for_each_include([&](const SourceFile& source, std::size_t line, const std::string& name) {
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

TEST(Structure, the_library_knows_nothing_of_files_terminals_or_formats) {
  const std::vector<std::string> foreign{"CLI",      "fmt/",     "spdlog/",   "nlohmann/", "hdf5",
                                         "H5",       "ismrmrd/", "nifti",     "png.h",     "zlib.h",
                                         "iostream", "fstream",  "filesystem"};
  Violations found;
  for_each_include([&](const SourceFile& source, std::size_t line, const std::string& name) {
    const auto is_prefix = [&](const auto& prefix) { return name.starts_with(prefix); };
    if (source.is_in("recon") && std::any_of(foreign.begin(), foreign.end(), is_prefix))
      found.add(source, line, name);
  });
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, only_the_program_prints_or_exits) {
  // std::fprintf to a file is the business of io; the terminal and the process are not.
  const auto found =
      matches(R"(std::(cout|cerr|clog|terminate)\b|\bstderr\b|\bstdout\b|(std::|[^\w:])v?printf\()"
              R"(|\bputs\(|fmt::print\(|\b(_?exit|quick_exit|_Exit|abort)\()",
              [](const SourceFile& source) {
                return !source.is_in("app") && !source.is_in("validation/tests") &&
                       !source.is_in("validation/studies") &&
                       !source.is_in("io/reader");  // ends processes of its own
              });
  EXPECT_EQ(found.count(), 0u) << found;
}

// Where the program prints; texts of others are made printable there.
const std::set<std::string> prints{"app/terminal/console.cpp",     "app/terminal/console.hpp",
                                   "app/terminal/event_lines.cpp", "app/commands/documentation.cpp",
                                   "app/terminal/ending.cpp",      "app/main.cpp"};

TEST(Structure, texts_reach_the_terminal_in_one_place) {
  const auto found =
      matches(R"(std::(cout|cerr|clog)\b|fmt::print\(|(std::|[^\w:])(v?printf|fprintf|f?puts)\()",
              [](const SourceFile& source) { return source.is_in("app") && !prints.count(source.path); });
  EXPECT_EQ(found.count(), 0u) << found;
}

// Where the library sets a number of threads: of the calling thread, which gets it back, and of OpenBLAS, which has only
// a number for the process.
const std::set<std::string> sets_threads{"recon/array/thread_limit.hpp", "recon/array/linear_algebra.cpp"};

TEST(Structure, the_library_leaves_threads_and_settings_of_the_process_alone) {
  const auto found = matches(
      R"(omp_set_(num_threads|dynamic|nested|max_active_levels|schedule)|set_num_threads|std::signal)"
      R"(|plan_with_nthreads|\b(setenv|putenv|setlocale|sigaction)\()",
      [](const SourceFile& source) { return source.is_in("recon") && !sets_threads.count(source.path); });
  EXPECT_EQ(found.count(), 0u) << found;
}

/// CLI::Range lets NaN through.
TEST(Structure, ranges_of_numbers_are_those_that_refuse_nan) {
  const auto found = matches(R"(CLI::(Range|PositiveNumber|NonNegativeNumber|Bound)\b)",
                             [](const SourceFile& source) { return source.is_in("app"); });
  EXPECT_EQ(found.count(), 0u) << found;
}

/// nvcc 13.0 dropped a multiplication of std::complex.
TEST(Structure, std_complex_stays_out_of_device_code) {
  const auto found = matches("std::complex", [](const SourceFile& source) {
    return source.path.ends_with(".cu") || source.path.ends_with(".cuh");
  });
  EXPECT_EQ(found.count(), 0u) << found;
}

// Longer than the limit, each with its reason.
const std::map<std::string, std::string> long_functions{
    {"recon/transform/direct/direct_cuda.cu", "a kernel whose registers are shared by all its parts"}};

/// Calls visit(first line, last line) for every function: a block behind parameters, within nothing but namespaces and types.
void for_each_function(const SourceFile& source, const std::function<void(std::size_t, std::size_t)>& visit) {
  struct Block {
    bool holds_functions, is_function;
    std::size_t line;
  };
  const std::regex scope(R"(\b(namespace|class|struct|union|extern)\b[^()=]*$)"), variable("[^-]> ?\\w+ *$");
  std::vector<Block> open;
  std::string head;  // of the block or statement that is being read
  std::size_t first = 0;
  for (std::size_t i = 0; i < source.code.size(); ++i) {
    if (source.code[i].starts_with("#")) continue;
    for (const char c : source.code[i]) {
      if (c == '{') {
        const bool outside = open.empty() || open.back().holds_functions,
                   is_scope = std::regex_search(head, scope);
        const bool is_function =
            outside && !is_scope && head.find(')') != std::string::npos && !std::regex_search(head, variable);
        open.push_back({outside && is_scope, is_function, first + 1});
      }
      if (c == '}' && !open.empty()) {
        if (open.back().is_function) visit(open.back().line, i + 1);
        open.pop_back();
      }
      if (c == '{' || c == '}' || c == ';')
        head.clear();
      else if (c != ' ' || !head.empty()) {
        if (head.empty()) first = i;
        head += c;
      }
    }
    if (!head.empty()) head += ' ';
  }
}

TEST(Structure, no_function_is_longer_than_60_lines) {
  Violations found;
  for (const auto& source : sources())
    if (!long_functions.count(source.path))
      for_each_function(source, [&](std::size_t first, std::size_t last) {
        if (last - first >= 60) found.add(source, first, std::to_string(last - first + 1) + " lines");
      });
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, no_file_is_longer_than_600_lines) {
  Violations found;
  for (const auto& source : sources())
    if (source.lines.size() > 600) found.add(source, 1, std::to_string(source.lines.size()) + " lines");
  EXPECT_EQ(found.count(), 0u) << found;
}

TEST(Structure, comments_are_sentences_without_metaphors) {
  const std::regex comment(R"(^\s*///? ?(.*))"),
      fragment("^(Of|Those|That|As|By|What|Whether|Whose|The same)\\b"),
      metaphor("\\b([Cc]rews?|[Ee]xhibits?|bury|buried)\\b");
  Violations found;
  for (const auto& source : sources()) {
    bool continues = false;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      std::smatch match;
      const bool is_comment = std::regex_match(source.lines[i], match, comment);
      const std::string text = is_comment ? match[1].str() : "";
      if (is_comment &&
          ((!continues && std::regex_search(text, fragment)) || std::regex_search(text, metaphor)))
        found.add(source, i + 1, text);
      continues = is_comment;
    }
  }
  EXPECT_EQ(found.count(), 0u) << found;
}

}  // namespace
