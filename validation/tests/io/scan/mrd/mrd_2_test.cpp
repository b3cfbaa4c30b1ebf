// MRD version 2 files: the same scan as from ISMRMRD, other versions, damaged files. test_mrd_2.py reads those of the package
// mrd-python.
#include "io/scan/mrd/mrd_2.hpp"

#include <gtest/gtest.h>
#include <ismrmrd/ismrmrd.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <span>

#include "io/files/gzip.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/scan/mrd/spokes.hpp"

namespace fhd::io {
namespace {

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7F) | 0x80);
  return bytes + static_cast<char>(number);
}
std::string zigzag(std::int64_t number) {
  return varint((static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
}
std::string some(const std::string& value) { return "\1" + value; }
const std::string none(1, '\0');
std::string text_of(const std::string& text) { return varint(text.size()) + text; }
template <class T>
std::string plain(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}
std::string floats(std::initializer_list<float> values) { return plain(std::span(values)); }

std::string field(const std::string& name, const std::string& type) {
  return R"({"name":")" + name + R"(","type":)" + type + "}";
}
std::string record(const std::string& name, const std::string& fields, const std::string& more = "") {
  return R"({"name":")" + name + "\"," + more + R"("fields":[)" + fields + "]},";
}
const std::string u32 = R"("uint32")";
std::string maybe(const std::string& type) { return "[null," + type + "]"; }
std::string list(const std::string& item) { return R"({"vector":{"items":)" + item + "}}"; }

std::string counters() {
  std::string fields;
  for (const auto name : {"kspaceEncodeStep1", "kspaceEncodeStep2", "average", "slice", "contrast", "phase",
                          "repetition", "set", "segment"})
    fields += field(name, maybe(u32)) + ",";
  return record("Counters", fields + field("user", list(u32)));
}

/// The types of an acquisition. `head`: whether most of its fields are in a record of their own (2.1).
std::string acquisition_types(bool head, const std::string& time_stamp) {
  auto fields = field("flags", R"("Mrd.Flags")") + "," + field("idx", R"("Mrd.Counters")") + "," +
                field("measurementUid", u32);
  for (const auto& name : {std::string("scanCounter"), time_stamp}) fields += "," + field(name, maybe(u32));
  for (const auto name : {"physiologyTimeStamp", "channelOrder"}) fields += "," + field(name, list(u32));
  for (const auto name : {"discardPre", "discardPost", "centerSample", "encodingSpaceRef"})
    fields += "," + field(name, maybe(u32));
  fields += "," + field("sampleTimeUs", maybe(R"("float32")"));
  for (const auto name : {"position", "readDir", "phaseDir", "sliceDir", "patientTablePosition"})
    fields += "," + field(name, R"({"array":{"items":"float32","dimensions":[{"length":3}]}})");
  fields += "," + field("userInt", list(R"("int32")")) + "," + field("userFloat", list(R"("float32")"));
  const auto arrays =
      field("data",
            R"({"array":{"items":"complexfloat32","dimensions":[{"name":"coils"},{"name":"samples"}]}})") +
      "," + field("trajectory", R"("Mrd.Path")");
  return counters() +
         (head ? record("Head", fields) + record("Acquisition", field("head", R"("Mrd.Head")") + "," + arrays)
               : record("Acquisition", fields + "," + arrays));
}

/// The part of MRD's schema that matters.
std::string schema(bool head, const std::string& time_stamp = "acquisitionTimeStamp") {
  const auto xyz = [&](const std::string& type) {
    return field("x", type) + "," + field("y", type) + "," + field("z", type);
  };
  return R"({"protocol":{"name":"Mrd","sequence":[{"name":"header","type":[null,"Mrd.Header"]},)"
         R"({"name":"data","type":{"stream":{"items":"Mrd.Item"}}}]},"types":[)" +
         acquisition_types(head, time_stamp) + record("Matrix", xyz(u32)) +
         record("Fov", xyz(R"("float32")")) +
         record("Space",
                field("matrixSize", R"("Mrd.Matrix")") + "," + field("fieldOfViewMm", R"("Mrd.Fov")")) +
         record("Encoding",
                field("encodedSpace", R"("Mrd.Space")") + "," + field("trajectory", R"("Mrd.Trajectory")")) +
         record("Parameter", field("name", R"("string")") + "," + field("value", R"("string")")) +
         record("Parameters", field("userParameterString", R"({"vector":{"items":"Mrd.Parameter"}})")) +
         record("Study",
                field("studyDate", R"([null,"date"])") + "," + field("studyTime", R"([null,"time"])")) +
         record("Header", field("studyInformation", R"([null,"Mrd.Study"])") + "," +
                              field("encoding", R"({"vector":{"items":"Mrd.Encoding"}})") + "," +
                              field("userParameters", R"([null,"Mrd.Parameters"])")) +
         record("Wave",
                field("data", R"({"array":{"items":"T","dimensions":2}})") + "," +
                    field("meta", R"({"map":{"keys":"string","values":{"vector":{"items":"Mrd.Value"}}}})"),
                R"("typeParameters":["T"],)") +
         R"({"name":"Flags","base":"uint64","values":[{"symbol":"a","value":1}]},)"
         R"({"name":"Trajectory","values":[{"symbol":"cartesian","value":0},{"symbol":"radial","value":2}]},)"
         R"({"name":"Path","type":{"array":{"items":"float32","dimensions":[{"name":"basis"},{"name":"samples"}]}}},)"
         R"({"name":"Value","type":[{"tag":"string","type":"string"},{"tag":"int64","type":"int64"}]},)"
         R"({"name":"Any","type":{"array":{"items":"complexfloat32"}}},)"
         R"({"name":"Item","type":[{"tag":"Acquisition","type":"Mrd.Acquisition"},)"
         R"({"tag":"WaveformUint32","type":{"name":"Mrd.Wave","typeArguments":["uint32"]}},)"
         R"({"tag":"ImageFloat","type":{"name":"Mrd.Wave","typeArguments":["float32"]}},)"
         R"({"tag":"ArrayComplexFloat","type":"Mrd.Any"}]}]})";
}

std::string beginning(const std::string& schema_text) {
  return std::string("yardl\1\0\0\0", 9) + text_of(schema_text);
}
std::string header_2() {
  return some(some(some(zigzag(20'000)) +
                   some(zigzag(3'600'000'000'000))) +  // studyInformation: 2024-10-04, 01:00:00
              varint(1) +
              varint(16) + varint(16) + varint(1) + floats({160, 160, 5}) + zigzag(2) +
              some(varint(1) + text_of("trajectory_unit") + text_of("cycles/FOV")));
}
const std::string wave = "\1" + varint(1) + varint(300) + std::string(300, '\5') + varint(1) +
                         text_of("key") + varint(2) + "\1" + zigzag(-3) + '\0' + text_of("value"),
                  any = "\3" + varint(3) + varint(2) + varint(1) + varint(2) + std::string(4 * 8, 'a');

std::string acquisition_2(ISMRMRD::Acquisition& acquisition) {
  const auto& head = acquisition.getHead();
  std::string bytes = none + varint(head.flags) + some(varint(head.idx.kspace_encode_step_1)) + none + none +
                      some(varint(head.idx.slice)) + none + none + none + none + none + varint(2) +
                      varint(7) + varint(70000) + varint(123456) + some(varint(head.scan_counter)) + none +
                      varint(0) + varint(2) + varint(0) + varint(1) + none + none +
                      some(varint(head.center_sample)) + none + some(floats({head.sample_time_us})) +
                      floats({1, 2, 3}) + floats({1, 0, 0}) + floats({0, 1, 0}) + floats({0, 0, 1}) +
                      floats({0, 0, 0}) + varint(1) + zigzag(-5) + varint(0) + varint(head.active_channels) +
                      varint(head.number_of_samples) +
                      plain(std::span(reinterpret_cast<const float*>(acquisition.getDataPtr()),
                                      2 * acquisition.getNumberOfDataElements()));
  const int axes = head.trajectory_dimensions;
  bytes += varint(static_cast<std::uint64_t>(axes)) + varint(axes > 0 ? head.number_of_samples : 0);
  for (std::uint16_t axis = 0; axis < axes; ++axis)
    for (std::uint16_t s = 0; s < head.number_of_samples; ++s) bytes += floats({acquisition.traj(axis, s)});
  return bytes;
}

class Mrd2FileTest : public FolderTest {
 protected:
  /// Ten spokes of two slices and a noise readout, as ISMRMRD and as items.
  Mrd2FileTest() {
    for (auto& readout : write_spokes(path("scan.mrd"))) items_.push_back(acquisition_2(readout));
  }
  /// The items in blocks of one, and an end.
  std::string single() const {
    std::string all;
    for (const auto& item : items_) all += "\1" + item;
    return all + none;
  }
  std::string block() const {
    auto all = varint(items_.size());
    for (const auto& item : items_) all += item;
    return all;
  }
  std::string written(const std::string& content) const {
    write_text(path("scan.v2"), content);
    return path("scan.v2");
  }
  std::unique_ptr<ScanFile> expect_the_scan(const std::string& name) const {
    const auto expected = open_scan(path("scan.mrd"));
    auto found = open_scan(name);
    EXPECT_EQ(found->summary().format, "ISMRMRD (MRD version 2)");
    EXPECT_EQ(found->summary().slice_count, 2);
    for (int slice = 0; slice < 2; ++slice) {
      const auto a = expected->read(slice, 0), b = found->read(slice, 0);
      EXPECT_TRUE(std::ranges::equal(a.kspace.values, b.kspace.values));
      EXPECT_TRUE(std::ranges::equal(a.trajectory.k, b.trajectory.k));
      EXPECT_TRUE(std::ranges::equal(*a.sample_time_s, *b.sample_time_s));
      EXPECT_TRUE(std::ranges::equal(*a.noise, *b.noise));
      EXPECT_EQ(a.geometry.fov_mm, b.geometry.fov_mm);
      EXPECT_EQ(a.geometry.position_mm, b.geometry.position_mm);
    }
    return found;
  }
  std::vector<std::string> items_;
};

TEST_F(Mrd2FileTest, is_read_as_the_same_measurement_in_ismrmrd) {
  for (const bool head : {false, true}) {
    const auto begin = beginning(schema(head)) + header_2();
    const auto one = expect_the_scan(written(begin + single()));
    EXPECT_EQ(one->summary().acquisition.study_date, "2024-10-04");
    EXPECT_EQ(one->summary().acquisition.study_time, "01:00:00");
    EXPECT_FALSE(says(one->summary().missing, "closing message"));
    expect_the_scan(written(begin + block() + none));
    expect_the_scan(written(begin + "\1" + wave + "\2" + any + wave + single()));
    EXPECT_TRUE(says(expect_the_scan(written(begin + "\1" + any + single()))->summary().missing,
                     "passed over: 1 ArrayComplexFloat."));
    EXPECT_TRUE(says(expect_the_scan(written(begin + block()))->summary().missing, "closing message"));
  }
  const auto content = bytes_of(written(beginning(schema(true)) + header_2() + single()));
  write_gzip(path("scan.gz"), "scan.gz", content.size(),
             [&](std::uint64_t offset, std::span<std::uint8_t> bytes) {
               std::memcpy(bytes.data(), content.data() + offset, bytes.size());
             });
  expect_the_scan(path("scan.gz"));
}

TEST_F(Mrd2FileTest, becomes_ismrmrd_with_its_flags) {
  const auto file = open_scan(written(beginning(schema(true)) + header_2() + "\1" + wave + single()));
  convert_scan(*file, path("scan.v2"), {}, path("copy.mrd"), ScanFormat::ismrmrd);
  const auto copy = open_scan(path("copy.mrd"));
  EXPECT_TRUE(std::ranges::equal(copy->read(1, 0).kspace.values, file->read(1, 0).kspace.values));
  EXPECT_TRUE(copy->read(0, 0).noise.has_value());
  EXPECT_EQ(copy->summary().acquisition.study_date, "2024-10-04") << "the header is copied";
}

TEST_F(Mrd2FileTest, that_ends_early_is_refused_or_read_up_to_there) {
  const auto begin = beginning(schema(true)) + header_2();
  const auto whole = begin + block();
  std::set<std::size_t> item_ends, sizes{begin.size(), begin.size() + 1};
  for (std::size_t size = 5; size < whole.size(); size += 11) sizes.insert(size);
  for (std::size_t end = begin.size() + 1; const auto& item : items_) {
    item_ends.insert(end += item.size());
    for (const auto size : {end - 1, end, end + 1})
      if (size < whole.size()) sizes.insert(size);
  }
  for (const auto size : sizes) {
    const auto line = error_of([&] {
      EXPECT_TRUE(says(open_scan(written(whole.substr(0, size)))->summary().missing, "closing message"));
    });
    if (line.empty())
      EXPECT_TRUE(item_ends.contains(size)) << size;  // of the image so far
    else
      EXPECT_CONTAINS(line, "scan.v2");
  }
}

TEST_F(Mrd2FileTest, with_any_byte_changed_is_read_or_refused) {
  const auto whole = beginning(schema(false)) + header_2() + "\1" + wave + "\1" + any + block() + none;
  std::mt19937 random(1);
  for (std::size_t at = 5; at < whole.size(); at += 7) {
    auto changed = whole;
    changed[at] = static_cast<char>(random());
    error_of([&] { open_scan(written(changed))->read(0, 0); });
  }
}

TEST_F(Mrd2FileTest, that_is_damaged_or_of_another_version_is_refused_in_a_line_that_says_where) {
  const auto refused = [&](const std::string& content, const std::string& part) {
    const auto line = error_of([&] { open_scan(written(content)); });
    EXPECT_CONTAINS(line, part);
    EXPECT_CONTAINS(line, "scan.v2");
  };
  const auto known = schema(true), begin = beginning(known) + header_2();
  const auto changed = [](std::string text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return beginning(text) + header_2();
  };
  const std::string huge = std::string(9, '\xff') + '\1';
  refused(std::string("yardl\2\0\0\0", 9), "version 1 of yardl's binary format, found 2");
  refused(beginning("{"), "a text of JSON");
  refused(beginning("{}") + single(), "one without some of its parts");
  refused(beginning("[1]") + single(), "one without some of its parts");
  refused(changed(known, R"("name":"Mrd")", R"("name":"MrdNoiseCovariance")"),
          "protocol 'MrdNoiseCovariance'");
  refused(beginning(schema(true, "acquisitionTimeStampNs")) + header_2() + single(),
          "'acquisitionTimeStamp:?uint32', found 'acquisitionTimeStampNs:?uint32'; write it as ISMRMRD");
  refused(changed(known, R"("items":"complexfloat32","dimensions":[{)",
                  R"("items":"complexfloat64","dimensions":[{)"),
          "found 'data:[n,n,]complexfloat64'");
  refused(changed(known, "Mrd.Fov", "Mrd.Nothing"), "a type of the schema");
  refused(changed(known, R"("type":"Mrd.Path")", R"("type":"Mrd.Path","x":)" + std::string(70, '[')),
          "a text of JSON");
  refused(changed(known, R"("name":"Study","fields":[)",
                  R"("name":"Study","fields":[{"name":"s","type":"Mrd.Study"},)"),
          "types at most 64 deep");
  refused(changed(known, R"("fields":[{"name":"head","type":"Mrd.Head"},)",
                  R"("fields":[{"name":"head","type":"Mrd.Head"},{"name":"all","type":"Mrd.Acquisition"},)"),
          "types at most 64 deep");
  refused(beginning(known) + none + single(), "a header, found none");
  refused(beginning(known) + "\2" + single(), "one of 2 kinds, found kind 2");
  refused(beginning(known) + some(none + huge), "more bytes");
  refused(begin + "\1\7" + items_[1], "one of 4 kinds, found kind 7");
  refused(begin + none, "readouts of an image");
  refused(begin + std::string(20, '\xff'), "at most 64 bits");
  refused(begin + "\1\1" + huge + huge, "more");
  refused(begin + "\1" + none + varint(0) + some(varint(65536)), "a number of at most 65535, found 65536");
  auto item = items_[1];
  item[item.size() - 16 * 2 * 4 - 1] = 15;  // samples of the trajectory
  refused(begin + "\1" + item, "16 samples, as many as values, found 15");
  item[item.size() - 16 * 2 * 4 - 2] = 5;  // its axes
  refused(begin + "\1" + item, "a number of at most 4, found 5");
  refused(begin + "\1\3" + varint(65), "a number of at most 64, found 65");
  refused(begin + "\1\3" + varint(2) + huge + huge, "more");
}

}  // namespace
}  // namespace fhd::io
