// fhd serve: images of sessions, beside those of fhd recon.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "validation/tests/app/mrd_client.hpp"

namespace fhd::tests {
namespace {

/// Another way through the same sums (a volume of a series, other shares of threads): single precision over the
/// iterations, as between fhd recon with 1 and 2 threads (1e-6 here), with room.
constexpr double rounding = 2e-5;

class ServeCommand : public ServeTest {};

TEST_F(ServeCommand, gives_the_image_of_recon_with_its_place_and_report) {
  simulate("scan", "--matrix 32 --coils 3 --fov-mm 200,180");
  serve();
  MrdClient client(port());
  client.run(RecordedScan(path("scan.h5")));
  EXPECT_TRUE(client.closed);
  EXPECT_EQ(client.error(), "");
  ASSERT_EQ(client.images.size(), 1u);
  const auto& image = client.images[0];
  EXPECT_EQ(image.data_type, 5);
  EXPECT_EQ(image.matrix_size[0], 32);
  EXPECT_EQ(image.matrix_size[2], 1);
  EXPECT_FLOAT_EQ(image.field_of_view[0], 200);
  EXPECT_FLOAT_EQ(image.field_of_view[1], 180);
  EXPECT_EQ(image.image_index, 1);
  EXPECT_LE(difference(image, recon("scan.h5", 1, 32), 0), rounding);
  for (const char* part :
       {"<name>DataRole</name><value>Image</value>", "<name>fhd_certificate</name><value>F error",
        "<name>fhd_verdict</name><value>the image explains the data", "<name>ImageComments</name>"})
    EXPECT_NE(image.attributes.find(part), std::string::npos) << part << "\n" << image.attributes;
}

TEST_F(ServeCommand, sends_each_image_of_a_series_as_soon_as_its_last_readout_is_there) {
  simulate("scan", "--matrix 24 --coils 3 --readouts 21 --repetitions 3");
  serve();
  const RecordedScan scan(path("scan.h5"));
  ASSERT_EQ(scan.acquisitions.size(), 63u);
  MrdClient client(port());
  client.send(configuration_message("--image complex") + header_message(scan.xml));
  for (std::size_t repetition = 0; repetition < 3; ++repetition) {
    for (std::size_t i = 0; i < 21; ++i) client.send(scan.acquisitions[21 * repetition + i]);
    client.read(repetition + 1);  // nothing is sent until it is there
    ASSERT_EQ(client.images.size(), repetition + 1);
    EXPECT_EQ(client.images.back().repetition, repetition);
    EXPECT_EQ(client.images.back().data_type, 7);
  }
  client.send(close_message());
  client.read();
  EXPECT_TRUE(client.closed);
  EXPECT_LE(difference(client.images[0], recon("scan.h5 --repetitions 0", 1, 24), 0), rounding);
  // The others by maps of the first.
  const auto all = recon("scan.h5", 3, 24);
  for (int i = 1; i < 3; ++i)
    EXPECT_LE(difference(client.images[static_cast<std::size_t>(i)], all, i), 0.1) << i;
}

TEST_F(ServeCommand, with_maps_of_each_and_at_close_gives_the_images_of_recon) {
  simulate("scan", "--matrix 24 --coils 3 --readouts 21 --repetitions 2 --trajectory radial");
  serve();
  const RecordedScan scan(path("scan.h5"));
  for (const std::string send : {"auto", "at-close"}) {
    MrdClient client(port());
    client.run(scan, "--maps-of each --send " + send);
    ASSERT_EQ(client.images.size(), 2u) << client.error();
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_LE(difference(client.images[i], recon("scan.h5 --repetitions " + std::to_string(i), 1, 24), 0),
                rounding)
          << send << i;
  }
}

TEST_F(ServeCommand, frames_of_a_continuous_acquisition_are_images_of_their_own) {
  simulate("scan", "--matrix 24 --coils 3 --readouts 45 --dynamic 15");
  const RecordedScan scan(path("scan.h5"));
  serve();
  MrdClient client(port());
  client.run(scan, R"({"spokes_per_frame": 20, "maps-of": "each"})");
  ASSERT_EQ(client.images.size(), 2u) << client.error();
  EXPECT_EQ(client.texts.back(), "warning: the last 5 readouts are fewer than a frame: they are in no image");
  MrdClient by_first(port());
  by_first.run(scan, "--spokes-per-frame 20");
  ASSERT_EQ(by_first.images.size(), 2u);
  const auto source = io::hdf5::File::open(path("scan.h5"));
  const io::mrd::RecordDataset records(source, "/dataset");
  io::mrd::RecordReader reader(records, true);
  for (std::int64_t frame = 0; frame < 2; ++frame) {
    auto file = io::hdf5::File::create(path("frame.h5"), path("frame.h5"));
    io::mrd::RecordWriter writer(file, scan.xml, 20);
    for (std::int64_t i = 0; i < 20; ++i) writer.write(reader(20 * frame + i));
    writer.close();
    file.close();
    const auto expected = recon("frame.h5", 1, 24);
    const auto at = static_cast<std::size_t>(frame);
    EXPECT_EQ(client.images[at].repetition, frame);
    EXPECT_LE(difference(client.images[at], expected, 0), rounding) << frame;
    // Maps of the first frame are those of the first, and differ little from those of the second.
    EXPECT_LE(difference(by_first.images[at], expected, 0), frame == 0 ? rounding : 0.1) << frame;
  }
}

TEST_F(ServeCommand, slices_that_take_turns_are_told_apart) {
  simulate("a", "--matrix 16 --coils 1 --readouts 25");
  serve();
  RecordedScan scan(path("a.h5"));
  // Two slices, readout by readout; idx.slice is at byte 2 + 242 + 6 of a message.
  std::string bytes = header_message(
      scan.xml.replace(scan.xml.find("<slice>"), scan.xml.find("</slice>") - scan.xml.find("<slice>"),
                       "<slice><minimum>0</minimum><maximum>1</maximum><center>0</center>"));
  for (const auto& one : scan.acquisitions)
    for (std::uint16_t slice : {1, 0}) {
      auto turned = one;
      std::memcpy(turned.data() + 2 + 242 + 6, &slice, 2);
      bytes += turned;
    }
  MrdClient client(port());
  client.send(bytes + close_message());
  client.read();
  ASSERT_EQ(client.images.size(), 2u) << client.error();
  EXPECT_EQ(client.images[0].slice, 1);
  EXPECT_EQ(client.images[1].slice, 0);
  const auto expected = recon("a.h5", 1, 16);
  for (const auto& image : client.images) EXPECT_LE(difference(image, expected, 0), rounding);
}

TEST_F(ServeCommand, a_prescan_flagged_as_surface_coil_correction_is_no_part_of_the_image) {
  simulate("a", "--matrix 16 --coils 2 --readouts 25");
  serve();
  const RecordedScan scan(path("a.h5"));
  std::string bytes = header_message(scan.xml);
  for (int i = 0; i < 5; ++i) {  // flags are at byte 2 + 2 of a message; other values than the image's
    auto one = scan.acquisitions[static_cast<std::size_t>(i)];
    std::uint64_t flags = 0;
    std::memcpy(&flags, one.data() + 4, sizeof flags);
    flags |= std::uint64_t{1} << 28;
    if (i == 4) flags |= std::uint64_t{1} << 7;  // the last of the slice
    std::memcpy(one.data() + 4, &flags, sizeof flags);
    std::reverse(one.end() - 32, one.end());
    bytes += one;
  }
  for (const auto& one : scan.acquisitions) bytes += one;
  MrdClient client(port());
  client.send(bytes + close_message());
  client.read();
  ASSERT_EQ(client.images.size(), 1u) << client.error();
  EXPECT_LE(difference(client.images[0], recon("a.h5", 1, 16), 0), rounding);
}

TEST_F(ServeCommand, takes_configurations_by_name_from_its_folder_alone) {
  simulate("scan", "--matrix 16 --coils 2");
  std::filesystem::create_directory(path("configs"));
  ASSERT_EQ(run("simulate -o maps --matrix 16 --coils 2 --seed 3"), 0);
  write_text(path("configs/quick.toml"), "image = \"complex\"\nmaps = \"" + path("maps.h5") + "\"\n");
  serve({"--configs", path("configs"), "--max-sessions", "64"});  // those before may not have ended
  const RecordedScan scan(path("scan.h5"));
  const auto error_of = [&](const std::string& configuration) {
    MrdClient client(port());
    client.send(configuration + scan.all() + close_message());
    client.read();
    EXPECT_TRUE(client.closed);
    EXPECT_EQ(client.images.empty(), !client.error().empty());
    return client.error();
  };
  for (const char* name : {"", "default", "fhd", "default.xml", "quick", "quick.toml"})
    EXPECT_EQ(error_of(name_message(name)), "") << name;
  MrdClient client(port());
  client.send(name_message("quick") + scan.all() + close_message());
  client.read();
  ASSERT_EQ(client.images.size(), 1u);
  EXPECT_LE(difference(client.images[0], recon("scan.h5 --maps maps.h5", 1, 16), 0), rounding);
  for (const char* name : {"../scan", "/etc/passwd", ".hidden", "none"})
    EXPECT_NE(error_of(name_message(name)).find("configuration name: expected default, fhd"),
              std::string::npos)
        << name;
  EXPECT_EQ(error_of(configuration_message("--maps /etc/passwd")),
            "configuration: expected options that name no file of the server, found --maps; put it into a "
            "configuration in the folder of --configs, and send its name");
  EXPECT_NE(error_of(configuration_message("threads = 400")).find("--threads"), std::string::npos)
      << "an option of the server";
  EXPECT_NE(error_of(configuration_message("<xml/>")).find("found XML"), std::string::npos);
  EXPECT_NE(error_of(configuration_message("--nonsense 1")).find("--nonsense"), std::string::npos);
  EXPECT_NE(error_of(configuration_message("{\"lambda\": ")).find("configuration: expected JSON"),
            std::string::npos);
  EXPECT_NE(error_of(configuration_message("[table]\nlambda = 1")).find("a table 'table'"),
            std::string::npos);
}

TEST_F(ServeCommand, several_sessions_side_by_side_give_what_each_gives_alone) {
  simulate("a", "--matrix 32 --coils 3");
  simulate("b", "--matrix 24 --coils 2 --readouts 21 --repetitions 2");
  serve({"--max-sessions", "4"});
  const RecordedScan a(path("a.h5")), b(path("b.h5"));
  std::vector<ReceivedImage> of_a[2], of_b[2];
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&, i] {
      MrdClient client(port());
      client.run(a);
      of_a[i] = std::move(client.images);
    });
    clients.emplace_back([&, i] {
      MrdClient client(port());
      client.run(b, "--maps-of each");
      of_b[i] = std::move(client.images);
    });
  }
  for (auto& client : clients) client.join();
  const auto expected = recon("a.h5", 1, 32);
  for (const auto& images : of_a) {
    ASSERT_EQ(images.size(), 1u);
    EXPECT_LE(difference(images[0], expected, 0), rounding);
  }
  for (std::size_t repetition = 0; repetition < 2; ++repetition) {
    const auto one = recon("b.h5 --repetitions " + std::to_string(repetition), 1, 24);
    for (const auto& images : of_b) {
      ASSERT_EQ(images.size(), 2u);
      EXPECT_LE(difference(images[repetition], one, 0), rounding);
    }
  }
}

}  // namespace
}  // namespace fhd::tests
