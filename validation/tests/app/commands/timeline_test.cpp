// --trace: a file that a viewer of timelines opens.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "validation/tests/program.hpp"

namespace {

using nlohmann::json;

class TimelineCommand : public fhd::tests::ProgramTest {
 protected:
  void simulate(const std::string& name) const {
    ASSERT_DONE(run("simulate -o '" + name + "' --matrix 16 --coils 2"));
  }
  /// The spans of a file by their names; checks what a viewer needs of every event.
  std::multimap<std::string, json> spans_of(const std::string& name) const {
    std::multimap<std::string, json> spans;
    std::set<json> names;
    const auto events = json::parse(text(name));
    EXPECT_TRUE(events.is_array());
    for (const auto& event : events) {
      EXPECT_TRUE(event.at("pid").is_number_integer() && event.at("tid").is_number_integer()) << event;
      if (event.at("ph") == "M") {
        EXPECT_TRUE(event.at("name") == "process_name" || event.at("name") == "thread_name") << event;
        EXPECT_TRUE(event.at("args").at("name").is_string()) << event;
        EXPECT_TRUE(names.insert(event).second) << event;
        continue;
      }
      EXPECT_EQ(event.at("ph"), "X");
      EXPECT_TRUE(event.at("cat").is_string()) << event;
      EXPECT_GE(event.at("ts").get<double>(), 0) << event;
      EXPECT_GE(event.at("dur").get<double>(), 0) << event;
      spans.emplace(event.at("name"), event);
    }
    return spans;
  }
};

TEST_F(TimelineCommand, has_every_stage_of_the_report_for_its_seconds) {
  simulate("scan");
  ASSERT_DONE(run("recon scan.h5 --device cpu --trace t.json"));
  const auto spans = spans_of("t.json");
  const auto whole = spans.find("fhd recon");
  ASSERT_NE(whole, spans.end());
  const auto report = json::parse(text("scan_recon.json"));
  std::set<std::string> stages;
  for (const auto& stage : report["environment"]["images"][0]["stages"]) {
    const std::string name = stage["name"];
    if (name == "gridded image") continue;  // of several stages with names of their own
    double seconds = 0;
    for (auto [at, end] = spans.equal_range(name); at != end; ++at) {
      seconds += 1e-6 * at->second.at("dur").get<double>();
      EXPECT_GE(at->second.at("ts"), whole->second.at("ts"));
      stages.insert(name);
    }
    // A span holds what is measured and a little more.
    EXPECT_GE(seconds, 0.99 * stage["seconds"].get<double>()) << name;
    EXPECT_LE(seconds, stage["seconds"].get<double>() + 0.2) << name;
  }
  EXPECT_GE(stages.size(), 4u);
}

TEST_F(TimelineCommand, of_a_batch_has_its_workers_with_what_they_did_to_each_scan) {
  simulate("a");
  simulate("b \"quoted\"");
  ASSERT_DONE(run("batch a.h5 'b \"quoted\".h5' -o results --device cpu --trace t.json"));
  const auto spans = spans_of("t.json");
  const auto batch = spans.find("fhd batch");
  ASSERT_NE(batch, spans.end());
  for (const std::string name : {"a", "b \"quoted\""})
    for (const std::string what : {"read ", "compute ", "write "}) {
      ASSERT_EQ(spans.count(what + name), 1u) << what << name;
      EXPECT_NE(spans.find(what + name)->second.at("pid"), batch->second.at("pid"));
      EXPECT_GE(spans.find(what + name)->second.at("ts"), batch->second.at("ts"));  // one clock
    }
  EXPECT_EQ(spans.count("conjugate gradient"), 2u);
}

TEST_F(TimelineCommand, replaces_an_earlier_one_and_nothing_else) {
  simulate("scan");
  const auto before = text("scan.h5");
  EXPECT_EQ(run("recon scan.h5 --device cpu --trace scan.h5"), 1);
  EXPECT_EQ(text("err"),
            "fhd: --trace scan.h5: expected a new file, or an earlier timeline, found another file; give it "
            "another name, or remove what is there\n");
  EXPECT_EQ(text("scan.h5"), before);
  EXPECT_EQ(run("recon scan.h5 --device cpu --trace nowhere/t.json"), 1);
  EXPECT_EQ(run("recon scan.h5 --device cpu --trace ."), 1);
  EXPECT_FALSE(exists("scan_recon.h5"));
  for (int time = 0; time < 2; ++time) EXPECT_DONE(run("recon scan.h5 --device cpu --trace t.json"));
}

TEST_F(TimelineCommand, is_there_when_the_command_fails) {
  simulate("scan");
  fhd::tests::write_text(path("not_a_scan.h5"), "text");
  EXPECT_EQ(run("recon not_a_scan.h5 --trace t.json"), 1);
  EXPECT_EQ(spans_of("t.json").count("fhd recon"), 1u);
}

}  // namespace
