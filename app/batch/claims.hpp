#pragma once
// Who works on which scan, when several processes share a directory of results. A claim is a lock that the
// kernel releases when its process dies; nothing has to be cleaned up after a crash for others to go on.
#include <optional>
#include <string>

namespace fhd::app {

/// The exclusive right to make DIRECTORY/NAME.*, while the object lives.
class Claim {
 public:
  /// Empty when another process (or this one) holds it. Throws Error when locks cannot be had there.
  static std::optional<Claim> take(const std::string& directory, const std::string& name);
  /// The same, waiting for its turn.
  static Claim wait(const std::string& directory, const std::string& name);
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&& other) = delete;
  Claim(const Claim&) = delete;
  ~Claim();

 private:
  Claim(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  static std::optional<Claim> lock(const std::string& directory, const std::string& name, int operation);
  int descriptor_;
  std::string path_;
};

/// Removes the temporary files of results called `name` in `directory`. For the holder of its claim: whoever
/// wrote them is dead.
void remove_temporaries(const std::string& directory, const std::string& name);
/// Removes the temporary files that nobody has a claim to, and the folder of claims when it is empty.
void remove_strays(const std::string& directory);

}  // namespace fhd::app
