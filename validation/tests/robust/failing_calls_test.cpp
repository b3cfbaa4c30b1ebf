// Lets calls that change files fail, one in each run (as SQLite is tested): no crash, no half result, no lost old one,
// nothing left behind, one line. Tries a few calls of each kind; FHD_FAIL_EVERY_CALL=1 tries all.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "io/files/file_set.hpp"
#include "io/result/results.hpp"
#include "validation/tests/program.hpp"
#include "validation/tests/robust/failing_run.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

/// Every file of a folder, by its path in it.
using Files = std::map<std::string, std::string>;
Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = bytes_of(entry.path().string());
  return files;
}

/// A command that is tried.
struct Scenario {
  const char* name;
  const char* arguments;  ///< of fhd; {in}: the folder of what it reads
  /// Makes the results that are there before; empty: there are none.
  const char* before;
  /// Files that are old or new together: names that begin so. Each other file is so by itself.
  std::vector<const char*> sets;
  /// An image to compare with that of a run without failures; empty: none.
  const char* image;
  int most_lines =
      1;  ///< of failure: a batch has one for each scan, each process of it that ended, and the whole
  /// A run before it that is killed at the last rename but two: of out.nii.gz. Empty: none is.
  const char* killed = "";
};

const Scenario scenarios[] = {
    {"recon",
     "recon {in}/scan.h5 -o out --device cpu --cache off --force",
     "recon {in}/other.h5 -o out --device cpu --cache off",
     {"out."},
     "out.h5"},
    {"cold_cache", "recon {in}/scan.h5 -o out --device cpu --cache kept", "", {"out."}, "out.h5"},
    {"warm_cache",
     "recon {in}/scan.h5 -o out --device cpu --cache kept --force",
     "recon {in}/scan.h5 -o out --device cpu --cache kept --lambda 0.5",
     {"out."},
     "out.h5"},
    {"batch",
     "batch {in}/scan.h5 {in}/other.h5 {in}/third.h5 -o all --device cpu --cache off",
     "batch {in}/scan.h5 -o all --device cpu --cache off --lambda 0.5",
     {"all/scan.", "all/other.", "all/third."},
     "all/scan.h5",
     7},
    {"report", "report {in}/result.h5 -o page.html", "report {in}/old_result.h5 -o page.html", {}, ""},
    {"convert", "convert {in}/scan.h5 copy.h5 --force", "convert {in}/other.h5 copy.h5", {}, ""},
    {"simulate",
     "simulate -o there/made --matrix 12 --coils 2 --snr 30 --force",
     "simulate -o there/made --matrix 16 --coils 1",
     {},
     "there/made.truth.h5"},
    {"completion",
     "report out.h5 -o page.html",
     "recon {in}/other.h5 -o out --device cpu --cache off",
     {"out."},
     "",
     1,
     "recon {in}/scan.h5 -o out --device cpu --cache off --force"},
    {"recon_after_a_kill",
     "recon {in}/third.h5 -o out --device cpu --cache off --force",
     "recon {in}/other.h5 -o out --device cpu --cache off",
     {"out."},
     "out.h5",
     1,
     "recon {in}/scan.h5 -o out --device cpu --cache off --force"},
};

std::vector<std::string> words_of(const std::string& arguments, const std::string& in) {
  std::vector<std::string> words{program_path()};
  std::istringstream rest(arguments);
  for (std::string word; rest >> word; words.push_back(word))
    if (const auto at = word.find("{in}"); at != std::string::npos) word.replace(at, 4, in);
  return words;
}

/// Few threads that wait asleep, because runs go on concurrently.
const std::vector<std::pair<std::string, std::string>> environment{{"OMP_NUM_THREADS", "2"},
                                                                   {"OPENBLAS_NUM_THREADS", "2"}};
constexpr double limit_s = 60;

