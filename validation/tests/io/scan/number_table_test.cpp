// Numbers of the user's, in text and in HDF5.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/companion_files.hpp"
#include "recon/error.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd {
namespace {

class NumberTable : public tests::ScratchTest {
 protected:
  std::string write(const std::string& name, const std::string& words) const {
    std::ofstream(path(name)) << words;
    return path(name);
  }
  static std::string refusal(const std::string& file) {
    try {
      io::read_number_table(file, "/numbers");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(NumberTable, of_text_has_a_row_for_each_line_that_says_something) {
  const auto table =
      io::read_number_table(write("t", "# heading\n1, 2.5\t-3e2\r\n\n+4 5 6 # six\n"), "/numbers");
  ASSERT_EQ(table.shape(), (Shape{2, 3}));
  const double expected[] = {1, 2.5, -300, 4, 5, 6};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(table[i], expected[i]);
}

TEST_F(NumberTable, of_hdf5_has_one_axis_or_two) {
  const double values[] = {1, 2, 3, 4, 5, 6};
  {
    auto file = io::hdf5::File::create(path("t.h5"), path("t.h5"), 0);
    file.write("/numbers", values, {2, 3});
    file.write("/others", values, {6});
    file.write("/cube", values, {1, 2, 3});
    file.close();
  }
  EXPECT_EQ(io::read_number_table(path("t.h5"), "/numbers").shape(), (Shape{2, 3}));
  EXPECT_EQ(io::read_number_table(path("t.h5"), "/others").shape(), (Shape{6, 1}));
  EXPECT_THROW(io::read_number_table(path("t.h5"), "/cube"), Error);
  EXPECT_THROW(io::read_number_table(path("t.h5"), "/none"), Error);
}

TEST_F(NumberTable, refuses_what_is_none_in_words_with_file_and_line) {
  EXPECT_EQ(refusal(write("a", "1 2\n3\n")),
            path("a") + ", line 2: expected 2 numbers, as in the first, found 1");
  EXPECT_EQ(refusal(write("b", "1\n1e999\n")),
            path("b") + ", line 2: expected finite numbers, found '1e999'");
  EXPECT_EQ(refusal(write("c", "1x\n")), path("c") + ", line 1: expected finite numbers, found '1x'");
  EXPECT_NE(refusal(write("d", "# nothing\n")), "");
  EXPECT_NE(refusal(path("absent")), "");
  EXPECT_NE(refusal(path("")), "");  // a folder
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal(path("pipe")), "");  // and does not wait for a writer
  EXPECT_NE(refusal("/dev/zero"), "");   // nor read for ever
}

}  // namespace
}  // namespace fhd
