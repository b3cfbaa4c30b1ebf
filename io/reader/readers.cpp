#include "io/reader/readers.hpp"

#include "io/files/in_reader.hpp"
#include "io/reader/process.hpp"
#include "io/reader/reader.hpp"

namespace fhd::io::reader {
namespace {

/// Calls a function of Readers in a process of its own.
template <auto function>
struct InProcess;
template <class Result, class... Arguments, Result (*function)(const std::string&, Arguments...)>
struct InProcess<function> {
  static Result call(const std::string& path, Arguments... arguments) {
    if (!is_on()) return function(path, arguments...);
    ReaderProcess process({{path}});
    return process.ask<Result>(Readers::number_of<function>(), path, arguments...);
  }
};

Sentences copy_in_process(const std::string& from, const ReadOptions& options, const std::string& temporary,
                          const std::string& path) {
  if (!is_on()) return copy_ismrmrd_here(from, options, temporary, path);
  ReaderProcess process({{from}, {temporary}});
  return process.ask<Sentences>(Readers::number_of<&copy_ismrmrd_here>(), from, options, temporary, path);
}

std::unique_ptr<ScanFile> open_scan(const std::string& path, const ReadOptions& options) {
  return is_on() ? open_scan_in_reader(path, options) : open_scan_here(path, options);
}

template <auto... functions>
void replace(ReaderList<functions...>) {
  ((Replacement<functions>::call = &InProcess<functions>::call), ...);
}

}  // namespace

void register_readers() {
  replace(Readers{});
  Replacement<& copy_ismrmrd_here>::call = &copy_in_process;
  Replacement<& open_scan_here>::call = &open_scan;
}

}  // namespace fhd::io::reader
