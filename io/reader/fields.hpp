#pragma once
// The members of the types that pass between processes. A member that is added to a type alone does not compile: the names
// in brackets must be as many as the members.
#include <concepts>
#include <tuple>
#include <type_traits>

#include "io/hdf5/hdf5_facts.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/gradient_response.hpp"
#include "recon/domain/scan.hpp"
#include "recon/error.hpp"

namespace fhd::io::reader {

template <class T, class Named>
concept Of = std::same_as<std::remove_const_t<T>, Named>;

auto members(Of<ErrorParts> auto& value) {
  auto& [subject, expected, found, remedy, field, kind] = value;
  return std::tie(subject, expected, found, remedy, field, kind);
}

auto members(Of<Message> auto& value) {
  auto& [code, severity, text, remedy, field] = value;
  return std::tie(code, severity, text, remedy, field);
}

auto members(Of<Geometry> auto& value) {
  auto& [matrix_size, fov_mm, position_mm, read_direction, phase_direction, slice_direction] = value;
  return std::tie(matrix_size, fov_mm, position_mm, read_direction, phase_direction, slice_direction);
}

auto members(Of<Trajectory> auto& value) {
  auto& [k] = value;
  return std::tie(k);
}

auto members(Of<KSpace> auto& value) {
  auto& [values, in_double] = value;
  return std::tie(values, in_double);
}

auto members(Of<SensitivityMaps> auto& value) {
  auto& [values, in_double] = value;
  return std::tie(values, in_double);
}

auto members(Of<Calibration> auto& value) {
  auto& [trajectory, kspace, matrix_size, fov_mm] = value;
  return std::tie(trajectory, kspace, matrix_size, fov_mm);
}

auto members(Of<Scan> auto& value) {
  auto& [geometry, trajectory, kspace, sensitivity_maps, noise, calibration, field_map, field_map_in_double,
         sample_time_s, cropped_matrix_size, readout_numbers, physiology_stamps, messages, second_maps] =
      value;
  return std::tie(geometry, trajectory, kspace, sensitivity_maps, noise, calibration, field_map,
                  field_map_in_double, sample_time_s, cropped_matrix_size, readout_numbers, physiology_stamps,
                  messages, second_maps);
}

auto members(Of<Image> auto& value) {
  auto& [values, geometry, in_double] = value;
  return std::tie(values, geometry, in_double);
}

/// `stored` belongs to results that are being written.
auto members(Of<ImageSeries> auto& value) {
  auto& [repetition_count, slice_count, images, stored] = value;
  static_cast<void>(stored);
  return std::tie(repetition_count, slice_count, images);
}

auto members(Of<Volume> auto& value) {
  auto& [values, voxel_to_lps] = value;
  return std::tie(values, voxel_to_lps);
}

auto members(Of<GradientResponse> auto& value) {
  auto& [frequencies_hz, values] = value;
  return std::tie(frequencies_hz, values);
}

auto members(Of<RepetitionCounters> auto& value) {
  auto& [repetition, contrast, phase, set] = value;
  return std::tie(repetition, contrast, phase, set);
}

auto members(Of<AcquisitionInfo> auto& value) {
  auto& [patient_name, patient_id, patient_birth_date, patient_sex, patient_weight_kg, study_uid, study_id,
         study_description, study_date, study_time, accession_number, referring_physician, body_part,
         series_description, series_date, series_time, frame_of_reference_uid, patient_position,
         first_series_number, vendor, model, institution, station, protocol, field_strength_t,
         resonance_frequency_hz, sequence, excitation_time_s, flip_angle_deg] = value;
  return std::tie(patient_name, patient_id, patient_birth_date, patient_sex, patient_weight_kg, study_uid,
                  study_id, study_description, study_date, study_time, accession_number, referring_physician,
                  body_part, series_description, series_date, series_time, frame_of_reference_uid,
                  patient_position, first_series_number, vendor, model, institution, station, protocol,
                  field_strength_t, resonance_frequency_hz, sequence, excitation_time_s, flip_angle_deg);
}

auto members(Of<ScanSummary> auto& value) {
  auto& [path, format, coil_count, samples_per_scan, readout_length, slice_count, repetition_count,
         repetition_counters, slice_counters, echo_times_s, repetition_time_s, readout_time_s,
         states_directions, cartesian, has_sensitivity_maps, has_field_map, has_sample_time, time_origin,
         geometry, unit_geometry, outside_pieces, acquisition, facts, inferred, missing, stamps] = value;
  static_cast<void>(stamps);  // made by the program
  return std::tie(path, format, coil_count, samples_per_scan, readout_length, slice_count, repetition_count,
                  repetition_counters, slice_counters, echo_times_s, repetition_time_s, readout_time_s,
                  states_directions, cartesian, has_sensitivity_maps, has_field_map, has_sample_time,
                  time_origin, geometry, unit_geometry, outside_pieces, acquisition, facts, inferred,
                  missing);
}

auto members(Of<OutsidePieces> auto& value) {
  auto& [trajectory, sensitivity_maps, noise, field_map, field_map_unit] = value;
  return std::tie(trajectory, sensitivity_maps, noise, field_map, field_map_unit);
}

auto members(Of<ReadOptions> auto& value) {
  auto& [matrix_size, fov_mm, trajectory_unit, precision, zeros_are_measured, group, outside] = value;
  return std::tie(matrix_size, fov_mm, trajectory_unit, precision, zeros_are_measured, group, outside);
}

auto members(Of<Hdf5Question> auto& value) {
  auto& [objects, attributes] = value;
  return std::tie(objects, attributes);
}

auto members(Of<Hdf5Facts> auto& value) {
  auto& [has, texts] = value;
  return std::tie(has, texts);
}

}  // namespace fhd::io::reader
