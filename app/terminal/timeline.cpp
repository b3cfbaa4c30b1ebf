#include "app/terminal/timeline.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/terminal/console.hpp"
#include "app/terminal/processes.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "recon/array/trace.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

std::vector<std::string>& foreign_texts() {
  static std::vector<std::string> texts;
  return texts;
}

/// Throws Error where something else than an earlier timeline has that name.
void require_replaceable_timeline(const std::string& path) {
  io::require_replaceable_entry(path);
  if (io::is_of_another_kind(path, "[\n{"))
    throw Error("--trace " + path, "a new file, or an earlier timeline", "another file",
                "give it another name, or remove what is there");
}

/// Returns a text of JSON.
std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_of(const trace::Recording& recording, const std::string& process) {
  const auto pid = getpid();
  std::string text;
  const auto add = [&]<class... Values>(fmt::format_string<Values...> line, Values&&... values) {
    if (!text.empty()) text += ",\n";
    fmt::format_to(std::back_inserter(text), line, std::forward<Values>(values)...);
  };
  constexpr auto name = R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})";
  static std::atomic_flag is_named;
  if (!is_named.test_and_set()) add(name, "process_name", pid, 0, json_text(process));
  for (const auto& [thread, of_thread] : recording.thread_names)
    add(name, "thread_name", pid, thread, json_text(of_thread));
  for (const auto& event : recording.events)
    add(R"({{"ph":"X","name":{},"cat":"{}","ts":{},"dur":{},"pid":{},"tid":{}}})", json_text(event.name),
        event.category, event.begin_us, event.duration_us, pid, event.thread);
  return text;
}

void write_timeline(const std::string& path, const std::string& process) {
  require_replaceable_timeline(path);
  const auto recording = trace::take();
  std::string text = "[\n" + text_of(recording, process);
  for (const auto& other : foreign_texts()) text += ",\n" + other;
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

std::string new_timeline(const std::string& process) { return text_of(trace::take(), process); }

void add_to_timeline(std::string text) {
  if (!text.empty()) foreign_texts().push_back(std::move(text));
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
