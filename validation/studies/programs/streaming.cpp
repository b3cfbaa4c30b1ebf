// `fhd serve` at full speed: how soon images are there, how many a second, and whether they are those of `fhd recon`.
//
//     streaming PROGRAM FOLDER [DEVICE [FRAMES [SESSIONS]]]        e.g. streaming build/release/fhd out/streaming cuda 400
//
// Radial scans of 8 coils, 128 x 128, 34 spokes an image (validation/bench/mrd_client.hpp sends them): `series`, the same
// spokes in every image; `golden`, a moving object with golden angles. Of each: from the moment at which the last readout of
// the first image is sent until the image is there, of a new server and of later sessions (the least), also with readouts
// that come 5 ms apart; images per second from the first to the last; seconds of all processors for an image; the largest
// relative l2 difference to the images that `fhd recon` makes of the same scan, all of them where maps are given or none are
// used, else the first.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <thread>

#include "recon/error.hpp"
#include "validation/bench/mrd_client.hpp"

namespace {

using namespace fhd;
using namespace fhd::validation;
using Clock = std::chrono::steady_clock;

constexpr std::size_t spokes = 34;
constexpr int matrix = 128, coils = 8;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

void run(const std::string& command) {
  if (std::system((command + " > /dev/null").c_str()) != 0) throw Error(command, "to succeed", "a failure");
}

/// `fhd serve` in the background.
class Server {
 public:
  Server(const std::string& program, const std::string& device, const std::string& folder) {
    int out[2];
    if (pipe(out) != 0) throw Error("a pipe", "", "none");
    child_ = fork();
    if (child_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      for (const int end : out) close(end);
      execl(program.c_str(), "fhd", "serve", "--port", "0", "--device", device.c_str(), "--configs",
            folder.c_str(), nullptr);
      _exit(127);
    }
    close(out[1]);
    std::string text;
    for (char c; read(out[0], &c, 1) == 1 && (c != '\n' || text.find("listening") == std::string::npos);)
      text += c;
    if (text.find(':') != std::string::npos) port_ = std::atoi(text.c_str() + text.rfind(':') + 1);
    out_ = out[0];  // stays open: what the server prints has a reader
  }
  ~Server() {
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
    close(out_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  int port() const { return port_; }
  double processor_seconds() const {
    std::ifstream stat("/proc/" + std::to_string(child_) + "/stat");
    std::string word;
    double ticks = 0;
    for (int field = 1; stat >> word && field <= 15; ++field)
      if (field >= 14) ticks += std::atof(word.c_str());
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

 private:
  pid_t child_ = -1;
  int port_ = 0, out_ = -1;
};

struct Session {
  double first_s = 0, images_per_s = 0;
  std::vector<ReceivedImage> images;
};

/// `pause`: between the readouts of the first image.
Session session(int port, const RecordedScan& scan, const std::string& configuration,
                std::chrono::milliseconds pause = {}) {
  MrdClient client(port);
  std::thread reader([&] { client.read(); });
  client.send(configuration_message(configuration.starts_with("@") ? "" : configuration));
  if (configuration.starts_with("@")) client.send(name_message(configuration.substr(1)));
  client.send(header_message(scan.xml));
  for (std::size_t i = 0; i < spokes; ++i) {
    std::this_thread::sleep_for(pause);
    client.send(scan.acquisitions[i]);
  }
  const auto sent = Clock::now();
  for (std::size_t i = spokes; i < scan.acquisitions.size(); ++i) client.send(scan.acquisitions[i]);
  client.send(close_message());
  reader.join();
  const auto count = client.images.size();
  if (!client.closed || count != scan.acquisitions.size() / spokes)
    throw Error("a session", std::to_string(scan.acquisitions.size() / spokes) + " images",
                std::to_string(count) + "; " + client.error());
  const double all = seconds(client.images.back().came - client.images.front().came);
  return {seconds(client.images.front().came - sent), static_cast<double>(count - 1) / all,
          std::move(client.images)};
}

/// The readouts of golden.h5 with frames as repetitions, the last readout of each flagged.
void count_frames(const std::string& from, const std::string& to) {
  const auto source = io::hdf5::File::open(from);
  const io::mrd::RecordDataset records(source, "/dataset");
  io::mrd::RecordReader reader(records, true);
  auto file = io::hdf5::File::create(to, to);
  io::mrd::RecordWriter writer(file, source.read_text("/dataset/xml"), records.count());
  for (std::int64_t i = 0; i < records.count(); ++i) {
    auto readout = reader(i);
    readout.head.idx.repetition = static_cast<std::uint16_t>(i / static_cast<std::int64_t>(spokes));
    readout.head.flags = 0;
    if ((i + 1) % static_cast<std::int64_t>(spokes) == 0)
      readout.head.set_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE);
    writer.write(readout);
  }
  writer.close();
  file.close();
}

/// The largest of `count` images.
double largest_difference(const std::vector<ReceivedImage>& images, const std::string& expected,
                          std::size_t count) {
  const auto all = io::hdf5::File::open(expected).dataset("/image").read<Complex<float>>(
      {static_cast<std::int64_t>(count), 1, 1, matrix, matrix});
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (const double one = difference(images[i], all, static_cast<std::int64_t>(i)); !(one <= largest))
      largest = one;
  return largest;
}

struct Case {
  const char *scan, *what, *configuration;
  const char*
      recon;  ///< options of `fhd recon` for the same images; all of them, but for one with --repetitions
};
constexpr Case cases[] = {
    {"series", "cg", "--image complex", "--repetitions 0"},
    {"series", "cg, maps given", "@given", "--maps maps.h5"},
    {"series", "gridded", "--image complex --method gridded", "--method gridded"},
    {"golden", "cg", "--image complex", "--repetitions 0"},
    {"golden", "cg, maps given", "@given", "--maps maps.h5"},
    {"golden", "cg, maps of each", "--image complex --maps-of each", ""},
    {"golden", "gridded", "--image complex --method gridded", "--method gridded"},
};

void measure(const std::string& program, const std::string& folder, const std::string& device, int sessions) {
  std::printf(
      "| scan | method | first image, new server | later sessions | readouts 5 ms apart | images/s: most; "
      "median; least | "
      "processor time of an image | difference to `fhd recon` |\n|---|---|---|---|---|---|---|---|\n");
  for (const auto& [name, what, configuration, recon] : cases) {
    const RecordedScan scan(folder + "/" + name + ".h5");
    const Server server(program, device, folder);
    const double cold = session(server.port(), scan, configuration).first_s;
    const double before = server.processor_seconds();
    std::vector<double> first, rates, paced;
    Session last;
    for (int i = 0; i < sessions; ++i) {
      last = session(server.port(), scan, configuration);
      first.push_back(last.first_s), rates.push_back(last.images_per_s);
    }
    const double work =
        (server.processor_seconds() - before) / static_cast<double>(last.images.size()) / sessions;
    RecordedScan one(scan);
    one.acquisitions.resize(spokes + spokes);
    for (int i = 0; i < sessions; ++i)
      paced.push_back(session(server.port(), one, configuration, std::chrono::milliseconds(5)).first_s);
    run("cd '" + folder + "' && '" + program + "' recon " + name +
        ".h5 -o expected --force --quiet --no-gridded-image " + "--device " + device + " " + recon);
    const bool one_alone = std::string(recon).starts_with("--repetitions");
    const double rest =
        largest_difference(last.images, folder + "/expected.h5", one_alone ? 1 : last.images.size());
    std::sort(rates.begin(), rates.end());
    std::printf("| %s | %s | %.0f ms | %.0f ms | %.0f ms | %.1f; %.1f; %.1f | %.1f ms | %.1e (%s) |\n", name,
                what, 1e3 * cold, 1e3 * *std::min_element(first.begin(), first.end()),
                1e3 * *std::min_element(paced.begin(), paced.end()), rates.back(), rates[rates.size() / 2],
                rates.front(), 1e3 * work, rest, one_alone ? "first" : "all");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** words) try {
  if (count < 3) {
    std::fputs("usage: streaming PROGRAM FOLDER [DEVICE [FRAMES [SESSIONS]]]\n", stderr);
    return 2;
  }
  const std::string program = std::filesystem::absolute(words[1]),
                    folder = std::filesystem::absolute(words[2]), device = count > 3 ? words[3] : "cpu";
  const int frames = count > 4 ? std::max(2, std::atoi(words[4])) : 40,
            sessions = count > 5 ? std::max(1, std::atoi(words[5])) : 3;
  std::filesystem::create_directories(folder);
  const std::string simulate = "cd '" + folder + "' && '" + program + "' simulate --matrix " +
                               std::to_string(matrix) + " --coils " + std::to_string(coils) + " -o ";
  run(simulate + "maps");
  run(simulate + "series --no-maps --readouts " + std::to_string(spokes) + " --repetitions " +
      std::to_string(frames));
  run(simulate + "turning --no-maps --dynamic " + std::to_string(spokes) + " --readouts " +
      std::to_string(spokes * static_cast<std::size_t>(frames)));
  count_frames(folder + "/turning.h5", folder + "/golden.h5");
  std::ofstream(folder + "/given.toml") << "image = \"complex\"\nmaps = \"" << folder << "/maps.h5\"\n";
  measure(program, folder, device, sessions);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "streaming: %s\n", error.what());
  return 1;
}
