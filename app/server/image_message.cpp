#include "app/server/image_message.hpp"

#include <fmt/format.h>
#include <ismrmrd/ismrmrd.h>
#include <ismrmrd/version.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "app/terminal/console.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

static_assert(sizeof(ISMRMRD::ISMRMRD_ImageHeader) == 198);

void append_meta(std::string& xml, const std::string& name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  xml += "<meta><name>" + name + "</name>";
  for (const auto& value : values) xml += "<value>" + escaped_for_xml(value) + "</value>";
  xml += "</meta>";
}

std::string attributes_of(const StreamedImage& streamed) {
  const Report& report = streamed.report;
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ismrmrdMeta>";
  append_meta(xml, "DataRole", {"Image"});
  append_meta(xml, "ImageProcessingHistory", {"fhd"});
  append_meta(xml, "ImageComments", {solution_line(report)});
  append_meta(xml, "fhd_version", {program_version});
  append_meta(xml, "fhd_readouts", {std::to_string(streamed.readouts)});
  append_meta(xml, "fhd_seconds", {fmt::format("{:.6f}", report.seconds)});
  if (report.certificate) append_meta(xml, "fhd_certificate", {certificate_line(*report.certificate)});
  if (report.verdict) append_meta(xml, "fhd_verdict", {report.verdict->sentence});
  for (const auto severity : {Severity::suspicion, Severity::warning, Severity::note}) {
    std::vector<std::string> lines;
    for (const auto& message : report.messages)
      if (message.severity == severity) lines.push_back(line_of(message));
    append_meta(xml, "fhd_" + std::string(name_of(severity)), lines);
  }
  std::vector<std::string> settings;
  for (const auto& [name, value] : report.settings) settings.push_back(name + " = " + value);
  append_meta(xml, "fhd_setting", settings);
  return xml + "</ismrmrdMeta>";
}

ISMRMRD::ISMRMRD_ImageHeader head_of(const StreamedImage& streamed, bool sends_complex,
                                     std::size_t attributes) {
  ISMRMRD::ISMRMRD_ImageHeader head{};
  const auto& geometry = streamed.image.geometry;
  const auto& last = streamed.last;
  head.version = ISMRMRD_VERSION_MAJOR;
  head.data_type = sends_complex ? ISMRMRD::ISMRMRD_CXFLOAT : ISMRMRD::ISMRMRD_FLOAT;
  head.image_type = sends_complex ? ISMRMRD::ISMRMRD_IMTYPE_COMPLEX : ISMRMRD::ISMRMRD_IMTYPE_MAGNITUDE;
  head.measurement_uid = last.measurement_uid;
  head.channels = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const double fov = geometry.fov_mm[axis];
    head.matrix_size[axis] = static_cast<std::uint16_t>(geometry.matrix_size[axis]);
    head.field_of_view[axis] =
        static_cast<float>(fov > 0 ? fov : geometry.matrix_size[axis]);  // voxels of 1 mm
    head.position[axis] = static_cast<float>(geometry.position_mm[axis]);
    head.read_dir[axis] = static_cast<float>(geometry.read_direction[axis]);
    head.phase_dir[axis] = static_cast<float>(geometry.phase_direction[axis]);
    head.slice_dir[axis] = static_cast<float>(geometry.slice_direction[axis]);
    head.patient_table_position[axis] = last.patient_table_position[axis];
    head.physiology_time_stamp[axis] = last.physiology_time_stamp[axis];
  }
  head.average = last.idx.average, head.slice = last.idx.slice, head.contrast = last.idx.contrast;
  head.phase = last.idx.phase, head.set = last.idx.set;
  head.repetition = static_cast<std::uint16_t>(streamed.repetition);
  head.acquisition_time_stamp = last.acquisition_time_stamp;
  head.image_index = static_cast<std::uint16_t>(streamed.number + 1);
  head.image_series_index = 1;
  head.attribute_string_len = static_cast<std::uint32_t>(attributes);
  return head;
}

}  // namespace

std::string escaped_for_xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (static_cast<unsigned char>(c) >= 0x80)
      escaped += '?';  // of the other side's text, in an encoding that nobody states
    else
      escaped += std::iscntrl(static_cast<unsigned char>(c)) ? ' ' : c;
  }
  return escaped;
}

Bytes image_message(const StreamedImage& streamed, bool sends_complex) {
  const auto attributes = attributes_of(streamed);
  const auto& values = streamed.image.values;
  Bytes bytes;
  bytes.reserve(256 + attributes.size() + static_cast<std::size_t>(values.size()) * sizeof(Complex<float>));
  append(bytes, MessageId::image);
  append(bytes, head_of(streamed, sends_complex, attributes.size()));
  append(bytes, static_cast<std::uint64_t>(attributes.size()));
  append_all(bytes, std::as_bytes(std::span(attributes)));
  if (sends_complex) {
    append_all(bytes, std::as_bytes(std::span(values.data(), static_cast<std::size_t>(values.size()))));
    return bytes;
  }
  for (const auto& value : values) append(bytes, std::hypot(value.re, value.im));
  return bytes;
}

}  // namespace fhd::app
