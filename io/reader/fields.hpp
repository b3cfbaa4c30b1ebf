#pragma once
// The members of the types that pass between processes. A member that is added to a type alone does not compile: the names
// in brackets must be as many as the members.
#include <concepts>
#include <tuple>
#include <type_traits>

#include "io/result/results.hpp"
#include "io/scan/fields_file.hpp"
#include "io/scan/mrd/noise_readouts.hpp"
#include "io/scan/pulseq/sequence.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/gradient_response.hpp"
#include "recon/domain/scan.hpp"
#include "recon/error.hpp"

namespace fhd::io::reader {

template <class T, class Named>
concept Of = std::same_as<std::remove_const_t<T>, Named>;

#define FHD_MEMBERS(Type, ...)         \
  auto members(Of<Type> auto& value) { \
    auto& [__VA_ARGS__] = value;       \
    return std::tie(__VA_ARGS__);      \
  }
/// Leaves out the last member, which the program makes itself.
#define FHD_MEMBERS_BUT(last, Type, ...) \
  auto members(Of<Type> auto& value) {   \
    auto& [__VA_ARGS__, last] = value;   \
    static_cast<void>(last);             \
    return std::tie(__VA_ARGS__);        \
  }

FHD_MEMBERS(ErrorParts, subject, expected, found, remedy, field, kind)
FHD_MEMBERS(Message, code, severity, text, remedy, field)
FHD_MEMBERS(Geometry, matrix_size, fov_mm, position_mm, read_direction, phase_direction, slice_direction)
FHD_MEMBERS(Trajectory, k)
FHD_MEMBERS(KSpace, values, in_double)
FHD_MEMBERS(SensitivityMaps, values, in_double)
FHD_MEMBERS(Calibration, trajectory, kspace, matrix_size, fov_mm)
FHD_MEMBERS(Fields, functions, coefficients, axes, displacement_mm)
FHD_MEMBERS(SecondDecay, per_s, fraction)
FHD_MEMBERS(Scan, geometry, trajectory, kspace, sensitivity_maps, noise, calibration, field_map,
            field_map_in_double, decay_per_s, second_decay, fields, sample_time_s, cropped_matrix_size,
            readout_numbers, physiology_stamps, messages, second_maps)
FHD_MEMBERS(MeasuredFields, fields, is_about_isocentre, sample_time_s, repetitions, slices)
FHD_MEMBERS(Image, values, geometry, in_double)
FHD_MEMBERS_BUT(stored, ImageSeries, repetition_count, slice_count, images)
FHD_MEMBERS(mrd::MeasurementKind, has_noise, is_noise_alone, id, noise_measurements, coil_count)
FHD_MEMBERS(Volume, values, voxel_to_lps)
FHD_MEMBERS(GradientResponse, frequencies_hz, values)
FHD_MEMBERS(RepetitionCounters, repetition, contrast, phase, set)
FHD_MEMBERS(AcquisitionInfo, patient_name, patient_id, patient_birth_date, patient_sex, patient_weight_kg,
            study_uid, study_id, study_description, study_date, study_time, accession_number,
            referring_physician, body_part, series_description, series_date, series_time,
            frame_of_reference_uid, patient_position, first_series_number, vendor, model, institution,
            station, protocol, field_strength_t, resonance_frequency_hz, sequence, excitation_time_s,
            flip_angle_deg)
FHD_MEMBERS_BUT(stamps, ScanSummary, path, format, coil_count, samples_per_scan, readout_length, slice_count,
                repetition_count, repetition_counters, slice_counters, slice_geometries, echo_times_s,
                repetition_time_s, readout_time_s, states_directions, cartesian, has_sensitivity_maps,
                has_field_map, has_sample_time, has_decay, has_fields, follows_sequence, time_origin,
                geometry, unit_geometry, outside_pieces, acquisition, facts, inferred, missing)
FHD_MEMBERS(OutsidePieces, trajectory, sensitivity_maps, noise, field_map, field_map_unit, decay, fields,
            gradient_coefficients)
FHD_MEMBERS(pulseq::SequenceDescription, facts, remarks)
FHD_MEMBERS(ReadOptions, matrix_size, fov_mm, trajectory_unit, trajectory_axes, precision, zeros_are_measured,
            anonymous, group, outside)

}  // namespace fhd::io::reader
