#pragma once
// --trace FILE: a timeline in the trace event format of Chrome, which https://ui.perfetto.dev opens: a JSON array of complete
// events (ph "X", ts and dur in us, pid, tid, name, cat) and of names of processes and threads (ph "M"). Categories:
// "command", the whole; "scan", a step of a batch; "stage", as in the report; "device", stages on the GPU
// (recon/array/trace.hpp).
#include <string>

#include "app/commands/commands.hpp"

namespace fhd::app {

/// Adds --trace to a command, which then runs `run` and writes the timeline, also when the command fails, but not after wrong
/// usage. Throws Error before the work when the file cannot be written, or is there and is no timeline; after the work when a
/// result has its name. Of several processes
/// (mpirun) each writes its own: FILE.json, FILE.1.json, ...
Run with_timeline(CLI::App& app, Run run);

/// Returns the events of this process that are new since the last call, as they stand in the file; an empty text where there are
/// none. `process`: its name.
std::string new_timeline(const std::string& process);

/// Adds the text of another process to the file of this one.
void add_to_timeline(std::string text);

}  // namespace fhd::app
