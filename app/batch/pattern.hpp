#pragma once
// Names of files with * ? [ ], as a shell takes them.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace fhd::app {

inline constexpr auto wildcards = "*?[";

/// Calls visit() with the path of everything in a folder; with nothing where it is none, or may not be read. Throws Error
/// where it cannot be read to its end, which would look like one that holds less.
void for_each_in_folder(const std::string& folder,
                        const std::function<void(const std::filesystem::path&)>& visit);

/// Fits patterns with files. All patterns of a batch share what may be looked at: one of */*/*/*/* in a folder with links to
/// itself would go on for ever.
class PatternMatcher {
 public:
  static constexpr std::size_t most = std::size_t{1} << 24;
  explicit PatternMatcher(std::size_t most_names = most) : left_(most_names), most_(most_names) {}

  /// The paths that fit, sorted; a name that begins with '.' fits a pattern that does so, and ~/ is the home of the user. Throws
  /// Error where too many names have been looked at, and for '..' behind a wildcard, which leads back to where it was.
  std::vector<std::string> matches(const std::string& pattern);

 private:
  /// In each of the folders those that fit `part`, a name with wildcards.
  std::vector<std::string> within(const std::vector<std::string>& folders, const std::string& part,
                                  const std::string& pattern);
  std::size_t left_, most_;
};

}  // namespace fhd::app
