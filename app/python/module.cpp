// The extension module fhd._native. The files fhd/*.py make of it what Python's users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "app/commands/commands.hpp"
#include "app/python/arrays.hpp"
#include "app/terminal/console.hpp"
#include "io/reader/reader.hpp"
#include "recon/array/device.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::python {
namespace {

/// The handler below, which may capture nothing, uses these.
nb::object* error_class = nullptr;
nb::object* device_error_class = nullptr;

/// Returns the line of an error that names settings by their keywords.
std::string line_in_keywords(const Error& error) {
  auto parts = error.parts();
  parts.subject = subject_in_words(parts.subject);
  return app::told_line(sentence_of(parts));
}

/// Turns fhd::Error into fhd.Error, with its line in the words of the keywords.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const DeviceError& error) {
    PyErr_SetString(device_error_class->ptr(), line_in_keywords(error).c_str());
  } catch (const Error& error) {
    PyErr_SetString(error_class->ptr(), line_in_keywords(error).c_str());
  }
}

}  // namespace

// NOLINTNEXTLINE: the macro of nanobind
NB_MODULE(_native, module) {
  module.attr("version") = program_version;
  option_style() = OptionStyle::keywords;
  io::reader::use();
  module.attr("built_with_cuda") = built_with_cuda;
  error_class = new nb::object(nb::steal(
      PyErr_NewExceptionWithDoc("fhd.Error", "What is wrong, where, what was expected, and how to mend it.",
                                PyExc_ValueError, nullptr)));
  device_error_class = new nb::object(nb::steal(PyErr_NewExceptionWithDoc(
      "fhd.DeviceError", "A GPU that fails or has too little memory.", error_class->ptr(), nullptr)));
  module.attr("Error") = *error_class;
  module.attr("DeviceError") = *device_error_class;
  nb::register_exception_translator(translate);
  bind_operators(module);
  bind_scans(module);
  bind_recon(module);
}

}  // namespace fhd::python
