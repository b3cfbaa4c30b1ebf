#pragma once
// `fhd serve` in the background, and the client's side of its sessions.
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "validation/bench/mrd_client.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {

using namespace validation;

/// Tests with a server at a port of its own.
class ServeTest : public ProgramTest {
 protected:
  void TearDown() override {
    if (server_ > 0) stop();
  }
  void serve(std::vector<std::string> options = {}) {
    setenv("OMP_NUM_THREADS", "2", 1);
    for (const char* word : {"0", "--port", "cpu", "--device", "serve"})
      options.insert(options.begin(), word);
    server_ = start(options);
    for (int i = 0; i < 3000 && port_ == 0; ++i) {
      const auto out = text("out_bg");
      const auto at = out.find("listening at 127.0.0.1:");
      if (at != std::string::npos && out.find('\n', at) != std::string::npos)
        port_ = std::stoi(out.substr(at + 23));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_GT(port_, 0) << text("err_bg");
  }
  int port() const { return port_; }
  pid_t server() const { return server_; }
  /// The exit status after SIGTERM; 128 where the server has died of a signal.
  int stop() {
    kill(server_, SIGTERM);
    int status = 0;
    const bool ended = waitpid(server_, &status, 0) == server_;
    server_ = 0;
    return ended ? exit_status(status) : 128;
  }
  void simulate(const std::string& name, const std::string& options) const {
    ASSERT_DONE(run("simulate -o " + name + " --no-maps --seed 3 " + options));
  }
  /// Returns all of /image.
  Array<Complex<float>> recon(const std::string& arguments, std::int64_t images, std::int64_t n) const {
    EXPECT_DONE(run("recon " + arguments + " -o made --force --device cpu --no-gridded-image"));
    return io::hdf5::File::open(path("made.h5")).dataset("/image").read<Complex<float>>({images, 1, 1, n, n});
  }
  /// A session of the file, with an image at its end.
  void expect_that_it_goes_on(const RecordedScan& scan) {
    MrdClient client(port());
    client.run(scan);
    EXPECT_EQ(client.images.size(), 1u) << client.error() << text("err_bg");
    EXPECT_TRUE(client.closed);
  }

 private:
  pid_t server_ = 0;
  int port_ = 0;
};

}  // namespace fhd::tests
