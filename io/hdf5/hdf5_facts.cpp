#include "io/hdf5/hdf5_facts.hpp"

#include "io/files/in_reader.hpp"
#include "io/hdf5/hdf5.hpp"
#include "recon/error.hpp"

namespace fhd::io {

std::optional<Hdf5Facts> facts_of_hdf5_here(const std::string& path, const std::vector<std::string>& names) {
  try {
    const auto file = hdf5::File::open(path);
    Hdf5Facts facts;
    for (const auto& name : names) {
      const auto at = name.find('@');
      const auto object = name.substr(0, at), attribute = at == std::string::npos ? "" : name.substr(at + 1);
      auto& fact = facts.emplace_back();
      if (attribute.empty() ? file.has(object) : file.has_attribute(object, attribute))
        fact = attribute.empty() ? "" : file.text_attribute(object, attribute);
    }
    return facts;
  } catch (const Error&) {
    return {};
  }
}

std::string text_in_hdf5_here(const std::string& path, const std::string& name) {
  return hdf5::File::open(path).read_text(name);
}

std::optional<Hdf5Facts> facts_of_hdf5(const std::string& path, const std::vector<std::string>& names) {
  try {
    auto facts = in_reader<&facts_of_hdf5_here>(path, names);
    // The process that answers may have been taken over.
    return facts && facts->size() == names.size() ? facts : std::nullopt;
  } catch (const Error&) {
    return {};
  }
}

std::string text_in_hdf5(const std::string& path, const std::string& name) {
  return in_reader<&text_in_hdf5_here>(path, name);
}

}  // namespace fhd::io
