// Stored bytes: all of a usual file, few of one with holes.
#include "io/files/stored_bytes.hpp"

#include <fcntl.h>

#include <filesystem>

#include "io/files/input_file.hpp"
#include "io/scan/cfl_file.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class StoredBytes : public FolderTest {
 protected:
  /// `stored` bytes, and then a hole.
  std::string file(const std::string& name, std::size_t stored, std::uintmax_t size) const {
    write_text(path(name), std::string(stored, 'x'));
    std::filesystem::resize_file(path(name), size);
    return path(name);
  }
};

TEST_F(StoredBytes, are_the_size_of_a_file_without_holes) {
  for (const std::size_t size : {0, 1, 100, 5000, 1 << 20})
    EXPECT_EQ(stored_bytes_of(file("whole", size, size)), size);
  EXPECT_EQ(stored_bytes_of(path("absent")), 0u);
  EXPECT_EQ(stored_bytes_of(path("")), 0u) << "a folder";
}

TEST_F(StoredBytes, are_no_more_than_can_be_made_of_what_is_on_the_disk) {
  constexpr std::uintmax_t gib = std::uintmax_t{1} << 30;
  // Zeros that a file system may have compressed count.
  EXPECT_EQ(stored_bytes_of(file("short", 5000, 4 << 20)), 4u << 20);
  const auto bytes = stored_bytes_of(file("long", 5000, 3 * gib));
  EXPECT_GE(bytes, 5000u);
  EXPECT_LE(bytes, 40'000 * 1032u);
  EXPECT_LE(stored_bytes_of(file("empty", 0, 3 * gib)), 4096 * 1032u);
}

TEST_F(StoredBytes, a_file_of_holes_is_refused_where_it_is_opened) {
  const auto name = file("holes.cfl", 100, std::uintmax_t{8} << 30);
  EXPECT_CONTAINS(error_of([&] { InputFile{name}; }), "holes.cfl: expected a file of which all is stored");
  EXPECT_CONTAINS(error_of([&] { content_of_file(name, ~std::uint64_t{0}, "text"); }), "(a sparse file)");
  write_text(path("holes.hdr"), "# Dimensions\n1 1024 1024 1024\n");
  EXPECT_CONTAINS(error_of([&] { cfl::CflFile{path("holes")}; }), "(a sparse file)");
}

}  // namespace
}  // namespace fhd::io
