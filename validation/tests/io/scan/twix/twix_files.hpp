#pragma once
// Files of Siemens raw data, made byte by byte.
#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "validation/tests/scratch.hpp"

namespace fhd::tests {

enum class TwixVersion { vb, vd, xa };

/// A block of a measurement, as its head says.
struct TwixLine {
  std::uint64_t mask = 0;
  std::uint16_t
      counters[14]{};  ///< line, average, slice, partition, echo, phase, repetition, set, segment, ...
  std::uint16_t cut_off[2]{}, center_column = 0, center_line = 0, center_partition = 0;
  float read_offset_mm = 0, position_mm[3]{}, quaternion[4]{1, 0, 0, 0};
  std::vector<std::vector<std::complex<float>>> values;  ///< [channel][sample]
  std::vector<std::uint16_t> channels;                   ///< their numbers; empty: 0, 1, ...
};

struct TwixMeasurement {
  std::string name = "scan";
  std::map<std::string, std::string> lines{{"sKSpace.lBaseResolution", "8"},
                                           {"sKSpace.lPhaseEncodingLines", "6"},
                                           {"sKSpace.ucTrajectory", "0x1"},
                                           {"sSliceArray.asSlice[0].dReadoutFOV", "160.0"},
                                           {"sSliceArray.asSlice[0].dPhaseFOV", "120.0"},
                                           {"sSliceArray.asSlice[0].dThickness", "5.0"},
                                           {"sRXSPEC.alDwellTime[0]", "5000"},
                                           {"alTE[0]", "3000"}};
  std::map<std::string, std::string> parameters{{"flReadoutOSFactor", "<Precision> 6 2.0"}};
  std::vector<TwixLine> readouts;
  bool has_end = true;
};

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The head of 128 or 192 bytes.
inline std::string twix_head(const TwixLine& line, TwixVersion version, std::uint32_t block_bytes,
                             std::size_t channel) {
  const bool vb = version == TwixVersion::vb;
  std::string bytes;
  for (const std::uint32_t value : {block_bytes, 7U, 1U, 1000U, 2000U}) put(bytes, value);
  if (!vb) bytes.append(20, '\0');
  put(bytes, line.mask);
  put(bytes, static_cast<std::uint16_t>(line.values.empty() ? 0 : line.values[0].size()));
  put(bytes, static_cast<std::uint16_t>(line.values.size()));
  put(bytes, line.counters), put(bytes, line.cut_off), put(bytes, line.center_column),
      put(bytes, std::uint16_t{0});
  put(bytes, line.read_offset_mm), put(bytes, std::uint32_t{0});
  put(bytes, line.center_line), put(bytes, line.center_partition);
  if (vb) bytes.append(16, '\0');
  put(bytes, line.position_mm), put(bytes, line.quaternion);
  if (vb) put(bytes, static_cast<std::uint16_t>(line.channels.empty() ? channel : line.channels[channel]));
  bytes.resize(vb ? 128 : 192);
  return bytes;
}

inline std::string twix_block(const TwixLine& line, TwixVersion version) {
  const bool vb = version == TwixVersion::vb;
  const bool is_data = (line.mask & 0x21) == 0;  // neither ACQEND nor SYNCDATA
  std::string bytes;
  if (!is_data || !vb) bytes = twix_head(line, version, is_data ? 0 : (vb ? 128 : 192) + 160, 0);
  if (!is_data) return bytes + std::string(160, '\0');
  for (std::size_t channel = 0; channel < line.values.size(); ++channel) {
    if (vb) {
      bytes += twix_head(line, version, 0, channel);
    } else {
      std::string head(32, '\0');
      const auto number =
          static_cast<std::uint16_t>(line.channels.empty() ? channel : line.channels[channel]);
      std::memcpy(head.data() + 24, &number, sizeof number);
      bytes += head;
    }
    for (const auto value : line.values[channel]) put(bytes, value);
  }
  return bytes;
}

inline std::string twix_bytes(const TwixMeasurement& measurement, TwixVersion version) {
  std::string meas = "<XProtocol>\n{\n", yaps = "### ASCCONV BEGIN object=x ###\n";
  for (const auto& [name, value] : measurement.parameters) {
    meas += "<ParamLong.\"" + name + "\">\n{\n}\n";  // an empty one before, as in real files
    meas += "<ParamDouble.\"" + name + "\">\n{\n  " + value + " \n}\n";
  }
  for (const auto& [name, value] : measurement.lines) yaps += name + "\t = \t" + value + "\n";
  yaps += "tProtocolName\t = \t\"\"" + measurement.name + "\"\"\n";
  if (version == TwixVersion::xa) yaps += "sProtConsistencyInfo.tBaselineString = \"NXVA60A\"\n";
  yaps += "### ASCCONV END ###\n";
  std::string texts;
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"Config", "x"}, {"Meas", meas}, {"MeasYaps", yaps}}) {
    texts += name + '\0';
    put(texts, static_cast<std::uint32_t>(text.size()));
    texts += text;
  }
  std::string bytes;
  texts.resize((texts.size() + 8 + 31) / 32 * 32 - 8);
  put(bytes, static_cast<std::uint32_t>(texts.size() + 8)), put(bytes, std::uint32_t{3});
  bytes += texts;
  for (const auto& line : measurement.readouts) bytes += twix_block(line, version);
  if (!measurement.has_end) return bytes;
  TwixLine end;
  end.mask = 1;
  return bytes + twix_block(end, version);
}

/// Returns the file: VB holds one measurement.
inline std::string twix_file(const std::vector<TwixMeasurement>& measurements, TwixVersion version) {
  if (version == TwixVersion::vb) return twix_bytes(measurements.at(0), version);
  std::string table, rest;
  put(table, std::uint32_t{0}), put(table, static_cast<std::uint32_t>(measurements.size()));
  for (const auto& measurement : measurements) {
    const auto bytes = twix_bytes(measurement, version);
    put(table, std::uint32_t{7}), put(table, std::uint32_t{8});
    put(table, std::uint64_t{10240} + rest.size()), put(table, static_cast<std::uint64_t>(bytes.size()));
    std::string names(128, '\0');
    names.replace(64, measurement.name.size(), measurement.name);
    table += names;
    rest += bytes;
    rest.resize((rest.size() + 511) / 512 * 512);
  }
  table.resize(10240);
  return table + rest;
}

}  // namespace fhd::tests
