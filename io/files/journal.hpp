#pragma once
// What becomes of the files of a set (io/files/file_set.hpp), as it is written down: its steps can be carried out again
// from wherever a crash has left them, and taken back. What is done shows in the names that are there.
//
// A folder that came with an archive may hold a journal that nobody's run has left. So a journal that is read only moves
// forward, moves nothing but this user's temporary files, and replaces nothing but what had the size that it says, or a
// folder of DICOM files alone: it can do no more than the archive could.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/files/folder.hpp"

namespace fhd::io {

class Journal {
 public:
  /// A directory that may be replaced holds DICOM files alone, and so does what is replaced.
  enum class Kind { file, new_directory, replacing_directory };

  /// Of the files called `name` in the folder.
  Journal(std::shared_ptr<const Folder> folder, std::string name);
  /// That of a run that died; without steps: it is not whole. Empty: there is none. Throws Error: it is another user's, or
  /// of another version.
  static std::optional<Journal> read(const std::shared_ptr<const Folder>& folder, const std::string& name);

  void add(std::shared_ptr<const Folder> folder, Kind kind, const std::string& temporary,
           const std::string& final_name);
  /// What it is called until it counts.
  const std::string& temporary() const { return temporary_; }
  /// Under its temporary name, and to the disk; under NoEndNow, as the next. Throws Error: then there is none.
  void write() const;
  /// Afterwards it counts. Throws Error: then there is none.
  void begin() const;
  /// It counts, or has ended to count, also when the power goes. Throws Error.
  void flush() const;
  /// All steps that are not yet done. Throws Error.
  void carry_out() const;
  /// All that are; whether that could be done. Nothing is where one of them has no old file to bring back any more. Of a
  /// journal that this process has written.
  bool take_back() const;
  /// To the disk, what has become of the names. Throws Error.
  void flush_folders() const;
  void remove_replaced() const;
  /// It has served; whether that could be done. (Where a power failure brings it back, there is nothing left for it to do.)
  bool remove() const;

 private:
  struct Step {
    std::shared_ptr<const Folder> folder;
    Kind kind;
    std::string temporary, final_name, replaced;  ///< what was called final_name is `replaced` meanwhile
    std::string old;  ///< bytes of that file, "folder", or nothing: there was none before the first step was done
    void carry_out() const;
    void require_ours() const;
    bool can_be_taken_back() const;
    bool take_back() const;
    bool has(const std::string& name) const;
  };
  std::shared_ptr<const Folder> folder_of(const std::string& path) const;
  void remove_temporary() const;
  std::string text() const;
  std::string path() const { return folder_->path_of(file_); }

  std::shared_ptr<const Folder> folder_;
  std::string name_, file_, temporary_;
  std::vector<Step> steps_;
};

}  // namespace fhd::io
