#pragma once
// Temporary files of this process, which are removed when it ends: by itself, by a signal, or by a failure (app/terminal/ending.hpp).
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "io/files/folder.hpp"

namespace fhd::io {

/// Lets any number of threads in, until one of them closes it. From any thread.
class EndGate {
 public:
  /// Returns false if another thread closes, or has closed, the gate. A thread that is inside may enter again.
  bool enter();
  /// Undoes one enter(), which returned true.
  void leave();
  /// Waits until no other thread is inside, and lets none in from its call on. The calling thread, which may be inside, is let in
  /// for ever. Returns false at once if another thread closes it; then the calling thread counts as outside.
  bool close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::thread::id, int> inside_;  ///< how often each thread has entered
  std::thread::id closing_{};              ///< none as long as it is open
};

/// While it lives, the process does not end by remove_unfinished_files() of other threads. When one has begun that, the
/// constructor does not return.
class NoEndNow {
 public:
  NoEndNow();
  ~NoEndNow();
  NoEndNow(const NoEndNow&) = delete;
  NoEndNow& operator=(const NoEndNow&) = delete;
};

/// Adds and takes away a file that remove_unfinished_files() removes. Called under NoEndNow.
void add_unfinished(const std::shared_ptr<const Folder>& folder, const std::string& name);
void end_unfinished(const std::shared_ptr<const Folder>& folder, const std::string& name);

/// Removes every temporary file of this process, and lets no other thread begin, rename or remove one: for a process that is
/// about to end. From any thread; does not return where another thread has begun it.
void remove_unfinished_files();

/// Forgets the temporary files so far, in a process that has just been forked: they are the other one's.
void forget_unfinished_files();

}  // namespace fhd::io
