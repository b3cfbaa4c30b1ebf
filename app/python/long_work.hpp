#pragma once
// Long work of this thread that Ctrl-C ends.
#include <nanobind/nanobind.h>

#include "recon/array/interruption.hpp"

namespace fhd::python {

/// Calls work() without the lock of the interpreter. Its long loops call the signal handlers of Python, in the main
/// thread alone, as Python does. Throws what work() throws; and what a handler raises, such as KeyboardInterrupt.
template <class Work>
void run_interruptibly(const Work& work) {
  try {
    const nanobind::gil_scoped_release released;
    const Interruptible here([] {
      const nanobind::gil_scoped_acquire locked;
      return PyErr_CheckSignals() != 0;
    });
    work();
  } catch (const Interrupted&) {
    throw nanobind::python_error();  // takes what the handler has raised
  }
}

}  // namespace fhd::python
