// Files that are read in reader processes: the values are those that are read here, and whatever happens there is one Error.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "io/files/file_set.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/reader/confinement.hpp"
#include "io/reader/limits.hpp"
#include "io/reader/reader.hpp"
#include "io/result/nifti.hpp"
#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/reader/bytes_of_value.hpp"
#include "validation/tests/processes.hpp"

namespace fhd::io::reader {
namespace {

/// While it lives, files are read in this process.
struct Trusting {
  Trusting() { limits().trusts_input = true; }
  ~Trusting() { limits().trusts_input = false; }
};

class InReader : public FolderTest {
 protected:
  void SetUp() override { use(FHD_READER); }
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
  const auto there = open_scan(name, options);
  const Trusting here;
  const auto direct = open_scan(name, options);
  EXPECT_EQ(bytes_of_value(there->summary()), bytes_of_value(direct->summary()));
  EXPECT_EQ(there->reads_concurrently(), direct->reads_concurrently());
  const auto& summary = direct->summary();
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice)
      EXPECT_EQ(bytes_of_value(there->read(slice, repetition)),
                bytes_of_value(direct->read(slice, repetition)));
}

TEST_F(InReader, scans_are_the_same_bit_for_bit) {
  ReadOptions in_double, of_size, with_pieces;
  in_double.precision = Precision::double_precision;
  of_size.matrix_size = {12, 10, 1};
  with_pieces.outside.sensitivity_maps = with_pieces.outside.field_map = path("other.h5");
  expect_equal_ways(written(ScanFormat::fhd, 2));
  expect_equal_ways(path("scan.h5"), in_double);
  std::filesystem::copy_file(path("scan.h5"), path("other.h5"));
  expect_equal_ways(path("scan.h5"), with_pieces);
  expect_equal_ways(written(ScanFormat::bart), of_size);
  expect_equal_ways(written(ScanFormat::impatient));
  expect_equal_ways(written(ScanFormat::ismrmrd, 2));
}

// Positions and times that two volumes share pass between the processes once.
TEST_F(InReader, positions_and_times_of_a_volume_are_its_own) {
  ScanSeries series{5, 1, 16, {}};
  for (const unsigned seed : {1U, 1U, 2U, 1U, 1U}) {
    auto& scan = series.scans.emplace_back(random_scan({12, 10, 1}, 3, 16, 20, seed));
    scan.sample_time_s = Array<double>({scan.kspace.sample_count()});
    for (std::int64_t m = 0; m < scan.sample_time_s->size(); ++m)
      (*scan.sample_time_s)[m] = 1e-6 * static_cast<double>(m);
  }
  for (auto& value : *series.scans.back().sample_time_s) value *= 2;
  write_scan(path("scan.h5"), ScanFormat::fhd, series);
  expect_equal_ways(path("scan.h5"));
  const auto file = open_scan(path("scan.h5"));
  const Scan first = file->read(0, 0);
  Scan changed = file->read(0, 1);
  EXPECT_EQ(bytes_of_value(first.trajectory), bytes_of_value(changed.trajectory));
  changed.trajectory.k[0] += 1;
  EXPECT_EQ(bytes_of_value(file->read(0, 3).trajectory), bytes_of_value(first.trajectory));
}

TEST_F(InReader, images_and_volumes_are_the_same_bit_for_bit) {
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
  const auto there = read_image(path("image.h5"));
  EXPECT_EQ(bytes_of_value(there), bytes_of_value(read_image_here(path("image.h5"), "/image")));
  EXPECT_EQ(there.images.size(), 2u);
  EXPECT_CONTAINS(error_of([&] { read_image(path("image.h5"), "/none"); }), "/none");
}

TEST_F(InReader, an_error_is_the_same_line) {
  write_text(path("text.h5"), "no HDF5");
  for (const auto* name : {"text.h5", "absent.h5"}) {
    const auto there = error_of([&] { open_scan(path(name)); });
    const Trusting here;
    EXPECT_NE(there, "");
    EXPECT_EQ(there, error_of([&] { open_scan(path(name)); }));
  }
}

TEST_F(InReader, a_copy_is_the_same_file) {
  const auto name = written(ScanFormat::ismrmrd);
  const auto file = open_scan(name);
  convert_scan(*file, name, {}, path("there.mrd"), ScanFormat::ismrmrd);
  const Trusting here;
  convert_scan(*file, name, {}, path("here.mrd"), ScanFormat::ismrmrd);
  EXPECT_GT(bytes_of(path("there.mrd")).size(), 1000u);
  EXPECT_EQ(bytes_of(path("there.mrd")), bytes_of(path("here.mrd")));
}

TEST_F(InReader, relative_names_are_those_of_the_program) {
  written(ScanFormat::fhd);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder());
  EXPECT_EQ(open_scan("scan.h5")->summary().path, "scan.h5");
  std::filesystem::current_path(before);
}

