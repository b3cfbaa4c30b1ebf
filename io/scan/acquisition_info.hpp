#pragma once
// The patient, the study and the scanner, as a scan file states them: they do not change the image and are written beside
// it (io/result/dicom.hpp).
#include <string>

namespace fhd::io {

/// Texts are as in the file, unchecked; empty, or 0, where it does not state them.
struct AcquisitionInfo {
  std::string patient_name, patient_id;
  std::string patient_birth_date, patient_sex;  ///< "1970-01-31"; "M", "F" or "O"
  double patient_weight_kg = 0;

  std::string study_uid, study_id, study_description, study_date, study_time;  ///< "2026-01-31", "12:30:00"
  std::string accession_number, referring_physician, body_part;
  std::string series_description, series_date, series_time, frame_of_reference_uid;
  std::string patient_position;  ///< "HFS", ...
  int first_series_number = 0;

  std::string vendor, model, institution, station, protocol;
  double field_strength_t = 0, resonance_frequency_hz = 0;  ///< of hydrogen

  std::string sequence;
  double excitation_time_s =
      0;                      ///< TR, from one excitation to the next; 0 where it is not one number above 0
  double flip_angle_deg = 0;  ///< likewise
};

}  // namespace fhd::io
