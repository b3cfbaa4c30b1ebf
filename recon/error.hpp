#pragma once
// The one exception of the program: values, from which one line for a user is composed.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace fhd {

/// The causes on which a program decides what to do next; all others are `failed`.
enum class ErrorKind : std::uint8_t { failed, usage, input, out_of_memory, device };

/// Names a setting by its option without the dashes, "lambda", and where one value of it matters, that value.
struct Field {
  std::string_view name;
  std::string_view value{};
};

struct ErrorParts {
  std::string subject{};  ///< a file, dataset, quantity or setting ("--lambda")
  std::string expected{}, found{}, remedy{};
  std::string field{};  ///< the setting at fault, "lambda"; may be empty
  ErrorKind kind = ErrorKind::failed;
};

/// Returns "subject: expected E, found F; remedy"; an empty part is left out.
inline std::string sentence_of(const ErrorParts& parts) {
  std::string line = parts.subject;
  if (!parts.expected.empty()) line.append(": expected ").append(parts.expected);
  if (!parts.found.empty()) line.append(parts.expected.empty() ? ": " : ", found ").append(parts.found);
  if (!parts.remedy.empty()) line.append("; ").append(parts.remedy);
  return line;
}

class Error : public std::runtime_error {
 public:
  explicit Error(ErrorParts parts)
      : std::runtime_error(sentence_of(parts)),
        parts_(std::make_shared<const ErrorParts>(std::move(parts))) {}
  Error(std::string_view subject, std::string_view expected, std::string_view found,
        std::string_view remedy = {}, ErrorKind kind = ErrorKind::failed)
      : Error({std::string(subject),
               std::string(expected),
               std::string(found),
               std::string(remedy),
               {},
               kind}) {}
  Error(Field field, std::string_view expected, std::string_view found, std::string_view remedy = {},
        ErrorKind kind = ErrorKind::failed)
      : Error({subject_of(field), std::string(expected), std::string(found), std::string(remedy),
               std::string(field.name), kind}) {}

  const ErrorParts& parts() const { return *parts_; }
  ErrorKind kind() const { return parts_->kind; }

 private:
  static std::string subject_of(Field field) {
    return "--" + std::string(field.name) + (field.value.empty() ? "" : " ") + std::string(field.value);
  }

  std::shared_ptr<const ErrorParts> parts_;  ///< shared, because copying an exception must not throw
};

/// The machine, or a limit of it, does not have the memory.
class OutOfMemory : public Error {
 public:
  OutOfMemory(std::string_view subject, std::string_view expected, std::string_view found,
              std::string_view remedy = {})
      : Error(subject, expected, found, remedy, ErrorKind::out_of_memory) {}
};

/// A GPU failed or has too little memory; a program may go on with the CPU.
class DeviceError : public Error {
 public:
  DeviceError(std::string_view subject, std::string_view expected, std::string_view found,
              std::string_view remedy = {})
      : Error(subject, expected, found, remedy, ErrorKind::device) {}
  DeviceError(Field field, std::string_view expected, std::string_view found, std::string_view remedy = {})
      : Error(field, expected, found, remedy, ErrorKind::device) {}
};

}  // namespace fhd