TEST_F(InReader, threads_read_side_by_side) {
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

std::size_t descriptor_count() {
  std::size_t count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST_F(InReader, a_hundred_files_leave_no_process_and_no_descriptor) {
  const auto name = written(ScanFormat::fhd);
  open_scan(name)->read(0, 0);
  const auto before = descriptor_count();
  for (int i = 0; i < 100; ++i) open_scan(name)->read(0, 0);
  EXPECT_EQ(descriptor_count(), before);
  EXPECT_EQ(tests::children_of(getpid()).size(), 0u);
}

TEST_F(InReader, a_program_that_is_not_there_is_one_line) {
  use(path("none"));
  EXPECT_CONTAINS(error_of([&] { open_scan(written(ScanFormat::fhd)); }), "install fhd again");
}

// --- Processes that came to harm, or were taken over (fake_reader.cpp)

class Harm : public FolderTest {
 protected:
  void SetUp() override { write_text(path("file.h5"), "anything"); }
  void TearDown() override { limits() = {}; }
  static void fake(const std::string& life) {
    setenv("FHD_FAKE", life.c_str(), 1);
    use(FHD_FAKE_READER);
  }
  std::string text_of(const std::string& life) const {
    fake(life);
    return text_in_hdf5(path("file.h5"), "/name");
  }
  std::string error_with(const std::string& life) const {
    return error_of([&] { text_of(life); });
  }
};

TEST_F(Harm, is_one_line) {
  for (const auto& [life, line] : std::initializer_list<std::pair<const char*, const char*>>{
           {"segfault",
            "file.h5: expected a file that can be read, found one on which the process that reads it ended "
            "by signal 11 (Segmentation fault); the file is damaged"},
           {"abort in an answer", "ended by signal 6 (Aborted)"},
           {"kill", "as when memory runs out"},
           {"exit", "with status 3"},
           {"absurd length", "values that fit into the memory"},
           {"no memory", "raise the limit with --input-memory GIB"}})
    EXPECT_CONTAINS(error_with(life), line) << life;
  EXPECT_EQ(error_with("long error").size(), 4096u);
}

TEST_F(Harm, ends_by_the_time_of_the_processor_or_by_the_clock) {
  EXPECT_CONTAINS(error_with("loop"),
                  "takes longer than 1.2 s of a processor; raise the limit with --input-seconds N");
  limits().seconds = 0.2;
  for (const char* life : {"wait", "trickle"}) EXPECT_CONTAINS(error_with(life), "takes longer than 0.2 s; ");
}

TEST_F(Harm, large_arrays_arrive_whole) {
  fake("large array");
  const auto values = read_number_table(path("file.h5"), "/data");
  ASSERT_EQ(values.size(), 3 << 20);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) wrong += values[i] == static_cast<double>(i) ? 0 : 1;
  EXPECT_EQ(wrong, 0);
}

TEST_F(Harm, values_that_no_file_has_are_refused) {
  for (const char* what :
       {"slices", "coils", "volumes", "samples", "readouts", "echo", "matrix", "FOV", "unit"}) {
    fake(std::string("absurd ") + what);
    EXPECT_CONTAINS(error_of([&] { open_scan(path("file.h5")); }), "numbers that no scan has") << what;
  }
  fake("other shape");
  EXPECT_CONTAINS(error_of([&] { read_image(path("file.h5")); }), "found [1][1][2]");
}

TEST_F(Harm, does_not_reach_the_next_file) {
  EXPECT_CONTAINS(error_with("segfault of file.h5"), "signal 11");
  write_text(path("good.h5"), "anything");
  EXPECT_EQ(text_in_hdf5(path("good.h5"), "/name"), "well");
}

// --- What a reader process may do

using Confined = Harm;

bool offers(const char* what) { return text_of_confinement().find(what) != std::string::npos; }

TEST_F(Confined, its_file_is_open_to_it_and_no_other) {
  if (!offers("(Landlock)")) GTEST_SKIP() << text_of_confinement();
  write_text(path("other.h5"), "secret");
  EXPECT_EQ(text_of("open other"), "own");
}

TEST_F(Confined, nothing_is_written_and_no_process_network_or_code_begun) {
  if (!offers("(seccomp)")) GTEST_SKIP() << text_of_confinement();
  const auto said = text_of("write") + text_of("calls");
  EXPECT_EQ(said.find("done"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(path("file.h5.new")));
}

TEST_F(Confined, memory_and_copies_are_bounded_and_threads_allowed) {
  if (offers("memory is not")) GTEST_SKIP() << text_of_confinement();
  EXPECT_EQ(text_of("memory"), "done, Cannot allocate memory");
  EXPECT_EQ(text_of("long copy"), "done, File too large");
  EXPECT_EQ(text_of("thread"), "from a thread");
}

// --- The end of the program

TEST_F(Harm, the_end_of_the_program_ends_its_processes) {
  use(FHD_READER);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t program = fork();
  if (program == 0) {
    start_ahead();
    static_cast<void>(!::write(ready[1], "x", 1));
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto children = tests::children_of(program);
  ASSERT_EQ(children.size(), 1u);
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
  for (int look = 0; look < 500 && kill(children[0].number, 0) == 0; ++look) {
    std::ifstream file("/proc/" + std::to_string(children[0].number) + "/stat");
    std::string line;
    if (!std::getline(file, line) || line.find(") Z ") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_NE(kill(children[0].number, 0), 0);
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
}  // namespace fhd::io::reader
