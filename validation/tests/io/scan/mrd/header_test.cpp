// ISMRMRD headers: what they tell of patient, study and scanner.
#include "io/scan/mrd/header.hpp"

#include <gtest/gtest.h>

namespace fhd::io::mrd {
namespace {

AcquisitionInfo info_of(const std::string& parts) {
  return parse_header("<ismrmrdHeader>" + parts + "<encoding/></ismrmrdHeader>", "header").acquisition;
}

TEST(AcquisitionHeader, is_read_as_it_stands) {
  const auto info = info_of(R"(
    <subjectInformation><patientName>Doe^Jane</patientName><patientWeight_kg>71.5</patientWeight_kg><patientID>17</patientID>
      <patientBirthdate>1970-01-31</patientBirthdate><patientGender>F</patientGender></subjectInformation>
    <studyInformation><studyDate>2024-05-06</studyDate><studyTime>07:08:09</studyTime><studyID>s</studyID>
      <accessionNumber>12</accessionNumber><referringPhysicianName>Who</referringPhysicianName>
      <studyDescription>head</studyDescription><studyInstanceUID>1.2.3</studyInstanceUID>
      <bodyPartExamined>BRAIN</bodyPartExamined></studyInformation>
    <measurementInformation><seriesDate>2024-05-07</seriesDate><seriesTime>08:09:10</seriesTime>
      <patientPosition>HFS</patientPosition><initialSeriesNumber>3</initialSeriesNumber><protocolName>spiral</protocolName>
      <seriesDescription>series</seriesDescription><frameOfReferenceUID>1.2.4</frameOfReferenceUID></measurementInformation>
    <acquisitionSystemInformation><systemVendor>SIEMENS</systemVendor><systemModel>Prisma</systemModel>
      <systemFieldStrength_T>2.89</systemFieldStrength_T><institutionName>Clinic</institutionName>
      <stationName>MR1</stationName></acquisitionSystemInformation>
    <experimentalConditions><H1resonanceFrequency_Hz>123249243</H1resonanceFrequency_Hz></experimentalConditions>
    <sequenceParameters><TR>4</TR><TE>2</TE><flipAngle_deg>12</flipAngle_deg><sequence_type>Flash</sequence_type>
      </sequenceParameters>)");
  EXPECT_EQ(info.patient_name, "Doe^Jane");
  EXPECT_EQ(info.patient_id, "17");
  EXPECT_EQ(info.patient_birth_date, "1970-01-31");
  EXPECT_EQ(info.patient_sex, "F");
  EXPECT_EQ(info.patient_weight_kg, 71.5);
  EXPECT_EQ(info.study_uid + ' ' + info.study_id + ' ' + info.study_description, "1.2.3 s head");
  EXPECT_EQ(info.study_date + ' ' + info.study_time, "2024-05-06 07:08:09");
  EXPECT_EQ(info.series_date + ' ' + info.series_time, "2024-05-07 08:09:10");
  EXPECT_EQ(info.accession_number + ' ' + info.referring_physician + ' ' + info.body_part, "12 Who BRAIN");
  EXPECT_EQ(info.series_description + ' ' + info.frame_of_reference_uid, "series 1.2.4");
  EXPECT_EQ(info.patient_position + ' ' + info.protocol + ' ' + info.sequence, "HFS spiral Flash");
  EXPECT_EQ(info.vendor + ' ' + info.model + ' ' + info.institution + ' ' + info.station,
            "SIEMENS Prisma Clinic MR1");
  EXPECT_EQ(info.first_series_number, 3);
  EXPECT_EQ(info.field_strength_t, 2.89);
  EXPECT_EQ(info.resonance_frequency_hz, 123249243);
  EXPECT_DOUBLE_EQ(info.excitation_time_s, 0.004);
  EXPECT_EQ(info.flip_angle_deg, 12);
}

TEST(AcquisitionHeader, numbers_that_make_no_sense_or_are_several_are_not_stated) {
  EXPECT_EQ(info_of("").patient_name, "");
  for (const char* angle : {"nan", "-3", "0", "1e9", "x"})
    EXPECT_EQ(info_of("<sequenceParameters><flipAngle_deg>" + std::string(angle) +
                      "</flipAngle_deg></sequenceParameters>")
                  .flip_angle_deg,
              0)
        << angle;
  EXPECT_EQ(info_of("<sequenceParameters><flipAngle_deg>5</flipAngle_deg><flipAngle_deg>7</flipAngle_deg></"
                    "sequenceParameters>")
                .flip_angle_deg,
            0);
  EXPECT_EQ(info_of("<experimentalConditions><H1resonanceFrequency_Hz>0</H1resonanceFrequency_Hz></"
                    "experimentalConditions>")
                .resonance_frequency_hz,
            0);
}

}  // namespace
}  // namespace fhd::io::mrd
