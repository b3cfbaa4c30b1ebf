#pragma once
// The interface of fhd_dicom.so, which uses DCMTK and is built with fhd. It is opened only where DICOM is asked for, so that
// fhd itself runs, and starts fast, without DCMTK.
#include <cstdint>
#include <string>
#include <vector>

namespace fhd::io::dicom {

inline constexpr std::uint16_t private_group = 0x0011, checksum_element = 0x1001;

/// An attribute: `path` as DCMTK writes it, "PatientName" or "DerivationCodeSequence[0].CodeValue"; with a value
/// representation `vr` a private one, "(0011,1001)".
struct Element {
  std::string path, value, vr{};
};
using Elements = std::vector<Element>;

/// Makes the bytes of a file. `failure` says what went wrong; empty: nothing.
using Encode = void(const Elements& common, const Elements& own, const std::vector<std::uint16_t>& pixels,
                    std::vector<char>& bytes, std::string& failure);
/// Reads the checksum of the scan of a file that fhd made; empty: fhd did not make it.
using ReadChecksum = void(const std::string& path, std::string& checksum);

}  // namespace fhd::io::dicom

extern "C" {
fhd::io::dicom::Encode fhd_dicom_encode;
fhd::io::dicom::ReadChecksum fhd_dicom_read_checksum;
}
