// fhd-reader: a process that reads one file for the program, or for the Python module, and may do nothing else. Its
// argument, `keywords`, makes its messages speak of the keywords of Python.
#include <string_view>

#include "io/reader/reader.hpp"
#include "recon/domain/option_words.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view("keywords")) fhd::option_style() = fhd::OptionStyle::keywords;
  return fhd::io::reader::serve();
}
