#pragma once
// The interface of fhd_dicom.so, which uses DCMTK. It is opened only where DICOM is asked for, so that fhd itself runs, and starts fast,
// without DCMTK. A plain C interface; every function returns null, or what went wrong, until its thread's next call.
#include <cstddef>
#include <cstdint>

extern "C" {

/// An attribute: `path` as DCMTK writes it, "PatientName" or "DerivationCodeSequence[0].CodeValue". With a value
/// representation `vr`, not null: a private one, "(0011,1001)".
struct FhdDicomElement {
  const char *path, *vr, *value;
};

/// The bytes of a file with these attributes and `pixels`, to be given to FhdDicomFree.
using FhdDicomEncode = const char*(const FhdDicomElement* elements, std::size_t count,
                                   const std::uint16_t* pixels, std::size_t pixel_count,
                                   unsigned char** bytes, std::size_t* byte_count);
using FhdDicomFree = void(unsigned char* bytes);
/// The text of an attribute of a DICOM file, at most `room` bytes with the zero behind; empty where it has none.
using FhdDicomReadText = const char*(const char* path, std::uint16_t group, std::uint16_t element, char* text,
                                     std::size_t room);

FhdDicomEncode fhd_dicom_encode;
FhdDicomFree fhd_dicom_free;
FhdDicomReadText fhd_dicom_read_text;
}
