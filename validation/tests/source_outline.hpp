#pragma once
// Sources as structure_test reads them: code without comments and literals, the text within these, and the
// outline of types and functions. A reader of the style of this project, not a compiler.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fhd::tests {

struct Block {
  enum class Kind { type, function };
  Kind kind = Kind::function;
  std::string name;
  int first_line = 0,
      last_line = 0;  ///< counted from 1; from the first word of its head, `template` included
  int nesting = 0;    ///< of if, for, while, do, switch, try and catch in a function
  int deepest_line = 0;
  int lines() const { return last_line - first_line + 1; }
};

/// Finds types and functions. A lambda belongs to the function around it, a type within a function likewise;
/// a method is a function of its own.
class Outline {
 public:
  explicit Outline(const std::vector<std::string>& code) {
    bool directive = false;
    for (std::size_t i = 0; i < code.size(); ++i) {
      const auto start = code[i].find_first_not_of(" \t");
      if (!directive) directive = start != std::string::npos && code[i][start] == '#';
      if (!directive) split(code[i], static_cast<int>(i) + 1);
      directive = directive && code[i].ends_with('\\');
    }
    while (!ended()) {
      declarations();
      if (!ended()) ++at_;  // a brace that closes nothing
    }
  }
  std::vector<Block> blocks;

 private:
  struct Token {
    std::string text;
    int line = 0;
  };
  using Head = std::vector<Token>;

  static bool is_word(const std::string& token) {
    return std::isalnum(static_cast<unsigned char>(token[0])) != 0 || token[0] == '_';
  }
  void split(const std::string& line, int number) {
    for (std::size_t i = 0; i < line.size();) {
      if (std::isspace(static_cast<unsigned char>(line[i])) != 0) {
        ++i;
        continue;
      }
      std::size_t end = i + 1;
      if (is_word(line.substr(i, 1)))
        while (end < line.size() && is_word(line.substr(end, 1))) ++end;
      tokens_.push_back({line.substr(i, end - i), number});
      i = end;
    }
  }
  bool ended() const { return at_ >= tokens_.size(); }
  bool next_is(const char* text) const { return !ended() && tokens_[at_].text == text; }
  const std::string& previous() const { return tokens_[at_ - 1].text; }
  /// From an opening bracket to behind the one that closes it.
  void pass_brackets() {
    int depth = 0;
    do {
      const auto& text = tokens_[at_++].text;
      if (text == "(" || text == "[" || text == "{") ++depth;
      if (text == ")" || text == "]" || text == "}") --depth;
    } while (!ended() && depth > 0);
  }
  void pass_template_parameters() {
    int depth = 0;
    do {
      if (next_is("(")) {
        pass_brackets();
        continue;
      }
      depth += next_is("<") ? 1 : next_is(">") ? -1 : 0;
      ++at_;
    } while (!ended() && depth > 0);
  }

  /// What stands in a file, a namespace or a type, up to the brace that closes it.
  void declarations() {
    Head head;
    while (!ended() && !next_is("}")) {
      if (next_is("{")) {
        open(head);
      } else if (next_is("(") || next_is("[")) {
        head.push_back(tokens_[at_]);
        const auto name = at_ + 1;
        pass_brackets();
        if (head.size() > 1 && head[head.size() - 2].text.starts_with("TEST"))  // TEST_F(Suite, name)
          for (auto i = name; i + 1 < at_; ++i) head[head.size() - 2].text += " " + tokens_[i].text;
      } else {
        head.push_back(tokens_[at_++]);
        if (head.back().text == "template" && next_is("<")) pass_template_parameters();
        const bool access =
            head.size() == 2 && head[1].text == ":" &&
            (head[0].text == "public" || head[0].text == "private" || head[0].text == "protected");
        if (head.back().text == ";" || access) head.clear();
      }
    }
  }
  static std::size_t find(const Head& head, const std::set<std::string>& words) {
    for (std::size_t i = 0; i < head.size(); ++i)
      if (words.count(head[i].text)) return i;
    return head.size();
  }
  /// The opening bracket of the parameters; the end where there is none.
  static std::size_t parameters(const Head& head) {
    static const std::set<std::string> not_names{"alignas",       "decltype", "noexcept",
                                                 "__attribute__", "requires", "__launch_bounds__"};
    for (std::size_t i = 1; i < head.size(); ++i)
      if (head[i].text == "(" && !not_names.count(head[i - 1].text)) return i;
    return head.size();
  }
  /// In `: member{value}` of a constructor.
  static bool initialises_member(const Head& head, std::size_t parameter) {
    for (std::size_t i = parameter + 1; i + 1 < head.size(); ++i)
      if (head[i].text == ":" && head[i - 1].text != ":" && head[i + 1].text != ":")
        return is_word(head.back().text) || head.back().text == ">";
    return false;
  }
  /// At a brace behind `head`.
  void open(Head& head) {
    const std::size_t type = find(head, {"class", "struct", "union"}), parameter = parameters(head);
    const bool initialises =
        !head.empty() && (head.back().text == "=" || initialises_member(head, parameter));
    const bool lambda = !head.empty() && head.back().text == "[";
    if (find(head, {"namespace"}) < head.size() || (!head.empty() && head[0].text == "extern")) {
      ++at_;
      declarations();
      ++at_;
      head.clear();
    } else if (type < head.size() && parameter == head.size() && find(head, {"enum", "="}) == head.size()) {
      std::string name = type + 1 < head.size() ? head[type + 1].text : "";
      const Block block{Block::Kind::type, name, head[0].line};
      ++at_;
      declarations();
      close(block);
    } else if (!initialises && (parameter < head.size() || lambda)) {
      block_ = {Block::Kind::function, head[lambda ? 0 : parameter - 1].text, head[0].line};
      compound(0);
      --at_;
      close(block_);
      head.clear();
    } else {
      pass_brackets();
      head.push_back({"}", 0});
    }
  }
  void close(Block block) {
    block.last_line = ended() ? tokens_.back().line : tokens_[at_].line;
    blocks.push_back(std::move(block));
    if (!ended()) ++at_;
  }

