#include "io/scan/mrd/anonymous.hpp"

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "io/scan/mrd/header.hpp"

namespace fhd::io::mrd {
namespace {

/// A section of the header, and the fields of it that stay; none: all do.
struct Section {
  std::string_view name;
  std::vector<std::string_view> fields;
};
const std::vector<Section> known_sections{
    {"version", {}},
    {"subjectInformation", {"patientWeight_kg", "patientHeight_m", "patientGender"}},
    {"studyInformation", {"bodyPartExamined"}},
    {"measurementInformation", {"patientPosition", "relativeTablePosition", "initialSeriesNumber"}},
    {"acquisitionSystemInformation",
     {"systemVendor", "systemModel", "systemFieldStrength_T", "relativeReceiverNoiseBandwidth",
      "receiverChannels", "coilLabel"}},
    {"experimentalConditions", {}},
    {"encoding", {}},
    {"sequenceParameters", {}},
    {"userParameters", {}}};

/// Returns the name of an element without the prefix of its namespace.
std::string_view name_without_prefix(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  return name.substr(name.find(':') + 1);
}

std::string_view text_of_field(const pugi::xml_node& parameter, std::string_view field) {
  const auto found =
      parameter.find_child([&](const auto& each) { return name_without_prefix(each) == field; });
  return found.child_value();
}

bool holds_number(std::string_view text) {
  std::istringstream stream{std::string(text)};
  double number = 0;
  return stream >> number && stream.peek() == EOF && std::isfinite(number);
}

/// Returns whether a field below a section stays: user parameters that are numbers, and the unit of the trajectory.
bool is_harmless(const pugi::xml_node& node) {
  const auto name = name_without_prefix(node);
  if (name == "userParameterLong" || name == "userParameterDouble")
    return holds_number(text_of_field(node, "value"));
  if (name == "userParameterString") return text_of_field(node, "name") == unit_parameter;
  return name != "userParameterBase64" && name != "comment";
}

/// Removes children that do not stay, and comments, at any depth.
template <class Stays>
void leave_out_children(pugi::xml_node parent, const Stays& stays, std::set<std::string>& left_out) {
  for (auto child = parent.first_child(); child;) {
    const auto next = child.next_sibling();
    if (child.type() == pugi::node_element && stays(child)) {
      leave_out_children(child, is_harmless, left_out);
    } else if (child.type() != pugi::node_pcdata && child.type() != pugi::node_cdata) {
      if (child.type() == pugi::node_element) {
        const auto parameter = text_of_field(child, "name");
        left_out.insert(std::string(name_without_prefix(child)) +
                        (parameter.empty() ? "" : " " + std::string(parameter)));
      }
      parent.remove_child(child);
    }
    child = next;
  }
}

}  // namespace

std::string anonymous_header(const std::string& xml, std::set<std::string>& left_out) {
  pugi::xml_document document;
  document.load_buffer(xml.data(), xml.size());  // has been parsed before; without comments
  auto root = document.document_element();
  const auto section_of = [](const pugi::xml_node& node) {
    return std::ranges::find(known_sections, name_without_prefix(node), &Section::name);
  };
  for (auto child = root.first_child(); child;) {
    const auto next = child.next_sibling();
    const auto section = section_of(child);
    if (section == known_sections.end()) {
      left_out.insert(std::string(name_without_prefix(child)));
      root.remove_child(child);
    } else {
      const auto& fields = section->fields;
      leave_out_children(
          child,
          [&](const pugi::xml_node& field) {
            return fields.empty() ? is_harmless(field)
                                  : std::ranges::find(fields, name_without_prefix(field)) != fields.end();
          },
          left_out);
      if (!child.first_child()) root.remove_child(child);
    }
    child = next;
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

ReadoutHead anonymous_head(ReadoutHead head, std::uint32_t first_stamp) {
  head.measurement_uid = 0;
  head.acquisition_time_stamp -= std::min(first_stamp, head.acquisition_time_stamp);
  return head;
}

}  // namespace fhd::io::mrd
