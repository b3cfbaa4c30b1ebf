// Temporary files and the end of a process.
#include "io/files/unfinished_files.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <latch>
#include <thread>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

TEST(EndGates, let_many_threads_in_at_the_same_time) {
  constexpr int count = 8;
  EndGate gate;
  std::atomic<int> let_in = 0;
  std::barrier all_inside(count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      let_in += gate.enter() ? 1 : 0;
      all_inside.arrive_and_wait();  // passes only where all are inside
      gate.leave();
    });
  threads.clear();
  EXPECT_EQ(let_in, count);
  EXPECT_TRUE(gate.close());
}

/// Waits until a thread has begun to close the gate: it lets nobody in any more.
void wait_until_closing(EndGate& gate) {
  std::jthread([&] {
    for (; gate.enter(); std::this_thread::yield()) gate.leave();
  }).join();
}

TEST(EndGates, close_when_nobody_is_inside_and_let_nobody_in_any_more) {
  EndGate gate;
  std::atomic<bool> is_closed = false;
  ASSERT_TRUE(gate.enter());
  std::jthread end([&] {
    EXPECT_TRUE(gate.close());
    is_closed = true;
    EXPECT_TRUE(gate.enter()) << "whoever ends the process goes on";
    gate.leave();
    EXPECT_TRUE(gate.close()) << "and may end it again: by exit() after a signal";
  });
  wait_until_closing(gate);
  EXPECT_TRUE(gate.enter()) << "a nested entry does not wait for the end, which waits for it";
  gate.leave();
  EXPECT_FALSE(is_closed);
  gate.leave();
  end.join();
  EXPECT_TRUE(is_closed);
  EXPECT_FALSE(gate.enter());
}

TEST(EndGates, are_closed_by_a_thread_inside_once_the_others_are_out) {
  EndGate gate;
  std::atomic<bool> is_out = false;
  std::latch inside(1);
  std::jthread other([&] {
    EXPECT_TRUE(gate.enter());
    inside.count_down();
    wait_until_closing(gate);
    is_out = true;
    gate.leave();
  });
  inside.wait();
  ASSERT_TRUE(gate.enter());
  EXPECT_TRUE(gate.close());
  EXPECT_TRUE(is_out);
  gate.leave();
}

/// Two threads that end the process at once do not wait for each other.
TEST(EndGates, are_closed_by_one_thread_alone) {
  EndGate gate;
  ASSERT_TRUE(gate.enter());
  std::jthread first([&] { EXPECT_TRUE(gate.close()); });
  wait_until_closing(gate);
  EXPECT_FALSE(gate.close());
  first.join();
}

class UnfinishedFiles : public tests::ScratchTest {
 protected:
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder()), {}));
  }
  /// Returns what `work` returns in a forked process, as its exit status.
  template <class Work>
  static int status_of_child(const Work& work) {
    const pid_t child = fork();
    if (child == 0) _exit(work());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(UnfinishedFiles, are_removed_when_the_work_on_them_is_done) {
  EXPECT_EQ(status_of_child([&] {
              std::latch inside(1);
              const AtomicFile early(path("early"));
              std::thread([&] {
                const NoEndNow not_yet;
                inside.count_down();
                const AtomicFile late(path("late"));  // while the end waits, or before
                write_atomically(path("whole"), "text", 4);
              }).detach();
              inside.wait();
              remove_unfinished_files();
              return static_cast<int>(count());
            }),
            1);
  EXPECT_EQ(tests::bytes_of(path("whole")), "text");
}

TEST_F(UnfinishedFiles, of_the_process_that_forked_are_left_to_it) {
  const AtomicFile file(path("out"));
  std::latch inside(1), has_forked(1);
  std::jthread other([&] {
    const NoEndNow not_yet;
    inside.count_down();
    has_forked.wait();
  });
  inside.wait();
  const int status = status_of_child([&] {
    forget_unfinished_files();
    remove_unfinished_files();  // waits for no thread of the other process
    return static_cast<int>(count());
  });
  has_forked.count_down();
  EXPECT_EQ(status, 1);
  EXPECT_TRUE(fs::exists(file.temporary()));
}

}  // namespace
}  // namespace fhd::io
