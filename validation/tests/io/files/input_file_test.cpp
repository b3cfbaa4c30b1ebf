// Inputs that are no regular files are refused at once: a pipe waits for its writer, a device may never end.
#include "io/files/input_file.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/result/manifest.hpp"
#include "io/scan/checksum.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class InputFiles : public FolderTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(socket_);
  }
};

TEST_F(InputFiles, pipes_devices_sockets_and_directories_are_refused_without_waiting) {
  for (const std::string& name :
       {path("pipe"), path("socket"), std::string("/dev/zero"), std::string("/dev/null")}) {
    EXPECT_EQ(error_of([&] { InputFile file(name); }),
              name +
                  ": expected a readable file, found a pipe, a device or a socket; save what it delivers as "
                  "a file first");
    EXPECT_CONTAINS(error_of([&] { content_of_file(name, 10, "a list"); }),
                    name + ": expected a list, found a pipe");
    EXPECT_CONTAINS(error_of([&] { checksum_of(name, 1); }), "a pipe, a device or a socket");
  }
  EXPECT_CONTAINS(error_of([&] { InputFile file(folder().string()); }), "found a directory");
  EXPECT_EQ(error_of([&] { InputFile file(path("none")); }),
            path("none") + ": expected a readable file, found none");
}

// A directory of that name ended a batch with "unexpected failure".
TEST_F(InputFiles, a_manifest_that_is_no_file_is_none) {
  EXPECT_FALSE(read_manifest(path("pipe")));
  EXPECT_FALSE(read_manifest(folder().string()));
  EXPECT_FALSE(read_manifest("/dev/zero"));
}

TEST_F(InputFiles, are_read_anywhere_and_whole) {
  write_text(path("text"), "0123456789");
  const InputFile file(path("text"));
  EXPECT_EQ(file.size(), 10U);
  std::string part(4, ' ');
  file.read(3, part.data(), part.size());
  EXPECT_EQ(part, "3456");
  EXPECT_CONTAINS(error_of([&] { file.read(8, part.data(), part.size()); }), "changes while it is read");
  EXPECT_EQ(content_of_file(path("text"), 10, "a text"), "0123456789");
  EXPECT_EQ(error_of([&] { content_of_file(path("text"), 9, "a text"); }),
            path("text") + ": expected a text of at most 9 bytes, found 10");
}

}  // namespace
}  // namespace fhd::io
