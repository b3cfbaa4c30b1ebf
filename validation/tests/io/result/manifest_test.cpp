// Manifests of batches: what is written is read again, and what they say of files holds or not.
#include "io/result/manifest.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "io/scan/checksum.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

using Manifests = FolderTest;

TEST_F(Manifests, are_read_as_they_were_written) {
  Manifest manifest;
  manifest.status = Manifest::Status::finished;
  manifest.error = "none \xff";  // no UTF-8: replaced
  manifest.scan = "/scans/x.h5";
  manifest.input = {{"x.h5", 10, 5}, {"x.raw", 11, 6}};
  manifest.input_checksum = "ab";
  manifest.examined_ns = 9;
  manifest.settings = {{"lambda", "1"}};
  manifest.products = {{{"x.png", 3, 4}, "cd"}};
  manifest.seconds = 1.5;
  manifest.converged = true;
  manifest.messages = {{"delays", Severity::warning, "one", "remedy", "lambda"},
                       {"b", Severity::suspicion, "two"}};
  write_manifest(path("x.json"), manifest);
  const auto read = read_manifest(path("x.json"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, Manifest::Status::finished);
  EXPECT_EQ(read->error, "none \xef\xbf\xbd");
  EXPECT_EQ(read->scan, manifest.scan);
  EXPECT_TRUE(read->input == manifest.input);
  EXPECT_EQ(read->examined_ns, 9);
  EXPECT_EQ(read->settings.at("lambda"), "1");
  ASSERT_EQ(read->products.size(), 1u);
  EXPECT_EQ(read->products[0].name, "x.png");
  EXPECT_EQ(read->products[0].checksum, "cd");
  EXPECT_EQ(read->seconds, 1.5);
  EXPECT_TRUE(read->converged);
  EXPECT_EQ(read->messages, manifest.messages);
  EXPECT_EQ(manifest_path(folder(), "x"), path("x.manifest.json"));
}

TEST_F(Manifests, that_are_damaged_or_of_others_are_none) {
  EXPECT_FALSE(read_manifest(path("absent.json")));
  for (const std::string text :
       {"", "[", "[]", "3", "{}", R"({"format": "other"})", R"({"format": "fhd manifest 2"})",
        R"({"format": "fhd manifest 1"})", R"({"format": 2})"}) {
    write_text(path("x.json"), text);
    EXPECT_FALSE(read_manifest(path("x.json"))) << text;
  }
}

/// Copies and comparisons of JSON call themselves: 100,000 lists in each other ended the program.
TEST_F(Manifests, that_nest_or_hold_more_than_fhd_writes_are_none) {
  const int n = 100000;
  std::string flat = "[0";
  for (int i = 0; i < n; ++i) flat += ",[]";
  for (const auto& value : {std::string(n, '[') + std::string(n, ']'), flat + "]"})
    for (const std::string name : {"input_sha256", "input_checksum", "other"}) {
      write_text(path("x.json"), R"({"format": "fhd manifest 1", ")" + name + "\": " + value + "}");
      EXPECT_FALSE(read_manifest(path("x.json"))) << name;
    }
}

TEST_F(Manifests, of_many_products_are_read) {
  Manifest manifest;
  const auto n = 30000u;
  for (auto i = 0u; i < n; ++i)
    manifest.products.push_back({{"x_dicom/" + std::to_string(i) + ".dcm", i, 1}, std::string(83, 'c')});
  write_manifest(path("x.json"), manifest);
  const auto read = read_manifest(path("x.json"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->products.size(), n);
}

TEST_F(Manifests, know_products_of_their_folder_alone) {
  std::filesystem::create_directory(path("batch"));
  write_text(path("outside"), "abc");
  write_text(path("batch/x.png"), "abc");
  for (const auto& name : {std::string("x.png"), std::string("../outside"), path("outside"),
                           std::string("x_dicom/../../outside")}) {
    Manifest manifest;
    manifest.products = {{{name, 3, 1}, checksum_of(path("outside"))}};
    EXPECT_EQ(missing_product(path("batch"), manifest).value_or("x.png"), name);
  }
}

TEST_F(Manifests, stop_reading_what_nobody_waits_for) {
  write_text(path("x.h5"), std::string(8 << 20, 'a'));
  Manifest manifest;
  manifest.products = products_of(folder(), {path("x.h5")});
  manifest.products[0].modified_ns = 1;
  EXPECT_FALSE(missing_product(folder(), manifest));
  std::atomic<int> asked = 0;
  EXPECT_EQ(missing_product(folder(), manifest, [&] { return ++asked > 3; }), "x.h5")
      << "not read is changed";
  EXPECT_LE(asked, 3 + 4) << "of 32 pieces";
}

TEST_F(Manifests, tell_which_product_is_not_what_it_was) {
  Manifest manifest;
  EXPECT_EQ(missing_product(folder(), manifest), "results");
  write_text(path("x.png"), "abc");
  write_text(path("y.png"), "def");
  manifest.products = products_of(folder(), {path("x.png"), path("y.png")});
  ASSERT_EQ(manifest.products.size(), 2u);
  EXPECT_EQ(manifest.products[1].name, "y.png");
  EXPECT_EQ(manifest.products[1].bytes, 3u);
  EXPECT_EQ(manifest.products[1].checksum, checksum_of(path("y.png")));
  EXPECT_FALSE(missing_product(folder(), manifest));
  manifest.products[0].modified_ns = 1;  // the content decides
  EXPECT_FALSE(missing_product(folder(), manifest));
  manifest.products[0].checksum = manifest.products[1].checksum;
  EXPECT_EQ(missing_product(folder(), manifest), "x.png");
  manifest.products.erase(manifest.products.begin());
  write_text(path("y.png"), "longer");
  EXPECT_EQ(missing_product(folder(), manifest), "y.png");
  std::filesystem::remove(path("y.png"));
  EXPECT_EQ(missing_product(folder(), manifest), "y.png");
}

TEST_F(Manifests, know_a_scan_by_stamps_that_are_older_than_the_look_at_it) {
  write_text(path("x.h5"), "abc");
  Manifest manifest;
  manifest.input = stamps_of(path("x.h5"));
  ASSERT_EQ(manifest.input.size(), 1u);
  EXPECT_EQ(manifest.input[0].name, "x.h5");
  EXPECT_EQ(manifest.input[0].bytes, 3u);
  manifest.examined_ns = manifest.input[0].modified_ns;  // it may have changed in the same tick
  EXPECT_FALSE(same_stamps(manifest, manifest.input));
  manifest.examined_ns = manifest.input[0].modified_ns + 3'000'000'000;
  EXPECT_TRUE(same_stamps(manifest, manifest.input));
  auto other = manifest.input;
  ++other[0].bytes;
  EXPECT_FALSE(same_stamps(manifest, other));
  EXPECT_CONTAINS(error_of([&] { static_cast<void>(stamps_of(path("absent.h5"))); }), "a readable file");
}

}  // namespace
}  // namespace fhd::io
