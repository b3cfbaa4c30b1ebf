// A journal holds texts that end with zeros: the format, the number of steps; of each step its folder (empty: that of the
// journal), kind, temporary name, name, the name that what it replaces gets, and the bytes of that, "folder", or nothing; the
// CRC-32 of all that.
#include "io/files/journal.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "io/files/atomic_file.hpp"
#include "io/files/file_set.hpp"
#include "io/files/zero_ended.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::string_view journal_of_any_version = "fhd journal ", journal_format = "fhd journal 2";
constexpr const char* kinds[]{"file", "new directory", "directory"};  // in the order of Journal::Kind
constexpr std::size_t fields_of_head = 2, fields_of_step = 6;

std::string crc_text(const std::string& text) {
  return std::to_string(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

/// The fields, where they are whole.
std::vector<std::string> whole_fields(const std::string& text) {
  auto fields = fields_of(text);
  if (fields.size() < fields_of_head + 1 || fields[0] != journal_format) return {};
  const auto crc = fields.back();
  if (text.size() < crc.size() + 1 || crc_text(text.substr(0, text.size() - crc.size() - 1)) != crc)
    return {};
  fields.pop_back();
  const bool complete = (fields.size() - fields_of_head) % fields_of_step == 0 &&
                        fields[1] == std::to_string((fields.size() - fields_of_head) / fields_of_step);
  return complete ? fields : std::vector<std::string>{};
}

bool is_of_another_version(const std::string& text) {
  const auto fields = fields_of(text);
  return !fields.empty() && fields[0].starts_with(journal_of_any_version) && fields[0] != journal_format;
}

/// What a step says of a file, or a folder, that is replaced.
std::string size_text(const struct stat& file) {
  return S_ISDIR(file.st_mode) ? "folder" : std::to_string(file.st_size);
}

bool is_temporary_of(const std::string& final_name, const std::string& name) {
  return is_file_name(name) && is_file_name(final_name) && final_name_of_temporary(name) == final_name;
}

/// Regular files, in no folders of their own.
bool holds_dicom_files_alone(const Folder& folder, const std::string& name) {
  const auto inner = folder.inner(name);
  if (!inner) return false;
  const auto names = inner->names();
  return std::all_of(names.begin(), names.end(), [&](const std::string& each) {
    const auto found = inner->find(each);
    return each.ends_with(".dcm") && found && S_ISREG(found->st_mode);
  });
}

}  // namespace

Journal::Journal(std::shared_ptr<const Folder> folder, std::string name)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      file_(std::string(journal_start) + name_),
      temporary_(temporary_name(file_)) {}

void Journal::add(std::shared_ptr<const Folder> folder, Kind kind, const std::string& temporary,
                  const std::string& final_name) {
  const auto there = folder->find(final_name);
  if (!there && errno != ENOENT) fail_by_errno(folder->path_of(final_name), "a file that can be looked at");
  steps_.push_back({std::move(folder), kind, temporary, final_name, temporary_name(final_name),
                    there && kind != Kind::new_directory ? size_text(*there) : ""});
}

std::string Journal::text() const {
  std::vector<std::string> fields{std::string(journal_format), std::to_string(steps_.size())};
  for (const auto& step : steps_)
    fields.insert(fields.end(), {step.folder->is_same_as(*folder_) ? "" : step.folder->whole_path(),
                                 kinds[static_cast<int>(step.kind)], step.temporary, step.final_name,
                                 step.replaced, step.old});
  const auto text = zero_ended(fields);
  return text + zero_ended({crc_text(text)});
}

std::optional<Journal> Journal::read(const std::shared_ptr<const Folder>& folder, const std::string& name) {
  Journal journal(folder, name);
  const auto file = folder->open(journal.file_, O_RDONLY);
  if (!file && errno == ENOENT) return {};
  struct stat found {};
  // Others may write what they like into their own files: it would be done with this user's rights.
  if (!file && errno != EACCES && errno != ELOOP && errno != ENXIO)
    fail_by_errno(journal.path(), "a journal that can be read");
  if (!file || ::fstat(file.get(), &found) != 0 || !is_of_this_user_alone(found))
    throw Error(journal.path(), "none, or one of this user", "something else",
                "if a run of another user has died there, let that user repeat it; else remove this file");
  constexpr std::size_t most_bytes = 1 << 20;
  const auto text = text_of_file(file, most_bytes);
  if (text && text->size() < static_cast<std::size_t>(found.st_size))
    throw Error(journal.path(), "a journal that can be read", "a read failure", "run again");
  if (text && is_of_another_version(*text))
    throw Error(journal.path(), "a journal of this version of fhd", "one of another, whose run died",
                "read its results with that version; or remove this file, and repeat the run");
  const auto fields = text ? whole_fields(*text) : std::vector<std::string>{};
  for (std::size_t i = fields_of_head; i < fields.size(); i += fields_of_step) {
    const auto* kind = std::find(std::begin(kinds), std::end(kinds), fields[i + 1]);
    if (kind == std::end(kinds) || !is_temporary_of(fields[i + 3], fields[i + 2]) ||
        !is_temporary_of(fields[i + 3], fields[i + 4]) || (!fields[i].empty() && fields[i][0] != '/'))
      throw Error(journal.path(), "a journal of fhd", "something else", "remove this file");
    auto place = fields[i].empty() ? journal.folder_ : journal.folder_of(fields[i]);
    journal.steps_.push_back({std::move(place), static_cast<Kind>(kind - std::begin(kinds)), fields[i + 2],
                              fields[i + 3], fields[i + 4], fields[i + 5]});
  }
  return journal;
}

std::shared_ptr<const Folder> Journal::folder_of(const std::string& path) const {
  try {
    return Folder::of(path + "/.");
  } catch (const Error&) {
    throw Error(this->path(), "the folder '" + path + "', where a run that died left results to complete",
                "none that can be opened", "bring it back; or remove this file, and with it those results");
  }
}

void Journal::write() const {
  const auto content = text();
  add_unfinished(folder_, temporary_);
  try {
    OutputFile file(folder_->open(temporary_, O_WRONLY | O_CREAT | O_EXCL, 0600), folder_->path_of(name_));
    file.write(content.data(), content.size());
    file.flush();
    file.close();
  } catch (const Error&) {
    remove_temporary();
    throw;
  }
}

/// Without memory: what it names is in the list of unfinished files until it counts.
void Journal::begin() const {
  if (folder_->rename(temporary_, file_)) return end_unfinished(folder_, temporary_);
  const int error = errno;
  remove_temporary();
  errno = error;
  fail_by_errno(folder_->path_of(name_), "a folder that can be written");
}

void Journal::flush() const { folder_->flush(folder_->path_of(name_)); }

void Journal::remove_temporary() const {
  folder_->remove(temporary_);
  end_unfinished(folder_, temporary_);
}

/// Throws Error where that cannot be told: what is not there counts as done.
bool Journal::Step::has(const std::string& name) const {
  if (folder->find(name)) return true;
  if (errno != ENOENT) fail_by_errno(folder->path_of(final_name), "a file that can be looked at");
  return false;
}

/// What is replaced gets a second name before it loses the first, where the file system has such, so that there is
/// always something of the name.
void Journal::Step::carry_out() const {
  if (!has(temporary)) return;
  require_ours();
  const auto there = folder->find(final_name);
  if (there && !has(replaced)) {
    const bool is_linked = kind == Kind::file && ::linkat(folder->get(), final_name.c_str(), folder->get(),
                                                          replaced.c_str(), 0) == 0;
    if (!is_linked && !folder->rename(final_name, replaced))
      fail_by_errno(folder->path_of(final_name), "a file that can be replaced");
  }
  if (!folder->rename(temporary, final_name))
    fail_by_errno(folder->path_of(final_name), "a file that can be replaced");
}

/// Throws Error where somebody else has a part in it.
void Journal::Step::require_ours() const {
  const auto made = folder->find(temporary), there = folder->find(final_name);
  const bool is_of_kind = made && S_ISDIR(made->st_mode) == (kind != Kind::file);
  if (!is_of_kind || made->st_uid != ::geteuid())
    throw Error(folder->path_of(temporary), "what this user's run has written", "something else",
                "remove it");
  const bool is_as_before = !there || (size_text(*there) == old &&
                                       (kind == Kind::file || holds_dicom_files_alone(*folder, final_name)));
  if (!is_as_before)
    throw Error(folder->path_of(final_name), "what was there before", "something else",
                "move it to another name");
}

/// Not what was done to the end, and whose old file is gone: the new one is all that is left.
bool Journal::Step::can_be_taken_back() const {
  return has(temporary) || has(replaced) || (old.empty() && has(final_name));
}

bool Journal::Step::take_back() const {
  const bool is_kept = has(replaced);
  if (!has(temporary)) {
    if (!folder->rename(final_name, temporary)) return false;
    return !is_kept || folder->rename(replaced, final_name);
  }
  if (!is_kept) return true;
  if (!has(final_name)) return folder->rename(replaced, final_name);
  return folder->remove(replaced);  // its second name
}

void Journal::carry_out() const {
  for (const auto& step : steps_) step.carry_out();
}

bool Journal::take_back() const {
  try {
    if (!std::all_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.can_be_taken_back(); }))
      return false;
    bool could = true;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) could = step->take_back() && could;
    return could;
  } catch (const Error&) {  // it cannot be told how far they are
    return false;
  }
}

void Journal::flush_folders() const {
  std::vector<const Folder*> done;
  for (const auto& step : steps_) {
    if (std::any_of(done.begin(), done.end(),
                    [&](const Folder* other) { return other->is_same_as(*step.folder); }))
      continue;
    step.folder->flush(step.folder->path_of(step.final_name));
    done.push_back(step.folder.get());
  }
}

void Journal::remove_replaced() const {
  for (const auto& step : steps_)
    if (step.kind == Kind::file)
      step.folder->remove(step.replaced);
    else if (holds_dicom_files_alone(*step.folder, step.replaced))
      step.folder->remove_tree(step.replaced);
}

bool Journal::remove() const { return folder_->remove(file_) || errno == ENOENT; }

}  // namespace fhd::io
