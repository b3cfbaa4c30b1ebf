#pragma once
// Lists of texts without zeros, such as names of files: one after the other, each with a zero at its end.
#include <string>
#include <vector>

namespace fhd::io {

inline std::string zero_ended(const std::vector<std::string>& fields) {
  std::string text;
  for (const auto& field : fields) text.append(field.c_str(), field.size() + 1);
  return text;
}

/// Returns the texts; leaves out a last one that no zero ends.
inline std::vector<std::string> fields_of(const std::string& text) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\0', begin)) != std::string::npos; begin = end + 1)
    fields.push_back(text.substr(begin, end - begin));
  return fields;
}

/// Returns whether it names an entry of a folder, and no other place.
inline bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

}  // namespace fhd::io
