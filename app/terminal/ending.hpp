#pragma once
// How the program ends: by itself, by a signal, or by an exception that nobody catches. In all cases it prints one line and
// leaves no temporary files.
#include <string>

namespace fhd::app {

/// Installs the handlers of signals, of uncaught exceptions and of exit(), which libraries call: each removes the temporary
/// files first. Called once, before anything else.
void end_cleanly();

/// Prints `failure`, removes temporary files and ends the process with status 1. From any thread.
[[noreturn]] void end_at_once(const std::string& failure) noexcept;

/// Returns the message of the exception that is being handled, in one line.
std::string failure_of_exception();

/// Prints `failure` and what is unfinished, and reports the event "end". Returns `status`.
int tell_failure(const std::string& failure, int status) noexcept;

}  // namespace fhd::app
