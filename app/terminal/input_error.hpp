#pragma once
#include "recon/error.hpp"

namespace fhd::app {

/// A file that an option names is not what it should be: a failure, exit status 1.
struct InputError : Error {
  explicit InputError(const Error& error) : Error(error) {}
};
/// The result of `read`, which reads a file that an option names.
template <class Read>
auto of_input(Read read) {
  try {
    return read();
  } catch (const Error& error) {
    throw InputError(error);
  }
}

}  // namespace fhd::app
