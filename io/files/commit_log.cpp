// A log holds texts that end with zeros: the format; of each step its temporary name, its final name and what had that name;
// "end".
#include "io/files/commit_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "io/files/atomic_file.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::string_view log_format = "fhd journal 3", log_end = "end";
constexpr std::size_t fields_of_step = 3;
constexpr auto replaceable = "a file that can be replaced";

}  // namespace

CommitLog::CommitLog(std::shared_ptr<const Folder> folder, const std::string& name)
    : folder_(std::move(folder)), file_(std::string(commit_log_start) + name) {}

std::optional<CommitLog> CommitLog::read(const std::shared_ptr<const Folder>& folder,
                                         const std::string& name) {
  CommitLog log(folder, name);
  const auto path = folder->path_of(log.file_);
  const auto file = folder->open(log.file_, O_RDONLY);
  if (!file && errno == ENOENT) return {};
  if (!file && errno != EACCES && errno != ELOOP) fail_by_errno(path, "a log that can be read");
  if (!file || !is_of_this_user(file))
    throw Error(path, "none, or one of this user", "something else",
                "if a run of another user has died there, let that user repeat it; else remove this file");
  constexpr std::size_t most_bytes = 1 << 20;
  const auto text = text_of_file(file, most_bytes);
  const auto fields = text ? fields_of(*text) : std::vector<std::string>{};
  bool is_log =
      fields.size() % fields_of_step == 2 && fields.front() == log_format && fields.back() == log_end;
  for (std::size_t i = 1; is_log && i + 1 < fields.size(); i += fields_of_step) {
    is_log = is_file_name(fields[i]) && is_file_name(fields[i + 1]) &&
             final_name_of_temporary(fields[i]) == fields[i + 1];
    log.steps_.push_back({fields[i], fields[i + 1], fields[i + 2]});
  }
  if (!is_log)
    throw Error(path, "the log of an interrupted run of this version of fhd", "something else",
                "run that version again; or remove this file, and repeat the run");
  return log;
}

std::string CommitLog::state_of(const std::string& name) const {
  const auto found = folder_->find(name);
  if (found) return S_ISDIR(found->st_mode) ? "folder" : std::to_string(found->st_size);
  if (errno != ENOENT) fail_by_errno(folder_->path_of(name), "a file that can be looked at");
  return "nothing";
}

void CommitLog::add(const std::string& temporary, const std::string& final_name) {
  if (state_of(temporary) == "nothing")
    throw Error(folder_->path_of(final_name), "the unfinished file that was written for it",
                "none: somebody has removed it", "run again");
  steps_.push_back({temporary, final_name, state_of(final_name)});
}

void CommitLog::begin(const OutputLock& lock) const {
  std::vector<std::string> fields{std::string(log_format)};
  for (const auto& step : steps_) fields.insert(fields.end(), {step.temporary, step.final_name, step.old});
  fields.emplace_back(log_end);
  const auto text = zero_ended(fields);
  AtomicFile file(folder_, file_);
  lock.remember(file.temporary_);
  write_bytes(file.temporary(), text.data(), text.size(), file.path());
  file.flush();
  file.rename();
}

void CommitLog::carry_out(const Step& step, std::vector<std::string>& replaced) const {
  const auto is = state_of(step.temporary);
  if (is == "nothing") return;  // it has its name
  const auto path = folder_->path_of(step.final_name), there = state_of(step.final_name);
  const bool is_moved_aside = is == "folder" && there == "nothing";
  if (there != step.old && !is_moved_aside)
    throw Error(path, "what was there before", "something else", "move it to another name");
  if (there == "folder") {  // nothing replaces a folder that is not empty
    replaced.push_back(temporary_name(step.final_name));
    if (!folder_->rename(step.final_name, replaced.back())) fail_by_errno(path, replaceable);
  }
  if (!folder_->rename(step.temporary, step.final_name)) fail_by_errno(path, replaceable);
}

std::vector<std::string> CommitLog::carry_out() const {
  std::vector<std::string> replaced;
  const auto path = folder_->path_of(file_);
  folder_->flush(path);
  for (const auto& step : steps_) carry_out(step, replaced);
  folder_->flush(path);
  if (!folder_->remove(file_) && errno != ENOENT) fail_by_errno(path, "a file that can be removed");
  return replaced;
}

}  // namespace fhd::io
