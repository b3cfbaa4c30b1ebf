#pragma once
// --json-lines: what a command does, for other programs: a JSON object a line on standard output, in the place of what
// a person reads there. Every object has "event", what it tells, and "time", in s since the start. The last one is
// "end", unless the process was killed. app/docs/cluster.md lists them.
#include <nlohmann/json.hpp>
#include <string>

#include "app/commands/commands.hpp"

namespace fhd::app {

/// Adds --json-lines to a command, which then runs `run`.
Run with_event_lines(CLI::App& app, Run run);

/// Returns whether events are written, so that text stays off standard output.
bool tells_events();
/// Turns events off, in workers.
void silence_events();

/// Writes an event; nothing unless --json-lines was given. Any thread may call it. `fields`: an object.
void tell_event(const char* event, const nlohmann::ordered_json& fields);
/// Writes "end", once: the exit status and, unless empty, the error that led to it.
void tell_end(int status, const std::string& error);
/// Writes "end" of a process that a signal ends; nothing where nobody reads the events before, so that it never waits.
void tell_end_by_signal(int number);

/// Prints a line of text, such as "note      all coils are ..."; with --json-lines writes {"event": "note", "text": ...}.
void say(const char* what, const std::string& text);

}  // namespace fhd::app
