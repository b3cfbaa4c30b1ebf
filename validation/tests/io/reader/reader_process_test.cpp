// Files through the door: what comes out is what is read here, and what happens behind it is one Error.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <set>
#include <sstream>
#include <thread>

#include "io/reader/confinement.hpp"
#include "io/reader/end_of_memory.hpp"
#include "io/reader/guard.hpp"
#include "io/reader/readers.hpp"
#include "io/scan/number_table.hpp"
#include "io/result/nifti.hpp"
#include "io/result/results.hpp"
#include "io/scan/nifti_volume.hpp"
#include "validation/tests/io/reader/bytes_of_value.hpp"
#include "validation/tests/io/reader/fake_reader.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/processes.hpp"

namespace fhd::io::guard {
namespace {

/// Before main, and so before the first thread.
const bool begun = (begin_host(), true);

/// Files are read here while it is there.
struct Trusting {
  Trusting() { limits().trusts_input = true; }
  ~Trusting() { limits().trusts_input = false; }
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::size_t descriptor_count() {
  std::size_t count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

class Apart : public FolderTest {
 protected:
  std::string written(ScanFormat format, int repetitions = 1) {
    ScanSeries series{repetitions, 2, 16, {}};
    for (int i = 0; i < 2 * repetitions; ++i)
      series.scans.push_back(random_scan({12, 10, 1}, 3, 16, 20, 1 + static_cast<unsigned>(i)));
    for (auto& scan : series.scans) scan.trajectory.k = Array(series.scans.front().trajectory.k);
    const auto name = path(format == ScanFormat::bart        ? "scan.cfl"
                           : format == ScanFormat::impatient ? "scan"
                                                             : "scan.h5");
    if (format == ScanFormat::impatient) {
      series.slice_count = 1;
      series.scans.resize(1);
    }
    write_scan(name, format, series);
    return name;
  }
};

void expect_equal_ways(const std::string& name, ReadOptions options = {}) {
  const auto apart = open_scan(name, options);
  const Trusting here;
  const auto direct = open_scan(name, options);
  EXPECT_EQ(bytes_of_value(apart->summary()), bytes_of_value(direct->summary()));
  EXPECT_EQ(apart->reads_concurrently(), direct->reads_concurrently());
  const auto& summary = direct->summary();
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice)
      EXPECT_EQ(bytes_of_value(apart->read(slice, repetition)),
                bytes_of_value(direct->read(slice, repetition)));
}

TEST_F(Apart, fhd_files_are_the_same_bit_for_bit) {
  const auto name = written(ScanFormat::fhd, 2);
  expect_equal_ways(name);
  ReadOptions in_double;
  in_double.precision = Precision::double_precision;
  expect_equal_ways(name, in_double);
}

TEST_F(Apart, ismrmrd_files_are_the_same_bit_for_bit) { expect_equal_ways(written(ScanFormat::ismrmrd, 2)); }

TEST_F(Apart, bart_files_are_the_same_bit_for_bit) {
  const auto name = written(ScanFormat::bart);
  ReadOptions options;
  options.matrix_size = {12, 10, 1};
  expect_equal_ways(name, options);
}

TEST_F(Apart, impatient_directories_are_the_same_bit_for_bit) {
  expect_equal_ways(written(ScanFormat::impatient));
}

TEST_F(Apart, pieces_from_other_files_are_the_same_bit_for_bit) {
  const auto name = written(ScanFormat::fhd);
  const auto other = path("other.h5");
  std::filesystem::copy_file(name, other);
  ReadOptions options;
  options.outside.sensitivity_maps = other;
  options.outside.field_map = other;
  expect_equal_ways(name, options);
}

TEST_F(Apart, images_and_volumes_are_the_same_bit_for_bit) {
  ImageSeries series{1, 2, {}};
  for (unsigned i = 1; i <= 2; ++i) {
    auto& image = series.images.emplace_back();
    const auto scan = random_scan({8, 6, 1}, 1, 8, 6, i);
    image.geometry = scan.geometry;
    image.values = Array<Complex<float>>(scan.geometry.image_shape());
    std::copy_n(scan.kspace.values.begin(), image.values.size(), image.values.begin());
  }
  const OutputLock lock(path("image"));
  FileSet files(lock);
  write_image_file(files, path("image.h5"), {{"/image", &series}});
  files.commit();
  const auto apart = read_image(path("image.h5"));
  EXPECT_EQ(bytes_of_value(apart), bytes_of_value(read_image_here(path("image.h5"), "/image")));
  EXPECT_EQ(apart.images.size(), 2u);
  EXPECT_CONTAINS(error_of([&] { read_image(path("image.h5"), "/none"); }), "/none");
}

TEST_F(Apart, an_error_is_the_same_line) {
  write_text(path("text.h5"), "no HDF5");
  for (const auto* name : {"text.h5", "absent.h5"}) {
    const auto apart = error_of([&] { open_scan(path(name)); });
    const Trusting here;
    EXPECT_NE(apart, "");
    EXPECT_EQ(apart, error_of([&] { open_scan(path(name)); }));
  }
}

TEST_F(Apart, a_copy_is_the_same_file) {
  const auto name = written(ScanFormat::ismrmrd);
  const auto file = open_scan(name);
  convert_scan(*file, name, {}, path("apart.mrd"), ScanFormat::ismrmrd);
  const Trusting here;
  convert_scan(*file, name, {}, path("here.mrd"), ScanFormat::ismrmrd);
  EXPECT_GT(bytes_of(path("apart.mrd")).size(), 1000u);
  EXPECT_EQ(bytes_of(path("apart.mrd")), bytes_of(path("here.mrd")));
}

TEST_F(Apart, relative_names_are_those_of_the_program) {
  written(ScanFormat::fhd);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder());
  EXPECT_EQ(open_scan("scan.h5")->summary().path, "scan.h5");
  std::filesystem::current_path(before);
}

TEST_F(Apart, threads_read_side_by_side) {
  const auto name = written(ScanFormat::ismrmrd, 4);
  const auto file = open_scan(name);
  const Trusting here;
  const auto direct = open_scan(name);
  std::vector<std::future<std::string>> read;
  for (int i = 0; i < 16; ++i)
    read.push_back(
        std::async(std::launch::async, [&, i] { return bytes_of_value(file->read(i % 2, i / 2 % 4)); }));
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(read[static_cast<std::size_t>(i)].get(), bytes_of_value(direct->read(i % 2, i / 2 % 4))) << i;
}

TEST_F(Apart, a_hundred_files_leave_no_process_and_no_descriptor) {
  const auto name = written(ScanFormat::fhd);
  open_scan(name)->read(0, 0);
  const auto before = descriptor_count();
  for (int i = 0; i < 100; ++i) open_scan(name)->read(0, 0);
  EXPECT_EQ(descriptor_count(), before);
  for (int wait = 0; wait < 100; ++wait) {
    std::size_t left = 0;
    for (const auto& host : tests::children_of(getpid())) left += tests::children_of(host.number).size();
    if (left == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << "processes are left";
}

// --- Processes that came to harm, or were taken over

using Life = void (*)(const ChannelEnds*, std::size_t);

class Harm : public FolderTest {
 protected:
  void SetUp() override { write_text(path("file.h5"), "anything"); }
  void TearDown() override { limits() = {}; }
  std::string error_with(Life life) const {
    begin_host(life);
    return error_of([&] { text_in_hdf5(path("file.h5"), "/name"); });
  }
};

TEST_F(Harm, a_signal_is_one_line) {
  const auto line = error_with([](const ChannelEnds* channels, std::size_t) {
    const FakeReader reader(channels);
    raise(SIGSEGV);
  });
  EXPECT_CONTAINS(line, "file.h5");
  EXPECT_CONTAINS(line, "ended by signal 11 (Segmentation fault)");
  EXPECT_CONTAINS(line, "damaged");
}

TEST_F(Harm, a_signal_in_the_middle_of_an_answer_is_one_line) {
  const auto line = error_with([](const ChannelEnds* channels, std::size_t) {
    FakeReader reader(channels);
    reader.answer(Outcome::result, std::uint64_t{100}, std::uint32_t{0});
    raise(SIGABRT);
  });
  EXPECT_CONTAINS(line, "ended by signal 6 (Aborted)");
}

TEST_F(Harm, an_end_by_the_system_is_one_line) {
  EXPECT_CONTAINS(error_with([](const ChannelEnds* channels, std::size_t) {
                    const FakeReader reader(channels);
                    raise(SIGKILL);
                  }),
                  "as when memory runs out");
}

TEST_F(Harm, an_exit_as_of_a_sanitizer_is_one_line) {
  EXPECT_CONTAINS(error_with([](const ChannelEnds* channels, std::size_t) {
                    const FakeReader reader(channels);
                    _exit(3);
                  }),
                  "with status 3");
}

TEST_F(Harm, a_loop_ends_by_the_time_of_the_processor) {
  const double seconds = seconds_of([&] {
    EXPECT_CONTAINS(error_with([](const ChannelEnds* channels, std::size_t) {
                      const FakeReader reader(channels);
                      for (volatile unsigned turns = 0;;) turns = turns + 1;
                    }),
                    "takes longer than 1.2 s of a processor; if it is a good file, --input-seconds N");
  });
  EXPECT_GE(seconds, 1.2);
}

TEST_F(Harm, one_that_waits_ends_by_the_clock) {
  limits().seconds = 0.2;
  EXPECT_CONTAINS(error_with([](const ChannelEnds* channels, std::size_t) { FakeReader(channels).wait(); }),
                  "takes longer than 0.2 s; ");
}

TEST_F(Harm, one_that_answers_for_ever_ends_by_the_clock) {
  limits().seconds = 0.2;
  EXPECT_CONTAINS(error_with([](const ChannelEnds* channels, std::size_t) {
                    FakeReader reader(channels);
                    reader.answer(Outcome::result, std::uint64_t{1} << 20);
                    for (;;) {
                      reader.answer(char{'x'});
                      usleep(30000);
                    }
                  }),
                  "takes longer than 0.2 s; ");
}

TEST_F(Harm, absurd_lengths_are_refused) {
  EXPECT_CONTAINS(error_with([](const ChannelEnds* channels, std::size_t) {
                    FakeReader reader(channels);
                    reader.answer(Outcome::result, std::uint64_t{1} << 62);
                    reader.wait();
                  }),
                  "values that fit into the memory");
}

TEST_F(Harm, memory_that_it_does_not_have_is_refused) {
  begin_host([](const ChannelEnds* channels, std::size_t) {
    FakeReader reader(channels);
    const std::optional<std::uint64_t> address = 4096;
    reader.answer(Outcome::result, std::int32_t{2}, std::int64_t{1} << 18, std::int64_t{1}, address);
    reader.wait();
  });
  EXPECT_CONTAINS(error_of([&] { read_number_table(path("file.h5"), "/data"); }), "made to do harm");
}

/// More than is copied at once. Where the system keeps the memory of processes apart, all of it passes through the pipe.
TEST_F(Harm, large_arrays_arrive_whole) {
  constexpr std::int64_t count = 3 << 20;
  begin_host([](const ChannelEnds* channels, std::size_t) {
    FakeReader reader(channels);
    omp_set_num_threads(1);  // it may be the copy of a process that had threads
    Array<double> values({count, 1});
    for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
    reader.answer_with(reader.opening.lends, Outcome::result, values);
    reader.wait();
  });
  const auto values = read_number_table(path("file.h5"), "/data");
  ASSERT_EQ(values.size(), count);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) wrong += values[i] == static_cast<double>(i) ? 0 : 1;
  EXPECT_EQ(wrong, 0);
}

TEST_F(Harm, an_error_of_any_length_is_cut) {
  const auto line = error_with([](const ChannelEnds* channels, std::size_t) {
    FakeReader reader(channels);
    reader.answer(Outcome::error, std::string(1 << 20, 'x'));
    reader.wait();
  });
  EXPECT_EQ(line.size(), 4096u);
}

/// What a scan may not say of itself.
using Absurdity = void (*)(ScanSummary&);
const Absurdity absurdities[]{
    [](ScanSummary& summary) { summary.slice_count = -1; },
    [](ScanSummary& summary) { summary.coil_count = 1 << 16; },
    [](ScanSummary& summary) { summary.slice_count = summary.repetition_count = 1 << 20; },
    [](ScanSummary& summary) { summary.samples_per_scan = std::int64_t{1} << 62; },
    [](ScanSummary& summary) { summary.readout_length = -2; },
    [](ScanSummary& summary) { summary.echo_times_s = {NAN}; },
    [](ScanSummary& summary) { summary.geometry.matrix_size[1] = 4097; },
    [](ScanSummary& summary) { summary.geometry.fov_mm[2] = 1e-300; },
    [](ScanSummary& summary) { summary.unit_geometry.fov_mm[0] = INFINITY; },
};
int absurdity = 0;

TEST_F(Harm, numbers_that_no_scan_has_are_refused) {
  for (absurdity = 0; absurdity < static_cast<int>(std::size(absurdities)); ++absurdity) {
    begin_host([](const ChannelEnds* channels, std::size_t) {
      FakeReader reader(channels);
      ScanSummary summary;
      summary.coil_count = 1;
      absurdities[absurdity](summary);
      reader.answer(Outcome::result, std::pair(summary, false));
      reader.wait();
    });
    EXPECT_CONTAINS(error_of([&] { open_scan(path("file.h5")); }), "numbers that no scan has") << absurdity;
  }
}

TEST_F(Harm, an_end_for_want_of_memory_says_how_to_have_more) {
  EXPECT_CONTAINS(error_with([](const ChannelEnds* channels, std::size_t) {
                    const FakeReader reader(channels);
                    _exit(status_without_memory);
                  }),
                  "--input-memory GIB allows more");
}

TEST_F(Harm, images_of_another_shape_are_refused) {
  begin_host([](const ChannelEnds* channels, std::size_t) {
    FakeReader reader(channels);
    ImageSeries series;
    series.images.resize(1);
    series.images[0].geometry.matrix_size = {64, 64, 1};
    series.images[0].values = Array<Complex<float>>({1, 1, 2});
    reader.answer(Outcome::result, series);
    reader.wait();
  });
  EXPECT_CONTAINS(error_of([&] { read_image(path("file.h5")); }), "values that are none");
}

TEST_F(Harm, the_next_file_is_read) {
  EXPECT_CONTAINS(error_with([](const ChannelEnds* channels, std::size_t) {
                    FakeReader reader(channels);
                    if (reader.path.ends_with("file.h5")) raise(SIGSEGV);
                    reader.answer(Outcome::result, std::string("well"));
                    reader.wait();
                  }),
                  "signal 11");
  write_text(path("good.h5"), "anything");
  EXPECT_EQ(text_in_hdf5(path("good.h5"), "/name"), "well");
}

TEST_F(Harm, without_a_host_nothing_is_read) {
  begin_host();
  for (const auto& host : tests::children_of(getpid())) kill(host.number, SIGKILL);
  for (const auto& host : tests::children_of(getpid())) waitpid(host.number, nullptr, 0);
  EXPECT_THROW(open_scan(path("file.h5")), HostGone);
  const auto line = error_of([&] { open_scan(path("file.h5")); });
  EXPECT_CONTAINS(line, "expected a process of its own, found that what starts them was ended");
}

// --- What such a process may do

/// The answer is what `work` says, behind the limits.
template <class Work>
void say(const ChannelEnds* channels, Work work) {
  FakeReader reader(channels);
  confine({reader.opening.memory_bytes, 1, reader.opening.inputs, reader.opening.outputs});
  reader.answer(Outcome::result, std::string(work(reader)));
  reader.wait();
}

class Confined : public Harm {
 protected:
  std::string said_by(Life life) const {
    begin_host(life);
    return text_in_hdf5(path("file.h5"), "/name");
  }
};

std::string errno_text(bool succeeded) { return succeeded ? "done" : std::strerror(errno); }

TEST_F(Confined, its_file_is_open_to_it_and_no_other) {
  write_text(path("other.h5"), "secret");
  const auto said = said_by([](const ChannelEnds* channels, std::size_t) {
    say(channels, [](FakeReader& reader) {
      const int own = open(reader.path.c_str(), O_RDONLY);
      const auto folder = reader.path.substr(0, reader.path.rfind('/'));
      const int other = open((folder + "/other.h5").c_str(), O_RDONLY);
      return std::string(own >= 0 ? "own" : "none") + (other >= 0 ? " and other" : "");
    });
  });
  if (text_of_confinement().find("no Landlock") != std::string::npos) GTEST_SKIP() << text_of_confinement();
  EXPECT_EQ(said, "own");
}

TEST_F(Confined, nothing_is_written) {
  const auto said = said_by([](const ChannelEnds* channels, std::size_t) {
    say(channels, [](FakeReader& reader) {
      return errno_text(open(reader.path.c_str(), O_WRONLY) >= 0) + ", " +
             errno_text(open((reader.path + ".new").c_str(), O_WRONLY | O_CREAT, 0600) >= 0);
    });
  });
  EXPECT_EQ(said.find("done"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(path("file.h5.new")));
}

TEST_F(Confined, no_process_no_network_no_code) {
  const auto said = said_by([](const ChannelEnds* channels, std::size_t) {
    say(channels, [](FakeReader&) {
      const pid_t copy = fork();
      if (copy == 0) _exit(0);
      const void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return errno_text(copy > 0) + ", " + errno_text(socket(AF_INET, SOCK_STREAM, 0) >= 0) + ", " +
             errno_text(code != MAP_FAILED) + ", " + errno_text(kill(getppid(), 0) == 0) + ", " +
             errno_text(fcntl(STDERR_FILENO, F_SETOWN, getppid()) == 0) + ", " +
             errno_text(fcntl(STDERR_FILENO, F_SETSIG, SIGKILL) == 0);
    });
  });
  if (text_of_confinement().find("lets nobody") != std::string::npos) GTEST_SKIP() << text_of_confinement();
  EXPECT_EQ(said.find("done"), std::string::npos) << said;
}

TEST_F(Confined, memory_is_limited) {
  if (text_of_confinement().starts_with("time is limited, memory is not"))
    GTEST_SKIP() << text_of_confinement();
  const auto said = said_by([](const ChannelEnds* channels, std::size_t) {
    say(channels, [](FakeReader&) {
      const auto room = [](std::size_t bytes) {
        return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
      };
      const auto first = errno_text(room(std::size_t{100} << 20));
      return first + ", " + errno_text(room(std::size_t{200} << 20));
    });
  });
  EXPECT_EQ(said, "done, Cannot allocate memory");
}

TEST_F(Confined, threads_are_allowed) {
  const auto said = said_by([](const ChannelEnds* channels, std::size_t) {
    say(channels, [](FakeReader&) {
      std::string text;
      std::thread([&] { text = "from a thread"; }).join();
      return text;
    });
  });
  EXPECT_EQ(said, "from a thread");
}

TEST_F(Confined, what_a_copy_may_write_is_bounded) {
  const auto said = said_by([](const ChannelEnds* channels, std::size_t) {
    FakeReader reader(channels);
    const auto output = reader.path + ".copy";
    signal(SIGXFSZ, SIG_IGN);  // as the host does
    constexpr std::uint64_t most = std::uint64_t{64} << 20;
    confine({most, 1, reader.opening.inputs, {output}});
    const int file = open(output.c_str(), O_WRONLY | O_NOFOLLOW);
    const auto within = errno_text(ftruncate(file, most) == 0);
    reader.answer(Outcome::result, within + ", " + errno_text(ftruncate(file, most + 1) == 0));
    reader.wait();
  });
  EXPECT_EQ(said, "done, File too large");
}

/// From now on the kernel refuses this call of this process, where its argument of this number is none of the null pointer.
bool refuse_call(int call, std::size_t argument) {
  const auto place = static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * argument);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | E2BIG),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// What `confine` says where the kernel refuses a call.
template <int call, std::size_t argument>
void say_refusal(const ChannelEnds* channels, std::size_t) {
  FakeReader reader(channels);
  std::string said = "no filter";
  if (refuse_call(call, argument))
    said = error_of([&] { confine({std::uint64_t{64} << 20, 1, reader.opening.inputs, {}}); });
  reader.answer(Outcome::result, said);
  reader.wait();
}

// What the kernel offers and then refuses was left out without a word.
TEST_F(Confined, a_confinement_that_is_not_in_force_is_an_error) {
  if (text_of_confinement().find("Landlock)") == std::string::npos ||
      text_of_confinement().find("lets nobody") != std::string::npos)
    GTEST_SKIP() << text_of_confinement();
  constexpr std::size_t rules = 0, program = 2;
  EXPECT_CONTAINS(
      said_by(say_refusal<SYS_landlock_restrict_self, rules>),
      "reading in a process of its own: other files: expected rules of the kernel (Landlock), found "
      "Argument list too long; --trust-input reads files that you trust without one");
  EXPECT_CONTAINS(said_by(say_refusal<SYS_prctl, program>),
                  "calls of the kernel: expected a filter (seccomp)");
}

// --- The end of the program

TEST_F(Harm, the_end_of_the_program_ends_its_processes) {
  const pid_t program = fork();
  if (program == 0) {
    begin_host([](const ChannelEnds* channels, std::size_t) { FakeReader(channels).wait(); });
    try {
      text_in_hdf5(path("file.h5"), "/name");
    } catch (const Error&) {
    }
    _exit(0);
  }
  std::set<pid_t> processes;
  for (int wait = 0; wait < 500 && processes.size() < 2; ++wait) {
    processes.clear();
    for (const auto& host : tests::children_of(program)) {
      processes.insert(host.number);
      for (const auto& reader : tests::children_of(host.number)) processes.insert(reader.number);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(processes.size(), 2u);
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
  for (int wait = 0; wait < 500 && !processes.empty(); ++wait) {
    std::erase_if(processes, [](pid_t process) {
      std::ifstream file("/proc/" + std::to_string(process) + "/stat");
      std::string line;
      return !std::getline(file, line) || line.find(") Z ") != std::string::npos;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(processes.empty());
}

TEST(Limits, grow_with_the_file) {
  const auto small = allowance_of(100'000, {}), large = allowance_of(std::uint64_t{1} << 30, {});
  EXPECT_LE(small.memory_bytes, std::uint64_t{300} << 20);
  EXPECT_LE(small.processor_s, 1.3);
  EXPECT_GE(large.memory_bytes, std::uint64_t{8} << 30);
  EXPECT_GE(large.clock_s, 30 + 50);
  const auto said = allowance_of(100'000, {false, 2, 7});
  EXPECT_EQ(said.memory_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(said.processor_s, 7);
  EXPECT_EQ(said.clock_s, 7);
}

}  // namespace
}  // namespace fhd::io::guard
