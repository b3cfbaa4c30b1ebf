#include "app/options/toml_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace fhd::app {
namespace {

bool is_triple(std::string_view text, std::size_t at) {
  return text.substr(at, 3) == std::string(3, text[at]);
}

/// Behind the string that begins at `at`. One of a single line ends there, too: TOML refuses what lacks the quote.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool is_long = is_triple(text, at);
  for (auto i = at + (is_long ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;  // what it escapes
    } else if (!is_long) {
      if (text[i] == quote) return i + 1;
      if (text[i] == '\n') return i;
    } else if (text[i] == quote && is_triple(text, i)) {
      const auto most = std::min(i + 5, text.size());  // one or two quotes may stand before those that end it
      auto end = i + 3;
      while (end < most && text[end] == quote) ++end;
      return end;
    }
  }
  return text.size();
}

/// Tables and lists that are open.
class Depth {
 public:
  int now() const { return depth_; }
  void dot() { ++dots_.back(), ++depth_; }
  void open() { dots_.push_back(0), ++depth_; }
  void close() {
    if (dots_.size() == 1) return;  // TOML refuses it
    end_of_entry();
    dots_.pop_back(), --depth_;
  }
  /// Another key of the same table, or another value of the same list.
  void end_of_entry() { depth_ -= dots_.back(), dots_.back() = 0; }
  void end_of_line() {
    if (dots_.size() == 1) end_of_entry();
  }

 private:
  std::vector<int> dots_{0};  ///< of the key at hand, in every bracket
  int depth_ = 0;
};

}  // namespace

std::size_t line_nesting_deeper_than(int most, std::string_view text) {
  Depth depth;
  std::size_t line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
      case '\'': {
        const auto end = end_of_string(text, i);
        line += static_cast<std::size_t>(std::count(text.begin() + i, text.begin() + end, '\n'));
        i = end - 1;
        break;
      }
      case '#':
        i = std::min(text.find('\n', i), text.size()) - 1;
        break;
      case '\n':
        depth.end_of_line();
        ++line;
        break;
      case ',':
        depth.end_of_entry();
        break;
      case '.':
        depth.dot();
        break;
      case '[':
      case '{':
        depth.open();
        break;
      case ']':
      case '}':
        depth.close();
        break;
      default:
        break;
    }
    if (depth.now() > most) return line;
  }
  return 0;
}

}  // namespace fhd::app
