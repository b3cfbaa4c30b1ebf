#pragma once
// Files of other people are read by processes that may only read them and answer: whatever a file does to the library that
// reads it is then one line of an Error. Each process runs the program fhd-reader and serves one file, or one scan
// with its files.
#include <string>

namespace fhd::io::reader {

/// From now on, in_reader() (io/files/in_reader.hpp) runs functions in processes of the program at `path`; empty: fhd-reader as
/// installed.
void use(const std::string& path = {});
/// Starts the process for the next file now, so that the file does not wait for it.
void start_ahead();
/// Ends the process that waits for a file. Files can still be read afterwards.
void end_waiting();

/// Runs the program fhd-reader: serves requests of the process that started it.
int serve();

/// Returns whether files are read in other processes.
bool is_on();
/// Returns a line for 'fhd --version --verbose'.
std::string text_of_state();

}  // namespace fhd::io::reader
