#include "app/terminal/event_lines.hpp"

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "app/terminal/console.hpp"
#include "app/terminal/processes.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

using EventClock = std::chrono::steady_clock;

std::atomic<bool> events_are_told = false;
bool end_is_told = false;  // under event_mutex
std::timed_mutex event_mutex;
const EventClock::time_point events_began = EventClock::now();

/// Writes a line, under event_mutex.
void write_event(const char* event, const nlohmann::ordered_json& fields) {
  const double seconds = std::chrono::duration<double>(EventClock::now() - events_began).count();
  nlohmann::ordered_json line{{"event", event}, {"time", std::round(seconds * 1e3) / 1e3}};
  line.update(fields);
  print_json(line, -1);
}

/// Writes "end" once, under event_mutex.
void write_end(int status, const std::string& error) {
  if (std::exchange(end_is_told, true)) return;
  nlohmann::ordered_json fields{{"status", status}};
  if (!error.empty()) fields["error"] = error;
  write_event("end", fields);
}

std::string typed;  // set once, before any command runs

std::string quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:%@") ==
          std::string::npos)
    return word;
  std::string result = "'";
  for (char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

bool tells_events() { return events_are_told; }
void silence_events() { events_are_told = false; }

void tell_event(const char* event, const nlohmann::ordered_json& fields) {
  if (!events_are_told) return;
  const std::lock_guard lock(event_mutex);
  if (!end_is_told) write_event(event, fields);
}

void tell_end(int status, const std::string& error) {
  if (!events_are_told) return;
  const std::lock_guard lock(event_mutex);
  write_end(status, error);
}

void tell_end_by_signal(int number) {
  if (!events_are_told) return;
  const std::unique_lock lock(event_mutex, std::chrono::milliseconds(100));
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (lock && poll(&output, 1, 0) == 1 && (output.revents & POLLOUT) != 0)
    write_end(128 + number, std::string("stopped: ") + strsignal(number));
}

void say(const char* what, const std::string& text) {
  if (tells_events())
    tell_event(what, {{"text", text}});
  else
    print_out("{:<9} {}\n", what, text);
}

const std::string& command_line() { return typed; }

void set_command_line(int argc, const char* const* argv) {
  for (int i = 0; i < argc; ++i) typed += (i > 0 ? " " : "") + quoted(argv[i]);
}

Run with_event_lines(CLI::App& app, Run run) {
  const auto asked = std::make_shared<bool>(false);
  app.add_flag("--json-lines", *asked,
               "print a JSON object for each event, a line each, instead of text (for other programs)")
      ->excludes("--quiet");
  return [asked, run, command = app.get_name()] {
    events_are_told = *asked && MpiRank::of_environment().number == 0;  // one process of a team tells
    tell_event("start", {{"program", "fhd"},
                         {"version", program_version},
                         {"command", command},
                         {"command_line", command_line()},
                         {"started_at", utc_now()}});
    return run();
  };
}

}  // namespace fhd::app
