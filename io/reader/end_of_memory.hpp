#pragma once
// What a process does where not even a small piece of memory is left. Libraries do not look at every one of theirs: they
// crash, spoil what others hold, or take for absent what they could not read. The program asks (app/terminal/small_memory.cpp),
// in all its processes; in those of others, which may use this library, nobody does.
#include <atomic>

namespace fhd::io::guard {

/// Does not return, but to threads that the end of the process, which has begun, needs. Called from anywhere, whatever locks
/// are held, by any thread.
using EndOfMemory = void (*)();
/// Of this process; null: the piece is refused, as libraries are used to.
inline constinit std::atomic<EndOfMemory> end_of_memory = nullptr;

/// Whether the last piece of memory that this thread asked for was refused, which can only be a large one: who crashes
/// now has not looked.
inline constinit thread_local bool memory_was_refused = false;

/// The exit status by which a process that reads for another one says so.
inline constexpr int status_without_memory = 12;

}  // namespace fhd::io::guard