/// Inputs, made once for all tests of this process.
class Inputs {
 public:
  Inputs() : state_(folder_ / "state") {
    fs::create_directory(folder_ / "in");
    for (const char* command :
         {"simulate -o scan --matrix 16 --coils 2 --snr 30",
          "simulate -o other --matrix 14 --coils 3 --snr 30", "simulate -o third --matrix 12 --coils 1",
          "recon scan.h5 -o result --device cpu --cache off",
          "recon other.h5 -o old_result --device cpu --cache off"}) {
      const auto end = run(command, folder_ / "in");
      if (end.exit_status() != 0) throw std::runtime_error(command + (": " + end.err));
    }
  }
  RunEnd run(const std::string& arguments, const std::string& in) {
    return run_with_failure(words_of(arguments, path()), in, state_, {}, environment, limit_s);
  }
  /// Kills a run in `folder` whose calls were counted in a copy of that.
  RunEnd kill(const char* arguments, const std::string& folder, const std::string& copy) {
    const auto whole = run(arguments, copy);
    if (whole.exit_status() != 0) return whole;
    const Failure kills{Call::rename, state_.count(Call::rename) - 2, false, true};
    return run_with_failure(words_of(arguments, path()), folder, state_, kills, environment, limit_s);
  }
  std::string path() const { return folder_ / "in"; }

 private:
  ScratchFolder folder_;
  SharedState state_;
};
Inputs& inputs() {
  static Inputs made;
  return made;
}

/// Runs a command without failures; from any thread.
RunEnd run_alone(const std::string& arguments, const std::string& folder) {
  SharedState state(folder + ".alone");
  return run_with_failure(words_of(arguments, inputs().path()), folder, state, {}, environment, limit_s);
}

double relative_difference(const io::ImageSeries& a, const io::ImageSeries& b) {
  double difference = 0, all = 0;
  for (std::size_t i = 0; i < std::max(a.images.size(), b.images.size()); ++i) {
    const auto &x = a.images.at(i).values, &y = b.images.at(i).values;
    if (!(x.shape() == y.shape())) return INFINITY;
    for (std::int64_t p = 0; p < x.size(); ++p)
      difference += norm(Complex<double>(x[p]) - Complex<double>(y[p])), all += norm(Complex<double>(y[p]));
  }
  return std::sqrt(difference / all);
}

/// Judges what a user finds after a run, by what was there before it and what a run without failures leaves.
class Judge {
 public:
  Judge(const Scenario& scenario, Files before, Files after, const std::string& folder)
      : scenario_(scenario), before_(std::move(before)), after_(std::move(after)) {
    if (*scenario.image) image_ = io::read_image((fs::path(folder) / scenario.image).string(), "/image");
  }

  /// Returns what is wrong; empty: nothing.
  std::string fault(const RunEnd& end, const std::string& folder, const Failure& failure) const {
    if (end.timed_out) return "it hangs";
    if (end.left_processes) return "a process of it goes on";
    if (!end.has_ended_by_itself()) return std::string("it crashes: ") + strsignal(WTERMSIG(end.status));
    const int status = end.exit_status();
    const bool is_of_options =
        status == 2 && end.err.starts_with("fhd: memory: ");  // `simulate`: too large for it
    if (status != 0 && status != 1 && !is_of_options) return "exit status " + std::to_string(status);
    if (auto wrong = fault_of_lines(end); !wrong.empty()) return wrong;
    const Files now = files_in(folder);
    for (const auto& [name, bytes] : now)
      if (!before_.contains(name) && !after_.contains(name) && !name.starts_with("all/batch.log") &&
          !is_left_to_the_next(name, now, failure))
        return "left behind: " + name;
    if (auto wrong = fault_of_sets(now); !wrong.empty()) return wrong;
    if (has_journal(now) || *scenario_.killed)
      if (auto wrong = fault_of_next(folder); !wrong.empty()) return "for the next command: " + wrong;
    return status == 0 ? fault_of_success(now, folder) : "";
  }
  /// Returns whether there is a log by which the next command completes the results.
  static bool has_journal(const Files& now) {
    return std::any_of(now.begin(), now.end(), [](const auto& file) {
      return file.first.find(".fhd-journal-") != std::string::npos;
    });
  }

