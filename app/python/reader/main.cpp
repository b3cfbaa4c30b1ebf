// fhd-reader: the host of the processes that read files for the Python module, which cannot be a copy of Python itself.
#include "io/reader/guard.hpp"

int main() { fhd::io::guard::be_host_program(); }
