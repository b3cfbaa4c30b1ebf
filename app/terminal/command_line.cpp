#include <string>

#include "app/commands/commands.hpp"

namespace fhd::app {
namespace {

std::string typed;  // set once, before any command runs

std::string quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:%@") ==
          std::string::npos)
    return word;
  std::string result = "'";
  for (char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

const std::string& command_line() { return typed; }

void set_command_line(int argc, const char* const* argv) {
  for (int i = 0; i < argc; ++i) typed += (i > 0 ? " " : "") + quoted(argv[i]);
}

}  // namespace fhd::app
