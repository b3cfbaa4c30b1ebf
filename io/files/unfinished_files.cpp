#include "io/files/unfinished_files.hpp"

#include <unistd.h>

#include <new>
#include <set>
#include <utility>

namespace fhd::io {

bool EndGate::enter() {
  const std::lock_guard lock(mutex_);
  const auto me = std::this_thread::get_id();
  if (closing_ != std::thread::id() && closing_ != me && !inside_.contains(me)) return false;
  ++inside_[me];
  return true;
}

void EndGate::leave() {
  const std::lock_guard lock(mutex_);
  const auto own = inside_.find(std::this_thread::get_id());
  if (own == inside_.end() || --own->second > 0) return;  // close() has taken it out, or it was nested
  inside_.erase(own);
  changed_.notify_all();
}

bool EndGate::close() {
  std::unique_lock lock(mutex_);
  const auto me = std::this_thread::get_id();
  inside_.erase(me);
  changed_.notify_all();
  if (closing_ != std::thread::id()) return closing_ == me;
  closing_ = me;
  changed_.wait(lock, [&] { return inside_.empty(); });
  return true;
}

namespace {

struct Unfinished {
  EndGate gate;
  std::mutex mutex;
  std::set<std::pair<std::shared_ptr<const Folder>, std::string>> files;  ///< temporary names in use
};

/// Returns that of the process; never destroyed: threads may still be at work while the process ends.
Unfinished& unfinished() {
  static auto& of_process = *new Unfinished;
  return of_process;
}

[[noreturn]] void wait_for_the_end() {
  while (true) ::pause();
}

}  // namespace

NoEndNow::NoEndNow() {
  if (!unfinished().gate.enter()) wait_for_the_end();
}

NoEndNow::~NoEndNow() { unfinished().gate.leave(); }

void add_unfinished(const std::shared_ptr<const Folder>& folder, const std::string& name) {
  const std::lock_guard lock(unfinished().mutex);
  unfinished().files.emplace(folder, name);
}

void end_unfinished(const std::shared_ptr<const Folder>& folder, const std::string& name) {
  const std::lock_guard lock(unfinished().mutex);
  unfinished().files.erase({folder, name});
}

void remove_unfinished_files() {
  if (!unfinished().gate.close()) wait_for_the_end();
  for (const auto& [folder, name] : unfinished().files) folder->remove_tree(name);
}

void forget_unfinished_files() {
  new (&unfinished()) Unfinished;  // a thread of the other process may hold a mutex of what was there
}

}  // namespace fhd::io