 private:
  /// Returns whether the next command removes a file: the lock of a process that is gone, which holds nobody; files that a journal names; and
  /// all, where nothing at all can be done any more.
  static bool is_left_to_the_next(const std::string& name, const Files& now, const Failure& failure) {
    const auto own = fs::path(name).filename().string();
    const bool cannot = failure.call == Call::remove_name;
    return own.starts_with(".fhd-lock-") || (own.starts_with(".fhd-") && (cannot || has_journal(now)));
  }
  std::string fault_of_lines(const RunEnd& end) const {
    std::istringstream lines(end.err);
    int failures = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("fhd: ")) return "not a line of fhd: " + line;
      if (line.find("unexpected failure") != std::string::npos) return line;
      const auto says = [&](const char* what) { return line.find(what) != std::string::npos; };
      failures += !says("note: ") && !says("warning: ") && !says("nothing is kept");
    }
    if (end.exit_status() == 1 && (failures < 1 || failures > scenario_.most_lines))
      return std::to_string(failures) + " lines of failure";
    return "";
  }

  bool is_old(const std::string& name, const Files& now) const {
    const auto old = before_.find(name), found = now.find(name);
    return (old == before_.end()) == (found == now.end()) &&
           (old == before_.end() || old->second == found->second);
  }

  std::string fault_of_sets(const Files& now) const {
    for (const auto& [name, bytes] : before_)
      if (!now.contains(name) && !name.starts_with(".fhd-")) return "lost: " + name;
    for (const char* set : scenario_.sets)
      if (auto wrong = fault_of_set(set, now); !wrong.empty()) return wrong;
    return "";
  }

  /// Runs the next command, which does not fail: it completes the sets and reads them.
  std::string fault_of_next(const std::string& folder) const {
    for (const std::string set : scenario_.sets) {
      const auto page = folder + ".html";
      const auto end = run_alone("report " + set + "h5 -o " + page, folder);
      fs::remove(page);
      if (end.exit_status() != 0 && fs::exists(fs::path(folder) / (set + "h5"))) return end.err;
    }
    // No page is made of a summary or a scan.
    constexpr std::string_view start = ".fhd-journal-";
    for (const auto& [file, bytes] : files_in(folder))
      if (const auto path = fs::path(folder) / file; path.filename().string().starts_with(start))
        io::complete_interrupted_set(
            (path.parent_path() / path.filename().string().substr(start.size())).string());
    const Files now = files_in(folder);
    return has_journal(now) ? "a journal" : fault_of_sets(now);
  }

  std::string fault_of_set(const std::string& prefix, const Files& now) const {
    std::string old, changed;
    for (const auto* files : {&before_, &after_})
      for (const auto& [name, bytes] : *files)
        if (name.starts_with(prefix) && !name.ends_with(".manifest.json"))
          (is_old(name, now) ? old : changed) = name;
    return old.empty() || changed.empty() || has_journal(now) ? "" : "old " + old + " beside new " + changed;
  }

  std::string fault_of_success(const Files& now, const std::string& folder) const {
    for (const auto& [name, bytes] : after_)
      if (!now.contains(name) && !name.starts_with("kept/")) return "success without " + name;  // a cache
    if (!*scenario_.image) return "";
    const auto found = io::read_image((fs::path(folder) / scenario_.image).string(), "/image");
    constexpr double rounding = 1e-4;  // of other sums, by fewer threads
    const double difference = relative_difference(found, image_);
    return difference <= rounding ? "" : "a wrong image: " + std::to_string(difference);
  }

  const Scenario& scenario_;
  Files before_, after_;
  io::ImageSeries image_;
};

/// Returns which of `count` calls fail: all, or a few that are spread evenly.
std::vector<std::uint64_t> chosen(std::uint64_t count) {
  const auto most = std::getenv("FHD_FAIL_EVERY_CALL") ? count : std::min<std::uint64_t>(count, 6);
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < most; ++i) numbers.push_back(1 + (2 * i + 1) * count / (2 * most));
  return numbers;
}

class FailingCalls : public testing::TestWithParam<std::tuple<Scenario, Call>> {
 protected:
  void SetUp() override {
    if (!fs::exists(FHD_FAILING_CALLS_LIBRARY) || !fs::exists(program_path()))
      GTEST_SKIP() << "no program, or no library of failing calls";
  }
  const Scenario& scenario() const { return std::get<0>(GetParam()); }
  Call call() const { return std::get<1>(GetParam()); }
  std::string path(const std::string& name) const { return folder_ / name; }

