#pragma once
// --trace FILE: what was done when, in the trace event format of Chrome, which https://ui.perfetto.dev opens:
// a JSON array of complete events (ph "X", ts and dur in us, pid, tid, name, cat) and of names of processes
// and threads (ph "M"). Categories: "command", the whole; "scan", what a batch does with one; "stage", as the
// report counts them; "device", the same on the GPU (recon/array/trace.hpp says what that means).
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.hpp"
#include "recon/array/trace.hpp"

namespace fhd::app {

/// Adds --trace to a command; what it then runs is `run`, recorded where that is asked for. The file appears
/// also when the command fails, but not of wrong usage. Throws Error before the work when it cannot be written, or when another file
/// has that name; an earlier timeline is replaced. Of several processes (mpirun) each writes its own:
/// FILE.json, FILE.1.json, ...
Run with_timeline(CLI::App& app, Run run);

/// Throws Error where --trace of the command names one of the files that it will write, or lies in one of its folders
/// ("DIR/"): the timeline is written after them. Before the work.
void require_other_than_timeline(const CLI::App& app, const std::vector<std::string>& written);

/// The events of a process, as they stand in the file. `process`: its name.
nlohmann::json timeline_of(const trace::Recording& recording, const std::string& process);

/// Puts events of another process into the file of this one.
void add_to_timeline(const nlohmann::json& events);

}  // namespace fhd::app
