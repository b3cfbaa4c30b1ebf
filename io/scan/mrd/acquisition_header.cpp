#include "io/scan/mrd/acquisition_header.hpp"

#include <pugixml.hpp>

namespace fhd::io::mrd {
namespace {

/// The one number `name` among the children of `node`, if it is above 0 and below `limit`; else 0.
double only_number(const pugi::xml_node& node, const char* name, double limit) {
  const auto child = node.child(name);
  const double value = child.text().as_double(0);
  return value > 0 && value < limit && !child.next_sibling(name) ? value : 0;
}

void add_subject(const pugi::xml_node& root, AcquisitionInfo& info) {
  const auto subject = root.child("subjectInformation");
  info.patient_name = subject.child_value("patientName");
  info.patient_id = subject.child_value("patientID");
  info.patient_birth_date = subject.child_value("patientBirthdate");
  info.patient_sex = subject.child_value("patientGender");
  info.patient_weight_kg = only_number(subject, "patientWeight_kg", 1e4);
}

void add_study(const pugi::xml_node& root, AcquisitionInfo& info) {
  const auto study = root.child("studyInformation");
  info.study_uid = study.child_value("studyInstanceUID");
  info.study_id = study.child_value("studyID");
  info.study_description = study.child_value("studyDescription");
  info.study_date = study.child_value("studyDate");
  info.study_time = study.child_value("studyTime");
  info.accession_number = study.child_value("accessionNumber");
  info.referring_physician = study.child_value("referringPhysicianName");
  info.body_part = study.child_value("bodyPartExamined");
  const auto measurement = root.child("measurementInformation");
  info.series_description = measurement.child_value("seriesDescription");
  info.series_date = measurement.child_value("seriesDate");
  info.series_time = measurement.child_value("seriesTime");
  info.frame_of_reference_uid = measurement.child_value("frameOfReferenceUID");
  info.patient_position = measurement.child_value("patientPosition");
  info.protocol = measurement.child_value("protocolName");
  info.first_series_number = static_cast<int>(only_number(measurement, "initialSeriesNumber", 1e6));
}

}  // namespace

AcquisitionInfo acquisition_info(const pugi::xml_node& root) {
  AcquisitionInfo info;
  add_subject(root, info);
  add_study(root, info);
  const auto system = root.child("acquisitionSystemInformation");
  info.vendor = system.child_value("systemVendor");
  info.model = system.child_value("systemModel");
  info.institution = system.child_value("institutionName");
  info.station = system.child_value("stationName");
  info.field_strength_t = only_number(system, "systemFieldStrength_T", 1e3);
  info.resonance_frequency_hz =
      only_number(root.child("experimentalConditions"), "H1resonanceFrequency_Hz", 1e12);
  const auto sequence = root.child("sequenceParameters");
  info.sequence = sequence.child_value("sequence_type");
  info.excitation_time_s = only_number(sequence, "TR", 1e7) * 1e-3;
  info.flip_angle_deg = only_number(sequence, "flipAngle_deg", 360);
  return info;
}

}  // namespace fhd::io::mrd
