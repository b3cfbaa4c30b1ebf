#pragma once
// --json-lines: what a command does, for other programs: a JSON object a line on standard output, in the place of what
// a person reads there. Every object has "event", what it tells, and "time", in s since the start. The last one is
// "end", unless the process was killed. app/docs/cluster.md lists them.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.hpp"

namespace fhd::app {

/// Adds --json-lines to a command, which then runs `run`.
Run with_event_lines(CLI::App& app, Run run);

/// Whether events are told, so that what a person reads stays off standard output.
bool tells_events();
/// From now on nothing is told: by the other processes of a team, and by workers.
void silence_events();

/// Nothing unless --json-lines was given. Any thread may. `fields`: an object.
void tell_event(const char* event, const nlohmann::ordered_json& fields);
/// errno of the first event that could not be written; 0: all were.
int error_of_events();
/// "end", once: the exit status and, unless empty, the error that led to it.
void tell_end(int status, const std::string& error);
/// The events of a command line that was refused: "start" and "end", with exit status 2, where its words ask for events of
/// a command that tells some. `error`: why.
void tell_refusal(const CLI::App& app, const std::vector<std::string>& words, const std::string& error);
/// The same of a process that a signal ends. Not told where nobody reads what came before: the end does not wait for it.
void tell_end_by_signal(int number);

/// A line of a person's text, such as "note      all coils are ..."; with --json-lines the event {"event": "note",
/// "text": ...}.
void say(const char* what, const std::string& text);

}  // namespace fhd::app
