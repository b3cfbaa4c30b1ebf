#pragma once
// The log of a set of files that is being renamed (io/files/file_set.hpp): which temporary file gets which name. Its steps are
// only carried out, never taken back, and may be carried out again from wherever a crash has left them: a temporary file that
// is not there any more has got its name.
//
// A folder that came with an archive may hold a log of somebody else. So a log names temporary files of its own folder alone,
// replaces nothing but what had the size that it states, and removes nothing: it can do no more than the archive could.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/files/folder.hpp"
#include "io/files/output_lock.hpp"

namespace fhd::io {

/// Returns texts without zeros, such as names of files, one after the other, each with a zero at its end.
inline std::string zero_ended(const std::vector<std::string>& fields) {
  std::string text;
  for (const auto& field : fields) text.append(field.c_str(), field.size() + 1);
  return text;
}

/// Returns the texts; leaves out a last one that no zero ends.
inline std::vector<std::string> fields_of(const std::string& text) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\0', begin)) != std::string::npos; begin = end + 1)
    fields.push_back(text.substr(begin, end - begin));
  return fields;
}

/// Returns whether it names an entry of a folder, and no other place.
inline bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

class CommitLog {
 public:
  /// The log of the files called `name` in the folder.
  CommitLog(std::shared_ptr<const Folder> folder, const std::string& name);
  /// Returns the log of an interrupted run, if there is one. Throws Error if it is another user's or none of this version.
  static std::optional<CommitLog> read(const std::shared_ptr<const Folder>& folder, const std::string& name);

  /// Adds a step. Throws Error unless the temporary file, or folder, is there.
  void add(const std::string& temporary, const std::string& final_name);
  /// Puts the log on the disk: from here on the new set is what counts. Throws Error: then there is no log. `lock`: that of
  /// the set.
  void begin(const OutputLock& lock) const;
  /// Carries out the steps that are not done, puts their names on the disk, and removes the log. Throws Error: then the log
  /// stays. Returns the hidden names that folders have got which were replaced.
  std::vector<std::string> carry_out() const;

 private:
  struct Step {
    std::string temporary, final_name;
    std::string old;  ///< what had the final name: its size, "folder", or "nothing"
  };
  std::string state_of(const std::string& name) const;
  void carry_out(const Step& step, std::vector<std::string>& replaced) const;

  std::shared_ptr<const Folder> folder_;
  std::string file_;
  std::vector<Step> steps_;
};

}  // namespace fhd::io
