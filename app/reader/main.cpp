// fhd-reader: a process that reads one file for the program, or for the Python module, and may do nothing else.
#include "io/reader/reader.hpp"

int main() { return fhd::io::reader::serve(); }
