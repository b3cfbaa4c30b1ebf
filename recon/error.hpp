#pragma once
// The one exception of the program. Its text is the one line that a user reads.
#include <stdexcept>
#include <string>
#include <string_view>

namespace fhd {

/// "subject: expected E, found F; remedy", e.g.
/// `scan.h5:/trajectory: expected [sample][axis] with 2 or 3 axes, found [4096]; turn the axes`.
/// `subject` names the file, dataset, option or quantity; an empty part is left out.
class Error : public std::runtime_error {
 public:
  Error(std::string_view subject, std::string_view expected, std::string_view found,
        std::string_view remedy = {})
      : std::runtime_error(compose(subject, expected, found, remedy)) {}

 private:
  static std::string compose(std::string_view subject, std::string_view expected, std::string_view found,
                             std::string_view remedy) {
    std::string line(subject);
    if (!expected.empty()) line.append(": expected ").append(expected);
    if (!found.empty()) line.append(expected.empty() ? ": " : ", found ").append(found);
    if (!remedy.empty()) line.append("; ").append(remedy);
    return line;
  }
};

/// Memory that the machine, or a limit of it, does not have.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A GPU that fails or has too little memory: what a program may answer with the CPU.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace fhd
