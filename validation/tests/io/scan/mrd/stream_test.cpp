// MRD streams as files: the same scan as from HDF5, damaged streams, and what is no stream.
#include "io/scan/mrd/stream.hpp"

#include <gtest/gtest.h>
#include <ismrmrd/ismrmrd.h>

#include <bit>
#include <cstring>

#include "io/files/gzip.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/scan/mrd/spokes.hpp"

namespace fhd::io {
namespace {

template <class T>
std::string bytes_as(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string id(int number) { return bytes_as(static_cast<std::uint16_t>(number)); }
std::string text(int number, const std::string& content) {
  return id(number) + bytes_as(static_cast<std::uint32_t>(content.size())) + content;
}
const std::string close_message = id(4);
std::string configuration(const std::string& name) {
  auto message = id(1) + name;
  message.resize(2 + 1024);
  return message;
}
std::string waveform() {
  std::string head(40, '\0');
  head[28] = 3, head[30] = 2;  // samples, channels
  return id(1026) + head + std::string(4 * 3 * 2, 'w');
}
std::string acquisition_message(ISMRMRD::Acquisition& acquisition) {
  const auto& head = acquisition.getHead();
  const auto bytes = [](const auto* from, std::size_t count) {
    return std::string(reinterpret_cast<const char*>(from), count * sizeof *from);
  };
  return id(1008) + bytes_as(head) + bytes(acquisition.getTrajPtr(), acquisition.getNumberOfTrajElements()) +
         bytes(acquisition.getDataPtr(), acquisition.getNumberOfDataElements());
}

class StreamFileTest : public FolderTest {
 protected:
  /// Ten spokes of two slices and a noise readout.
  StreamFileTest() {
    for (auto& readout : write_spokes(path("scan.mrd"))) messages_.push_back(acquisition_message(readout));
  }
  std::string acquisitions() const {
    std::string all;
    for (const auto& message : messages_) all += message;
    return all;
  }
  std::string written(const std::string& stream) const {
    write_text(path("scan.stream"), stream);
    return path("scan.stream");
  }
  std::string zipped(const std::string& content) const {
    write_gzip(path("scan.gz"), "scan.gz", content.size(),
               [&](std::uint64_t offset, std::span<std::uint8_t> bytes) {
                 std::memcpy(bytes.data(), content.data() + offset, bytes.size());
               });
    return path("scan.gz");
  }
  void expect_the_scan(const std::string& name) const {
    const auto expected = open_scan(path("scan.mrd")), found = open_scan(name);
    EXPECT_EQ(found->summary().format, "ISMRMRD stream");
    ASSERT_EQ(found->summary().slice_count, 2);
    for (int slice = 0; slice < 2; ++slice) {
      const auto a = expected->read(slice, 0), b = found->read(slice, 0);
      EXPECT_TRUE(std::ranges::equal(a.kspace.values, b.kspace.values));
      EXPECT_TRUE(std::ranges::equal(a.trajectory.k, b.trajectory.k));
      EXPECT_TRUE(std::ranges::equal(*a.sample_time_s, *b.sample_time_s));
      EXPECT_TRUE(std::ranges::equal(*a.noise, *b.noise));
    }
  }
  std::vector<std::string> messages_;
};

TEST_F(StreamFileTest, is_read_as_the_same_measurement_in_hdf5) {
  const auto all = text(3, header_of_spokes) + acquisitions();
  const std::string streams[]{
      all + close_message,
      all,  // a client that ended without a word
      configuration("default") + all + close_message,
      text(2, "{\"parameters\": {}}") + all + close_message,
      text(5, "hello") + all + text(5, "bye") + close_message,
      configuration("default") + text(2, std::string(60000, ' ')) + all + close_message,
      text(3, std::string(header_of_spokes) + '\0') + acquisitions() + close_message,
      text(3, "\xEF\xBB\xBF" + std::string(header_of_spokes)) + waveform() + acquisitions() + waveform() +
          close_message,
      text(3, "\n  " + std::string(header_of_spokes).substr(21)) + acquisitions() + close_message,
      all + close_message + "what follows the end"};
  for (const auto& stream : streams) {
    expect_the_scan(written(stream));
    expect_the_scan(zipped(stream));
  }
  EXPECT_TRUE(says(open_scan(written(all))->summary().missing, "no closing message"));
  EXPECT_FALSE(says(open_scan(written(streams[0]))->summary().missing, "no closing message"));
}

TEST_F(StreamFileTest, becomes_another_format_with_its_flags) {
  written(text(3, header_of_spokes) + acquisitions() + close_message);
  const auto file = open_scan(path("scan.stream"));
  convert_scan(*file, path("scan.stream"), {}, path("copy.mrd"), ScanFormat::ismrmrd);
  const auto copy = open_scan(path("copy.mrd"));
  EXPECT_TRUE(std::ranges::equal(copy->read(1, 0).kspace.values, file->read(1, 0).kspace.values));
  EXPECT_TRUE(copy->read(0, 0).noise.has_value());
}

TEST_F(StreamFileTest, that_is_damaged_is_refused_in_a_line_that_names_the_part) {
  const auto head = text(3, header_of_spokes);
  const auto refused = [&](const std::string& stream, const std::string& part) {
    const auto line = error_of([&] { open_scan(written(stream)); });
    EXPECT_CONTAINS(line, part);
    EXPECT_CONTAINS(line, "scan.stream");
  };
  const auto cut = head + acquisitions();
  refused(cut.substr(0, cut.size() - 9), "the values of an acquisition");
  refused(cut.substr(0, head.size() + 100), "an acquisition");
  refused(cut.substr(0, head.size() + 1), "a message");
  refused(head + id(77) + acquisitions(), "an id of the MRD session protocol");
  refused(head + head + acquisitions(), "one header");
  refused(configuration("x") + text(3, "<nothing/>") + acquisitions(), "ismrmrdHeader");
  refused(head + close_message, "readouts of an image");
  refused(head + id(1022) + std::string(300, 'i'), "images are not reconstructed again");
  refused(text(5, "a") + head.substr(0, 200), "the header");
  auto many = messages_[1];
  many[2 + 38] = '\xff', many[2 + 39] = '\x7f';  // active channels
  refused(head + many, "channels");
  const auto whole = zipped(cut);
  const auto bytes = bytes_of(whole);
  write_text(whole, bytes.substr(0, bytes.size() - 30));
  EXPECT_REFUSED(open_scan(whole), "a complete gzip file");
}

TEST(Stream, begins_with_whole_messages_up_to_a_header) {
  const auto begins = [](const std::string& bytes) {
    return mrd::begins_as_stream(std::as_bytes(std::span(bytes)));
  };
  EXPECT_TRUE(begins(text(3, "<ismrmrdHeader/>")));
  EXPECT_TRUE(begins(configuration("x") + text(3, "<a/>")));
  EXPECT_FALSE(begins(""));
  EXPECT_FALSE(begins(text(3, "ismrmrd")));
  EXPECT_FALSE(begins(text(2, "<a/>")));
  EXPECT_FALSE(begins(id(3)));
  EXPECT_FALSE(begins(id(1008) + std::string(400, '<')));
  EXPECT_FALSE(begins(std::string(2000, '\0')));
  EXPECT_FALSE(begins("\x89HDF\r\n\x1a\n" + std::string(100, '<')));
}

}  // namespace
}  // namespace fhd::io
