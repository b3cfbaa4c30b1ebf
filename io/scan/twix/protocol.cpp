#include "io/scan/twix/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "io/files/words.hpp"

namespace fhd::io::twix {
namespace {

/// Returns a text without the quotation marks around it.
std::string_view unquoted(std::string_view text) {
  while (text.size() > 1 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

/// Cuts the first part between the marks of ASCCONV out of `text` and returns it; empty where there is none.
std::string cut_ascconv(std::string& text) {
  constexpr std::string_view begin_mark = "### ASCCONV BEGIN", end_mark = "### ASCCONV END";
  // Other objects may be embedded in the same form, in quotation marks.
  auto begin = text.find(begin_mark);
  while (begin != text.npos && begin > 0 && text[begin - 1] == '"') begin = text.find(begin_mark, begin + 1);
  if (begin == text.npos) return {};
  const auto end = std::min(text.find(end_mark, begin), text.size());
  auto part = text.substr(begin, end - begin);
  text.erase(begin, end - begin);
  return part;
}

/// Returns the values between the braces that follow <ParamKind."name">, without attributes such as <Precision> 6.
std::vector<std::string> values_between_braces(std::string_view text) {
  constexpr std::size_t longest = 4096;
  std::vector<std::string> values;
  const auto open = text.find('{');
  if (open == text.npos || !trimmed(text.substr(0, open)).empty()) return values;
  text = text.substr(open + 1, longest);
  bool of_attribute = false;
  for (auto at = text.find_first_not_of(blanks); at != text.npos && text[at] != '}';
       at = text.find_first_not_of(blanks, at)) {
    const bool is_attribute = text[at] == '<', is_list = text[at] == '{', is_quoted = text[at] == '"';
    if (is_list && !of_attribute) return values;
    auto end = text.find_first_of(is_attribute ? ">" : is_list ? "}" : is_quoted ? "\"" : " \t\r\n}", at + 1);
    if (end == text.npos) return values;
    const auto begin = is_quoted ? at + 1 : at;
    if (!is_attribute && !of_attribute) values.emplace_back(text.substr(begin, end - begin));
    of_attribute = is_attribute;
    at = is_attribute || is_list || is_quoted ? end + 1 : end;
  }
  return values;
}

double number_of(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);  // 0x10, too
  return std::isfinite(value) ? value : 0;
}

int count_of(const ProtocolTexts& texts, std::string_view name, int otherwise = 0) {
  constexpr double most = 1 << 20;
  if (!texts.has(name)) return otherwise;
  const double value = texts.number(name);
  return value >= 0 && value <= most ? static_cast<int>(value) : otherwise;
}

/// Returns the numbers name[0], name[1], ..., as far as they are above 0 and at most `most` of them.
std::vector<double> list_of(const ProtocolTexts& texts, std::string_view name, int most) {
  std::vector<double> numbers;
  for (int i = 0; i < most; ++i) {
    const double value = texts.number(fmt::format("{}[{}]", name, i));
    if (!(value > 0)) break;
    numbers.push_back(value);
  }
  return numbers;
}

mrd::RampShape ramp_of(const ProtocolTexts& texts) {
  mrd::RampShape ramp;
  ramp.mode = count_of(texts, "alRegridMode", 1);
  ramp.ramp_up_us = texts.number("alRegridRampupTime");
  ramp.flat_us = texts.number("alRegridFlattopTime");
  ramp.ramp_down_us = texts.number("alRegridRampdownTime");
  ramp.delay_us = texts.number("alRegridDelaySamplesTime");
  ramp.adc_us = texts.number("aflRegridADCDuration");
  ramp.samples = count_of(texts, "alRegridDestSamples");
  return ramp;
}

/// Returns "coil:element" of each channel. VB calls the list asCoilSelectMeas.
std::vector<std::string> coils_of(const ProtocolTexts& texts) {
  constexpr int most = 1024;
  std::vector<std::pair<double, std::string>> found;
  for (const char* list : {"sCoilSelectMeas.aRxCoilSelectData[0]", "asCoilSelectMeas[0]"})
    for (int i = 0; found.size() < most && i < most; ++i) {
      const auto item = fmt::format("{}.asList[{}]", list, i), id = item + ".sCoilElementID";
      if (!texts.has(id + ".tCoilID")) break;
      const auto adc = item + ".lADCChannelConnected";
      found.emplace_back(texts.has(adc) ? texts.number(adc) : i,
                         texts.text(id + ".tCoilID") + ":" + texts.text(id + ".tElement"));
    }
  std::ranges::stable_sort(found, {}, &std::pair<double, std::string>::first);
  std::vector<std::string> names;
  for (auto& [adc, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace

ProtocolTexts::ProtocolTexts(std::vector<std::pair<std::string, std::string>> texts) {
  bool is_found = false;
  for (const std::string_view wanted : {"MeasYaps", "Phoenix", "Meas"})
    for (auto& [name, text] : texts) {
      if (name != wanted) continue;
      const auto lines = cut_ascconv(text);
      for (std::size_t at = 0, end = 0; at < lines.size() && !is_found; at = end + 1) {
        end = std::min(lines.find('\n', at), lines.size());
        const auto line = std::string_view(lines).substr(at, end - at);
        if (const auto equal = line.find('='); equal != line.npos)
          lines_.emplace(trimmed(line.substr(0, equal)), unquoted(trimmed(line.substr(equal + 1))));
      }
      is_found = !lines_.empty();
    }
  for (const std::string_view wanted : {"Meas", "Dicom", "Config"})
    for (auto& [name, text] : texts)
      if (name == wanted) texts_.push_back(std::move(text));
}

std::vector<std::string> ProtocolTexts::values(std::string_view name) const {
  if (const auto line = lines_.find(name); line != lines_.end()) return {line->second};
  if (name.find('[') != name.npos) return {};
  if (const auto dot = name.rfind('.'); dot != name.npos) name = name.substr(dot + 1);
  const auto mark = fmt::format(".\"{}\">", name);
  for (const std::string_view text : texts_)
    for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + 1))
      if (auto found = values_between_braces(text.substr(at + mark.size())); !found.empty()) return found;
  return {};
}

std::string ProtocolTexts::text(std::string_view name) const {
  const auto found = values(name);
  return found.empty() ? "" : found.front();
}

double ProtocolTexts::number(std::string_view name, std::size_t index) const {
  const auto found = values(name);
  return index < found.size() ? number_of(found[index]) : 0;
}

Protocol read_protocol(const ProtocolTexts& texts) {
  constexpr int most_times = 64, volume = 4;
  Protocol protocol;
  const auto count = [&](const char* name, int otherwise = 0) { return count_of(texts, name, otherwise); };
  protocol.name = texts.text("tProtocolName"), protocol.sequence = texts.text("tSequenceFileName");
  protocol.vendor = texts.has("Manufacturer") ? texts.text("Manufacturer") : "SIEMENS";
  protocol.model = texts.text("ManufacturersModelName"), protocol.institution = texts.text("InstitutionName");
  protocol.patient_position = texts.text("tPatientPosition");
  protocol.frame_of_reference = texts.text("tFrameOfReference");
  protocol.is_nx = texts.text("sProtConsistencyInfo.tBaselineString").find("NXVA") != std::string::npos ||
                   texts.text("SoftwareVersions").find("syngo MR XA") != std::string::npos;
  protocol.field_strength_t = texts.has("flMagneticFieldStrength")
                                  ? texts.number("flMagneticFieldStrength")
                                  : texts.number("sProtConsistencyInfo.flNominalB0");
  protocol.frequency_hz = texts.number("sTXSPEC.asNucleusInfo[0].lFrequency");
  if (!(protocol.frequency_hz > 0)) protocol.frequency_hz = texts.number("lFrequency");
  protocol.contrasts = std::max(1, count("lContrasts", 1));
  protocol.repetition_times_us = list_of(texts, "alTR", most_times);
  protocol.echo_times_us = list_of(texts, "alTE", protocol.contrasts);
  protocol.inversion_times_us = list_of(texts, "alTI", most_times);
  protocol.flip_angles_deg = list_of(texts, "adFlipAngleDegree", most_times);
  protocol.dwell_ns = list_of(texts, "sRXSPEC.alDwellTime", protocol.contrasts);
  protocol.echo_spacing_us = texts.number("lEchoSpacing");
  protocol.base_resolution = count("sKSpace.lBaseResolution"),
  protocol.lines = count("sKSpace.lPhaseEncodingLines");
  protocol.partitions = count("sKSpace.lPartitions");
  protocol.is_3d = count("sKSpace.ucDimension") == volume,
  protocol.trajectory = count("sKSpace.ucTrajectory", 1);
  protocol.slices = count("sSliceArray.lSize", 1);
  protocol.read_oversampling = texts.number("flReadoutOSFactor");
  protocol.phase_oversampling = texts.number("sKSpace.dPhaseOversamplingForDialog");
  protocol.slice_oversampling = texts.number("sKSpace.dSliceOversamplingForDialog");
  protocol.read_fov_mm = texts.number("sSliceArray.asSlice[0].dReadoutFOV");
  protocol.phase_fov_mm = texts.number("sSliceArray.asSlice[0].dPhaseFOV");
  protocol.thickness_mm = texts.number("sSliceArray.asSlice[0].dThickness");
  protocol.phase_acceleration = count("sPat.lAccelFactPE", 1),
  protocol.slice_acceleration = count("sPat.lAccelFact3D", 1);
  protocol.reference_mode = count("sPat.ucRefScanMode", 1);
  protocol.multiband = count("sSliceAcceleration.lMultiBandFactor", 1);
  protocol.epi_factor = count("sFastImaging.lEPIFactor", 1);
  protocol.sequence_kind = count("ucSequenceType");
  protocol.ramp = ramp_of(texts), protocol.coils = coils_of(texts);
  return protocol;
}

}  // namespace fhd::io::twix
