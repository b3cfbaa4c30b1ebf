#pragma once
// How the program ends: by itself, by a signal, or where nothing can be caught any more. Always with one line, without
// temporary files, and never by a crash.
#include <string>

namespace fhd::app {

/// Once, before anything else: from here on signals that end the process, exceptions that nobody catches, libraries that
/// call exit(), want of small pieces of memory, and what crashes for want of large ones, first remove the temporary files.
void end_cleanly();
/// The program may end now, by returning from main().
void end_in_order();

/// Ends the process with status 1 and this line: a failure from which nothing can return. From any thread, and without
/// memory.
[[noreturn]] void end_at_once(const char* failure) noexcept;

/// What the exception that is being handled says, in one line.
std::string failure_of_exception();

/// Ends a command that failed: tells `failure` (also the event "end") and what is unfinished. Returns `status`.
int tell_failure(const std::string& failure, int status) noexcept;

}  // namespace fhd::app