  void compound(int depth) {
    ++at_;
    while (!ended() && !next_is("}")) statement(depth);
    if (!ended()) ++at_;
  }
  /// A statement that `depth` others hold.
  void statement(int depth) {
    if (ended()) return;
    if (depth > block_.nesting) {
      block_.nesting = depth;
      block_.deepest_line = tokens_[at_].line;
    }
    if (next_is("{")) return compound(depth);
    static const std::set<std::string> controls{"if", "for", "while", "switch", "catch", "do", "try"};
    if (!controls.count(tokens_[at_].text)) return expression(depth);
    const bool is_do = next_is("do"), is_for = next_is("for");
    ++at_;
    if (next_is("constexpr")) ++at_;
    if (next_is("(")) pass_brackets();
    // A loop that holds nothing but a loop, without braces, is one with it: over x, y and z.
    statement(is_for && next_is("for") ? depth : depth + 1);
    if (is_do) expression(depth);
    if (next_is("else")) {
      ++at_;
      statement(next_is("if") ? depth : depth + 1);
    }
  }
  /// Up to its semicolon or colon of a label, into the bodies of the lambdas in it.
  void expression(int depth) {
    for (int brackets = 0; !ended();) {
      const auto& text = tokens_[at_].text;
      if (text == "{") {
        if (is_lambda()) {
          compound(depth);
        } else {
          pass_brackets();
        }
        continue;
      }
      if (text == "}") return;
      if (text == "(" || text == "[") ++brackets;
      if (text == ")" || text == "]") --brackets;
      ++at_;
      if (text == ";" && brackets <= 0) return;
    }
  }
  /// Whether the brace here opens the body of a lambda: [captures] (parameters) mutable -> type {
  bool is_lambda() const {
    auto i = at_;
    const auto before = [&] { return i > 0 ? tokens_[i - 1].text : std::string(); };
    while (is_word(before().empty() ? ";" : before()) || before() == ">" || before() == "-" ||
           before() == ":" || before() == "<")
      --i;
    if (before() == "]") return true;
    if (before() != ")") return false;
    for (int depth = 0; i > 0; --i) {
      depth += tokens_[i - 1].text == ")" ? 1 : tokens_[i - 1].text == "(" ? -1 : 0;
      if (depth == 0) break;
    }
    return i > 1 && tokens_[i - 2].text == "]";
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Block block_;  ///< the function that is being read
};

class SourceFile {
 public:
  /// A file below `root`.
  SourceFile(const std::string& root, std::string name) : path(std::move(name)) {
    std::ifstream file(root + "/" + path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    separate();
  }
  SourceFile(std::string name, std::vector<std::string> content)
      : path(std::move(name)), lines(std::move(content)) {
    separate();
  }
  std::vector<Block> blocks() const { return Outline(code).blocks; }

  std::string path;                ///< from the root, with '/'
  std::vector<std::string> lines;  ///< as they are
  std::vector<std::string> code;   ///< without comments and what stands in quotes
  std::vector<std::string> text;   ///< nothing but these

 private:
  void separate() {
    std::string closing;  // what ends the comment or literal that is open
    for (const auto& line : lines) {
      std::string in_code(line.size(), ' '), in_text(line.size(), ' ');
      for (std::size_t i = 0; i < line.size();) {
        if (closing.empty()) {
          if (line.compare(i, 2, "//") == 0) {
            in_text.replace(i, std::string::npos, line, i, std::string::npos);
            break;
          }
          if (line.compare(i, 2, "/*") == 0)
            closing = "*/";
          else if (line[i] == '"')
            closing = i > 0 && line[i - 1] == 'R' ? ")" + line.substr(i + 1, line.find('(', i) - i - 1) + "\""
                                                  : "\"";
          else if (line[i] == '\'' && !separates_digits(line, i))
            closing = "'";
          in_code[i] = closing == "*/" ? ' ' : line[i];
          i += closing == "*/" ? 2 : 1;
        } else if (line.compare(i, closing.size(), closing) == 0) {
          if (closing != "*/") in_code[i + closing.size() - 1] = closing.back();
          i += closing.size();
          closing.clear();
        } else {
          const std::size_t length = closing.size() == 1 && line[i] == '\\' ? 2 : 1;
          in_text.replace(i, length, line, i, length);
          i += length;
        }
      }
      if (closing.size() == 1) closing.clear();  // no string goes on in the next line
      code.push_back(in_code);
      text.push_back(in_text);
    }
  }
  static bool separates_digits(const std::string& line, std::size_t at) {
    std::size_t start = at;
    while (start > 0 &&
           (std::isalnum(static_cast<unsigned char>(line[start - 1])) != 0 || line[start - 1] == '\''))
      --start;
    return start < at && std::isdigit(static_cast<unsigned char>(line[start])) != 0;
  }
};

}  // namespace fhd::tests
