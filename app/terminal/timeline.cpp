#include "app/terminal/timeline.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "app/terminal/console.hpp"
#include "app/terminal/processes.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

using nlohmann::json;

std::set<std::string>& foreign_lines() {
  static std::set<std::string> lines;  // a set: the names of a worker's threads come with each of its scans
  return lines;
}

/// Throws Error where something else than an earlier timeline has that name.
void require_replaceable_timeline(const std::string& path) {
  io::require_replaceable_entry(path);
  if (io::is_of_another_kind(path, "[\n{"))
    throw Error("--trace " + path, "a new file, or an earlier timeline", "another file",
                "give it another name, or remove what is there");
}

std::string line_of(const json& event) { return event.dump(-1, ' ', false, json::error_handler_t::replace); }

void write_timeline(const std::string& path, const std::string& process) {
  require_replaceable_timeline(path);
  const auto recording = trace::take();
  std::string text;
  const auto add = [&](const std::string& line) { text += (text.empty() ? "[\n" : ",\n") + line; };
  for (const auto& event : timeline_of(recording, process)) add(line_of(event));
  for (const auto& line : foreign_lines()) add(line);
  text += "\n]\n";
  io::write_atomically(path, text.data(), text.size());
  if (recording.dropped > 0)
    print_error(fmt::format("note: {} of the spans are not in {}, which holds {} of a process at most",
                            recording.dropped, path, trace::most_events));
}

/// FILE.json of the first process, FILE.1.json of the next.
std::string name_for(int rank, const std::string& path) {
  if (rank == 0) return path;
  std::filesystem::path name(path);
  const auto extension = name.extension().string();
  return name.replace_extension(fmt::format(".{}{}", rank, extension)).string();
}

}  // namespace

json timeline_of(const trace::Recording& recording, const std::string& process) {
  const auto pid = getpid();
  const auto name = [&](const char* of_what, int thread, const std::string& text) {
    return json{{"ph", "M"}, {"name", of_what}, {"pid", pid}, {"tid", thread}, {"args", {{"name", text}}}};
  };
  json events = json::array();
  events.push_back(name("process_name", 0, process));
  for (const auto& [thread, text] : recording.thread_names)
    events.push_back(name("thread_name", thread, text));
  for (const auto& event : recording.events)
    events.push_back({{"ph", "X"},
                      {"name", event.name},
                      {"cat", event.category},
                      {"ts", event.begin_us},
                      {"dur", event.duration_us},
                      {"pid", pid},
                      {"tid", event.thread}});
  return events;
}

void add_to_timeline(const json& events) {
  for (const auto& event : events) foreign_lines().insert(line_of(event));
}

Run with_timeline(CLI::App& app, Run run) {
  const auto asked = std::make_shared<std::string>();
  app.add_option("--trace", *asked,
                 "also write a timeline of the stages, for ui.perfetto.dev (Chrome trace events, JSON)")
      ->type_name("FILE");
  const auto command = "fhd " + app.get_name();
  return [asked, run, command] {
    if (asked->empty()) return run();
    const auto path = name_for(MpiRank::of_environment().number, *asked);
    require_replaceable_timeline(path);
    io::require_writable_folder(path);
    trace::start();
    trace::name_thread("main");
    int status = 0;
    try {
      const trace::Span whole(command, "command");
      status = run();
    } catch (const UsageError&) {
      throw;  // nothing was done
    } catch (const std::exception&) {
      try {
        write_timeline(path, command);
      } catch (const std::exception& error) {
        print_error(error.what());
      }
      throw;
    }
    write_timeline(path, command);
    return status;
  };
}

}  // namespace fhd::app
