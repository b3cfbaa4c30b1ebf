#include "io/hdf5/hdf5_facts.hpp"

#include "io/files/in_reader.hpp"
#include "io/hdf5/hdf5.hpp"
#include "recon/error.hpp"

namespace fhd::io {

std::optional<Hdf5Facts> facts_of_hdf5_here(const std::string& path, const Hdf5Question& question) {
  try {
    const auto file = hdf5::File::open(path);
    Hdf5Facts facts;
    for (const auto& name : question.objects) facts.has.push_back(file.has(name));
    for (const auto& [object, name] : question.attributes) {
      auto& text = facts.texts.emplace_back();
      if ((object == "/" || file.has(object)) && file.has_attribute(object, name))
        text = file.text_attribute(object, name);
    }
    return facts;
  } catch (const Error&) {
    return {};
  }
}

std::string text_in_hdf5_here(const std::string& path, const std::string& name) {
  return hdf5::File::open(path).read_text(name);
}

std::optional<Hdf5Facts> facts_of_hdf5(const std::string& path, const Hdf5Question& question) {
  try {
    auto facts = in_reader<&facts_of_hdf5_here>(path, question);
    // The process that answers may have been taken over.
    if (facts &&
        (facts->has.size() != question.objects.size() || facts->texts.size() != question.attributes.size()))
      return {};
    return facts;
  } catch (const Error&) {
    return {};
  }
}

std::string text_in_hdf5(const std::string& path, const std::string& name) {
  return in_reader<&text_in_hdf5_here>(path, name);
}

}  // namespace fhd::io