  /// A new folder with the results of before.
  std::string prepared(const std::string& name) const {
    fs::remove_all(path(name));
    if (fs::exists(path("before")))
      fs::copy(path("before"), path(name), fs::copy_options::recursive);
    else
      fs::create_directory(path(name));
    return path(name);
  }
  void tell(const Failure& failure, const RunEnd& end, const std::string& fault) {
    const std::lock_guard lock(mutex_);
    if (++faults_ <= 12)
      ADD_FAILURE() << scenario().name << ", " << call_names[static_cast<std::size_t>(failure.call)] << " "
                    << failure.at << (failure.goes_on ? " and all after it" : "") << ": " << fault
                    << "\nstatus " << end.exit_status() << "\n"
                    << end.err;
  }
  /// Takes failures one after the other; others do so beside it.
  void work(int number, const std::vector<Failure>& failures, std::atomic<std::size_t>& next,
            const Judge& judge) {
    const auto own = std::to_string(number);
    SharedState state(path("state" + own));
    for (std::size_t i; (i = next++) < failures.size();) {
      ++tried_;
      const auto folder = prepared("run" + own);
      const auto end = run_with_failure(words_of(scenario().arguments, inputs().path()), folder, state,
                                        failures[i], environment, limit_s);
      if (!state.has_failed()) continue;  // other threads took another turn: it was never reached
      ++(end.exit_status() == 0 ? went_on_ : failed_);
      if (const auto fault = judge.fault(end, folder, failures[i]); !fault.empty())
        tell(failures[i], end, fault);
    }
  }

  ScratchFolder folder_;
  std::mutex mutex_;
  int faults_ = 0;
  std::atomic<int> tried_ = 0, went_on_ = 0, failed_ = 0;
};

TEST_P(FailingCalls, leave_old_results_or_new_ones_and_one_line) {
  fs::create_directories(path("before/there"));
  if (*scenario().before) {
    const auto made = inputs().run(scenario().before, path("before"));
    ASSERT_EQ(made.exit_status(), 0) << made.err;
  }
  const auto before = files_in(path("before"));
  if (*scenario().killed) {
    const auto killed = inputs().kill(scenario().killed, path("before"), prepared("counted"));
    ASSERT_TRUE(WIFSIGNALED(killed.status)) << killed.err;
    ASSERT_TRUE(Judge::has_journal(files_in(path("before"))));
  }
  const auto clean = prepared("clean");
  SharedState state(path("state"));
  const auto end = run_with_failure(words_of(scenario().arguments, inputs().path()), clean, state, {call()},
                                    environment, limit_s);
  ASSERT_EQ(end.exit_status(), 0) << end.err;
  const auto count = state.count(call());
  std::vector<Failure> failures;
  for (const auto number : chosen(count))
    for (const bool goes_on : {false, true}) failures.push_back({call(), number, goes_on});
  const Judge judge(scenario(), before, files_in(clean), clean);
  std::atomic<std::size_t> next = 0;
  std::thread other([&] { work(1, failures, next, judge); });
  work(0, failures, next, judge);
  other.join();
  std::printf("calls: %s %s: %llu, tried %d: %d failed, %d went on, %d wrong\n", scenario().name,
              call_names[static_cast<std::size_t>(call())], static_cast<unsigned long long>(count),
              tried_.load(), failed_.load(), went_on_.load(), faults_);
}

/// Clusters limit addresses.
TEST(LimitedAddresses, end_in_a_result_or_a_failure_and_never_hang) {
  const ScratchFolder folder;
  for (const char* kib : {"120000", "300000", "600000", "1000000"}) {
    const auto line = "cd " + folder.path().string() + " && ulimit -v " + kib + " && exec timeout 60 " +
                      program_path() + " recon " + inputs().path() +
                      "/scan.h5 -o out --device cpu --cache off --force > out 2> err";
    const int status = exit_status(std::system(line.c_str()));
    constexpr int timed_out = 124;
    EXPECT_NE(status, timed_out) << kib;
    EXPECT_EQ(status == 0, fs::exists(folder / "out.h5")) << kib << ": " << bytes_of(folder / "err");
    fs::remove(folder / "out.h5");
  }
}

std::vector<Call> all_calls() {
  std::vector<Call> calls;
  for (std::size_t i = 0; i < call_kinds; ++i) calls.push_back(static_cast<Call>(i));
  return calls;
}

INSTANTIATE_TEST_SUITE_P(, FailingCalls,
                         testing::Combine(testing::ValuesIn(scenarios), testing::ValuesIn(all_calls())),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param).name) + "_" +
                                  call_names[static_cast<std::size_t>(std::get<1>(of.param))];
                         });

}  // namespace
}  // namespace fhd::tests
