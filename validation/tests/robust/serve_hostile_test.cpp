// fhd serve: sessions that misbehave end with one line, and disturb no other.
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <tuple>

#include "validation/tests/app/mrd_client.hpp"

namespace fhd::tests {
namespace {

class ServeHostile : public ServeTest {
 protected:
  /// One coil: nothing that takes time.
  RecordedScan small_scan(const std::string& options = "") const {
    simulate("small", "--matrix 16 --coils 1 --readouts 25 " + options);
    return RecordedScan(path("small.h5"));
  }
  /// Returns what the server answers to these bytes and their end.
  std::string error_of(const std::string& bytes) const {
    MrdClient client(port());
    client.send(bytes);
    client.end_of_stream();
    client.read();
    EXPECT_TRUE(client.closed);
    return client.error();
  }
  /// Returns true once the server has printed this: it logs a session after its end. False: not within 30 seconds.
  bool is_logged(const std::string& line) const {
    for (int look = 0; look < 3000; ++look) {
      if (text("err_bg").find(line) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  double resident_bytes() const {
    std::ifstream status("/proc/" + std::to_string(server()) + "/status");
    for (std::string word; status >> word;)
      if (word == "VmRSS:" && status >> word) return std::stod(word) * 1024;
    return NAN;
  }
};

/// A message of so many bytes as its head says, none of which come.
std::string head_alone(std::uint16_t samples, std::uint16_t channels, std::uint16_t dimensions) {
  io::mrd::ReadoutHead head{};
  head.number_of_samples = samples, head.active_channels = channels, head.trajectory_dimensions = dimensions;
  return acquisition_message(head, {}, {});
}

/// A waveform of so many samples and channels, as its head says.
std::string waveform_message(std::uint16_t count) {
  std::string message(42, '\0');
  const std::uint16_t id = 1026;
  for (const auto& [at, value] : {std::pair{0, id}, {2 + 28, count}, {2 + 30, count}})
    std::memcpy(message.data() + at, &value, 2);
  return message;
}

TEST_F(ServeHostile, streams_cut_anywhere_end_in_one_line) {
  serve();
  const auto scan = small_scan();
  const auto whole = configuration_message("--lambda 1e-3") + scan.all() + close_message();
  std::vector<std::size_t> cuts{
      1, 2, 3, 5, 7, 20, 1000, whole.size() / 2, whole.size() - 3, whole.size() - 2, whole.size() - 1};
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) cuts.push_back(1 + random() % (whole.size() - 2));
  for (const auto cut : cuts) {
    const auto error = error_of(whole.substr(0, cut));
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 0);
    // Between messages before the first readout a client that leaves has done nothing wrong.
    const bool may_leave = cut == configuration_message("--lambda 1e-3").size();
    EXPECT_EQ(error.empty(), may_leave) << cut;
  }
  EXPECT_NE(error_of(whole.substr(0, whole.size() - 2)).find("a close message at its end, found none"),
            std::string::npos);
  expect_that_it_goes_on(scan);
}

TEST_F(ServeHostile, absurd_lengths_are_refused_before_memory_is_taken) {
  serve();
  const auto scan = small_scan();
  const auto header = header_message(scan.xml);
  std::string configuration, text;
  put(configuration, std::uint16_t{2}), put(configuration, 0xffffffffu);
  put(text, std::uint16_t{5}), put(text, 0x7fffffffu);
  const double before = resident_bytes();
  for (const auto& [bytes, expected] : std::vector<std::pair<std::string, std::string>>{
           {configuration, "a configuration: expected at most 65536 bytes, found a length of 4294967295"},
           {text, "a text: expected at most 1048576 bytes, found a length of 2147483647"},
           {header + head_alone(65535, 65535, 0),
            "an acquisition: expected at most 1024 channels, found 65535"},
           {header + head_alone(65535, 1, 65535),
            "an acquisition: expected at most 4 trajectory dimensions, found 65535"},
           {header + head_alone(65535, 1024, 0),
            "an acquisition: expected at most 268435456 bytes, found 65535 samples of 1024 channels"},
           {waveform_message(65535),
            "a waveform: expected at most 67108864 bytes, found 65535 samples of 65535 channels"}})
    EXPECT_EQ(error_of(bytes), expected);
  // Claims 256 MiB and sends nothing: memory grows with what has come.
  EXPECT_NE(error_of(header + head_alone(65535, 500, 0)).find("found the end of the stream after 0"),
            std::string::npos);
  EXPECT_LE(resident_bytes(), before + 64e6);
  expect_that_it_goes_on(scan);
}

TEST_F(ServeHostile, what_is_no_session_is_told_so) {
  serve();
  const auto scan = small_scan();
  EXPECT_NE(error_of("GET / HTTP/1.1\r\n\r\n").find("an id of the MRD session protocol"), std::string::npos);
  EXPECT_EQ(error_of(scan.acquisitions[0]), "an acquisition: expected the header before it, found none");
  EXPECT_EQ(error_of(header_message("no xml")).find("the header: expected"), 0u);
  EXPECT_EQ(error_of(header_message("<ismrmrdHeader/>")),
            "the header: expected an ismrmrdHeader with an encoding, found none");
  EXPECT_EQ(error_of(header_message(scan.xml) + header_message(scan.xml)),
            "the session: expected one header, found a second one");
  EXPECT_NE(error_of(std::string("\xfe\x03", 2)).find("images are not reconstructed again"),
            std::string::npos);
  // Control characters of a client do not reach the log.
  EXPECT_NE(error_of(name_message("a\x1b[2J\nb")), "");
  EXPECT_TRUE(is_logged("a\\x1b[2J\\nb")) << text("err_bg");
  EXPECT_EQ(text("err_bg").find('\x1b'), std::string::npos);
  expect_that_it_goes_on(scan);
}

TEST_F(ServeHostile, a_configuration_that_nests_deeper_than_the_stack_is_long_is_refused) {
  serve();
  const auto scan = small_scan();
  std::string dots, lists, tables;
  for (int i = 0; i < 32000; ++i) dots += "a.", lists += "[", tables += i % 3 == 0 ? "{a=" : "";
  for (const auto& text : {dots + "a=1", "[" + dots + "a]", "x=" + lists, "x=" + tables})
    EXPECT_TRUE(error_of(configuration_message(text)).starts_with("configuration:1: expected "))
        << text.size();
  expect_that_it_goes_on(scan);
}

TEST_F(ServeHostile, contradictions_of_readouts_are_told) {
  serve();
  const auto scan = small_scan();
  const auto all = scan.all();
  EXPECT_NE(error_of(all + scan.acquisitions[3] + close_message())
                .find("none after the last, as flags, counters or limits"),
            std::string::npos);
  auto nan = scan.acquisitions[3];
  const float not_a_number = NAN;
  std::memcpy(nan.data() + nan.size() - 4, &not_a_number, 4);
  auto broken = header_message(scan.xml);
  for (std::size_t i = 0; i < scan.acquisitions.size(); ++i) broken += i == 3 ? nan : scan.acquisitions[i];
  EXPECT_NE(error_of(broken + close_message()), "");
  expect_that_it_goes_on(scan);
}

TEST_F(ServeHostile, memory_of_a_session_is_bounded) {
  serve({"--max-memory", "64MiB"});
  const auto scan = small_scan();
  auto huge = scan.xml;
  for (const char* axis : {"x", "y"})
    huge = std::regex_replace(huge, std::regex(std::string("(<") + axis + ">)16<"), "$014000<");
  ASSERT_NE(huge, scan.xml);
  std::string bytes =
      configuration_message("--method gridded --trajectory-unit cycles/FOV") + header_message(huge);
  for (const auto& one : scan.acquisitions) bytes += one;
  EXPECT_NE(error_of(bytes + close_message()).find("(--max-memory)"), std::string::npos);
  // Readouts of an image that is never whole: flags at byte 2 + 2.
  const double before = resident_bytes();
  auto endless = scan.acquisitions[0];
  std::memset(endless.data() + 4, 0, 8);
  bytes = header_message(scan.xml);
  while (bytes.size() < (std::size_t{72} << 20)) bytes += endless;
  EXPECT_EQ(error_of(bytes),
            "acquisitions: expected at most 64.0 MiB that wait for an image to be whole (--max-memory), "
            "found more");
  EXPECT_LE(resident_bytes(), before + 100e6);
  expect_that_it_goes_on(scan);
}

/// The server waits for a client that does not read, while that sends what is not worked on.
TEST_F(ServeHostile, messages_that_wait_for_the_work_are_bounded_whatever_they_are) {
  constexpr std::size_t flood = std::size_t{130} << 20, most_messages = 300000;
  serve({"--write-timeout", "6"});
  simulate("many", "--matrix 256 --coils 1 --readouts 16 --repetitions 30");
  const RecordedScan many(path("many.h5"));
  const auto begin = configuration_message("--method gridded --image complex") + many.all();
  for (const auto& message :
       {header_message(many.xml + std::string(3 << 20, ' ')), configuration_message(std::string(60000, ' ')),
        name_message("fhd"), waveform_message(0)}) {
    MrdClient deaf(port(), 4096);
    deaf.give_up_after(std::chrono::seconds(1));
    deaf.send(begin);
    const double before = resident_bytes();
    std::string some;
    while (some.size() < (1 << 20)) some += message;
    const auto bytes = std::min(flood, most_messages * message.size());
    for (std::size_t sent = 0; sent < bytes && deaf.send(some); sent += some.size()) {
    }
    EXPECT_LE(resident_bytes(), before + 100e6) << message.size();
  }
}

TEST_F(ServeHostile, what_is_kept_of_slices_is_bounded) {
  constexpr int slices = 30;
  serve({"--max-memory", "64MiB"});
  simulate("long", "--matrix 16 --coils 1 --readouts 2500 --trajectory radial");
  const RecordedScan scan(path("long.h5"));
  auto xml = scan.xml;
  xml.replace(xml.find("<slice>"), xml.find("</slice>") - xml.find("<slice>"),
              "<slice><minimum>0</minimum><maximum>29</maximum><center>0</center>");
  MrdClient client(port());
  client.send(configuration_message("--iterations 2") + header_message(xml));
  double early = 0;
  for (std::uint16_t slice = 0; slice < slices; ++slice) {
    std::string bytes;
    for (auto one : scan.acquisitions) {
      std::memcpy(one.data() + 2 + 242 + 6, &slice, 2);
      bytes += one;
    }
    ASSERT_TRUE(client.send(bytes));
    client.read(slice + 1u);
    ASSERT_EQ(client.images.size(), slice + 1u) << client.error();
    if (slice == 2) early = resident_bytes();
  }
  // 9 MB would stay of each slice. As much again as the limit may wait for the next image.
  EXPECT_LE(resident_bytes(), early + 150e6);
  client.send(close_message());
  client.read();
  EXPECT_TRUE(client.closed);
  EXPECT_EQ(std::count_if(client.texts.begin(), client.texts.end(),
                          [](const auto& text) { return text.find("are found anew") != std::string::npos; }),
            1);
}

TEST_F(ServeHostile, a_client_that_reads_slowly_is_not_one_that_does_not_read) {
  serve({"--write-timeout", "2"});
  simulate("large", "--matrix 1024 --coils 1 --readouts 16 --repetitions 2");
  const RecordedScan large(path("large.h5"));
  MrdClient client(port(), 1 << 16);
  client.read_slowly(1 << 16, std::chrono::milliseconds(25));  // 8 MiB in 3.2 s
  client.run(large, "--method gridded --image complex");
  EXPECT_EQ(client.images.size(), 2u) << client.error() << text("err_bg");
  EXPECT_TRUE(client.closed);
}

TEST_F(ServeHostile, slow_clients_get_their_image_and_silent_ones_their_end) {
  serve({"--idle-timeout", "1", "--max-sessions", "2"});
  const auto scan = small_scan();
  MrdClient silent(port());
  silent.send(header_message(scan.xml).substr(0, 100));
  MrdClient slow(port());
  const auto bytes = scan.all() + close_message();
  for (std::size_t at = 0; at < bytes.size(); at += 997) {
    slow.send(bytes.substr(at, 997));
    std::this_thread::sleep_for(std::chrono::milliseconds(at < 20000 ? 20 : 1));
  }
  slow.read();
  ASSERT_EQ(slow.images.size(), 1u);
  EXPECT_LE(difference(slow.images[0], recon("small.h5", 1, 16), 0), 2e-5);
  silent.read();
  EXPECT_EQ(silent.error().find("the header: expected its bytes within 1 s, found silence"), 0u)
      << silent.error();
}

TEST_F(ServeHostile, a_client_that_reads_nothing_ends_itself_alone) {
  serve({"--write-timeout", "0.5"});
  simulate("many", "--matrix 256 --coils 1 --readouts 16 --repetitions 40");
  const RecordedScan many(path("many.h5"));
  MrdClient deaf(port(), 4096);
  std::thread sender([&] {
    deaf.send(configuration_message("--method gridded --image complex") + many.all() + close_message());
  });
  const auto scan = small_scan();
  expect_that_it_goes_on(scan);
  sender.join();
  EXPECT_TRUE(is_logged("to read what it is sent within 0.5 s")) << text("err_bg");
  expect_that_it_goes_on(scan);
}

TEST_F(ServeHostile, sessions_beyond_the_most_are_refused) {
  serve({"--max-sessions", "1"});
  const auto scan = small_scan();
  {
    MrdClient first(port()), second(port());  // accepted in this order
    second.read();
    EXPECT_TRUE(second.closed);
    EXPECT_NE(second.error().find("(--max-sessions)"), std::string::npos);
    first.send(close_message());
    first.read();
    EXPECT_TRUE(first.closed);
  }
  std::string error = "none yet";  // until the first has ended
  for (int attempt = 0; attempt < 3000 && !error.empty(); ++attempt) {
    MrdClient next(port());
    next.run(scan);
    error = next.error();
    if (!error.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(error, "");
}

TEST_F(ServeHostile, a_signal_ends_it_and_its_sessions_cleanly) {
  serve();
  const auto scan = small_scan();
  MrdClient waiting(port());
  waiting.send(scan.all());
  waiting.read(1);
  EXPECT_EQ(stop(), 0) << text("err_bg");
  waiting.read();
  EXPECT_TRUE(waiting.closed);
  EXPECT_EQ(waiting.error(), "the server is stopping");
  EXPECT_NE(text("out_bg").find("stopped\n"), std::string::npos);
}

TEST_F(ServeHostile, random_sessions_neither_end_it_nor_leave_memory) {
  constexpr int sessions = 300;
  serve({"--max-sessions", "64", "--max-memory", "64MiB", "--max-seconds", "5"});
  const auto scan = small_scan();
  const auto whole = configuration_message("--method gridded") + scan.all() + close_message();
  std::mt19937 random(7);
  double early = 0;
  for (int i = 0; i < sessions; ++i) {
    auto bytes = whole.substr(0, 1 + random() % whole.size());
    const int changes = static_cast<int>(random() % 6);
    const std::size_t reach = i % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 3000);
    for (int change = 0; change < changes; ++change) bytes[random() % reach] = static_cast<char>(random());
    if (i % 7 == 0)
      for (auto& byte : bytes) byte = static_cast<char>(random());
    MrdClient client(port());
    ASSERT_TRUE(client.is_connected()) << i << text("err_bg");
    client.send(bytes);
    if (i % 5 == 0) {
      client.vanish();
    } else {
      client.end_of_stream();
      client.read();
      EXPECT_TRUE(client.closed) << i;
    }
    if (i == sessions / 3) early = resident_bytes();
  }
  expect_that_it_goes_on(scan);
  // Each leaves less than 50 KB, of what an allocator keeps.
  EXPECT_LE(resident_bytes(), early + 50e3 * sessions);
  EXPECT_EQ(stop(), 0) << text("err_bg");
}

TEST_F(ServeHostile, wrong_options_and_a_port_in_use_are_told_in_one_line) {
  serve();
  const auto used = std::to_string(port());
  for (const auto& [options, status, line] : std::vector<std::tuple<std::string, int, std::string>>{
           {"--port " + used, 1,
            "fhd: 127.0.0.1:" + used +
                ": expected a port to listen at, found Address already in use; choose another with --port\n"},
           {"--host nowhere", 2,
            "fhd: --host: expected an IPv4 address such as 127.0.0.1, found 'nowhere'; see"},
           {"--port 70000", 2, "70000"},
           {"--port 80.5", 2, "80.5"},
           {"--configs nowhere", 2, "nowhere"},
           {"--port 0 --idle-timeout nan", 2, "expected a number from 0.1 to 1e+06, found 'nan'"},
           {"--port 0 --write-timeout nan", 2, "expected a number from 0.1 to 1e+06, found 'nan'"}}) {
    EXPECT_EQ(run_command("timeout 20 '" + program() + "' serve --device cpu " + options), status) << options;
    EXPECT_NE(text("err").find(line), std::string::npos) << text("err");
  }
}

}  // namespace
}  // namespace fhd::tests
