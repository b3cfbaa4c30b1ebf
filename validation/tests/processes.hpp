#pragma once
// Processes and threads, as the system describes them.
#include <dirent.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace fhd::tests {

struct Relative {
  pid_t number;
  char state;        ///< Z: it has ended, and nobody has asked how
  std::string name;  ///< of the program
};
inline std::vector<Relative> children_of(pid_t parent) {
  std::vector<Relative> found;
  DIR* const folder = opendir("/proc");
  while (const dirent* entry = readdir(folder)) {
    std::ifstream file(std::string("/proc/") + entry->d_name + "/stat");
    std::string line;
    if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0])) || !std::getline(file, line)) continue;
    std::istringstream rest(line.substr(line.rfind(')') + 1));
    char state = 0;
    pid_t of = 0;
    rest >> state >> of;
    if (of == parent) {
      const auto begin = line.find('(') + 1;
      found.push_back({std::atoi(entry->d_name), state, line.substr(begin, line.rfind(')') - begin)});
    }
  }
  closedir(folder);
  return found;
}

/// Returns whether a process of the group lives (one that nobody has waited for does not).
inline bool has_living(pid_t group) {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::directory_iterator("/proc", fs::directory_options::skip_permission_denied)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const auto name_end = stat.rfind(')');  // PID (NAME) STATE PARENT GROUP
    if (name_end == std::string::npos) continue;
    std::istringstream rest(stat.substr(name_end + 1));
    char state = 0;
    pid_t parent = 0, of = 0;
    if (rest >> state >> parent >> of && of == group && state != 'Z' && state != 'X') return true;
  }
  return false;
}

/// A thread of a test that is expected to wait.
class WatchedThread {
 public:
  template <class Work>
  explicit WatchedThread(Work work)
      : thread_([this, work] {
          number_ = gettid();
          work();
        }) {}
  ~WatchedThread() {
    if (thread_.joinable()) thread_.join();
  }
  void join() { thread_.join(); }
  /// Returns true once the thread sleeps; false: it does not within ten seconds.
  bool is_waiting() const {
    for (int look = 0; look < 10000; ++look, usleep(1000)) {
      std::ifstream file("/proc/self/task/" + std::to_string(number_) + "/stat");
      std::string line;
      if (number_ > 0 && std::getline(file, line) && line.substr(line.rfind(')') + 2, 1) == "S") return true;
    }
    return false;
  }

 private:
  std::atomic<pid_t> number_ = 0;
  std::thread thread_;
};

}  // namespace fhd::tests
