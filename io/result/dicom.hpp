#pragma once
// The magnitudes of a series as DICOM: a folder of classic MR images (MR Image Storage, Explicit VR Little Endian), one file
// for each slice of each repetition.
//
//   names       image_0001.dcm, ... by InstanceNumber, in the order [repetition][stack of slices][place]; a 3D volume is cut
//               along z. ImageComments says how the scan counts the slice
//   places      patient LPS, DICOM's own coordinates: ImagePositionPatient is the centre of the first voxel, rows run along x
//               (read), columns along y (phase); as in io/result/orientation.md
//   values      magnitude = RescaleSlope * stored, one slope for the series, stored 0 ... 32767: the rounding is at most half
//               a slope. The window goes from 0 to the largest of the images' 99.5 % quantiles; VOILUTFunction is
//               LINEAR_EXACT, because magnitudes may be small and LINEAR has no windows narrower than 1
//   repetitions TemporalPositionIdentifier counts repetitions and phases, EchoNumbers contrasts; AcquisitionNumber is the
//               number of the repetition in the scan, from 1 on; TemporalResolution (ms) where the time from one to the next
//               is known, AcquisitionDate and Time where the scan also states when its series began
//   origin      ImageType DERIVED\PRIMARY\M; DerivationDescription: version, scan, settings; Manufacturer fhd, the scanner is
//               in ContributingEquipmentSequence. The private attribute (0011,1001) is the checksum of the scan
//   UIDs        of study and frame of reference are those of the scan, where it has some. All others are 2.25.<number>, made of
//               the scan's checksum; of the series also of the values, the version and the settings: the same work gives the
//               same UIDs, and the same files but for the date and time of their making
//   patient     as the scan says; what it does not say is a pseudonym, which PatientComments says
#include <cstdint>
#include <string>

#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Throws Error naming `subject` where DICOM cannot say where images of this geometry lie: without a FOV, with directions that
/// are not at right angles to 1e-3, or of too many voxels.
void require_dicom_geometry(const Geometry& geometry, std::int64_t slice_count, const std::string& subject);

/// Returns "the scan states no name ..."; empty where it states name and ID.
std::string note_of_pseudonym(const AcquisitionInfo& acquisition, const std::string& checksum);

}  // namespace fhd::io
