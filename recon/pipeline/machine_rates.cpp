#include "recon/pipeline/machine_rates.hpp"

namespace fhd {
namespace {

constexpr Precision single = Precision::single_precision, in_double = Precision::double_precision;

struct NamedUnit {
  const char* name;
  WorkUnit unit;
  bool of_precision;
};
constexpr NamedUnit named_units[] = {{"adjoint pair", WorkUnit::adjoint_pair, true},
                                     {"adjoint row", WorkUnit::adjoint_row, true},
                                     {"forward pair", WorkUnit::forward_pair, true},
                                     {"forward row", WorkUnit::forward_row, true},
                                     {"FFT 2D", WorkUnit::fft_2d, true},
                                     {"FFT 3D", WorkUnit::fft_3d, true},
                                     {"spread 2D", WorkUnit::spread_2d, true},
                                     {"spread 3D", WorkUnit::spread_3d, true},
                                     {"interpolate 2D", WorkUnit::interpolate_2d, true},
                                     {"interpolate 3D", WorkUnit::interpolate_3d, true},
                                     {"projection", WorkUnit::projection, true},
                                     {"sort sample", WorkUnit::sorted_sample, false},
                                     {"touched byte", WorkUnit::touched_byte, false},
                                     {"copied byte", WorkUnit::copied_byte, false},
                                     {"eigenvalue", WorkUnit::eigenvalue, false},
                                     {"map voxel", WorkUnit::map_voxel, false},
                                     {"mixed value", WorkUnit::mixed_value, false},
                                     {"transferred byte", WorkUnit::transferred_byte, false},
                                     {"region", WorkUnit::region, false}};

}  // namespace

double MachineRates::seconds(const Work& work) const {
  double shared = 0;
  for (const auto precision : {single, in_double})
    for (const auto& [name, unit, of_precision] : named_units) {
      const double count = work.at(unit, precision);
      if (unit != WorkUnit::region) shared += count * of(unit, of_precision ? precision : single);
    }
  const double regions = work.at(WorkUnit::region, single) + work.at(WorkUnit::region, in_double);
  return shared / speedup + regions * of(WorkUnit::region);
}

std::vector<std::pair<std::string, double*>> MachineRates::fields() {
  std::vector<std::pair<std::string, double*>> list;
  for (const auto& [name, unit, of_precision] : named_units)
    if (of_precision) {
      list.emplace_back(std::string(name) + ", single", &of(unit, single));
      list.emplace_back(std::string(name) + ", double", &of(unit, in_double));
    } else {
      list.emplace_back(name, &of(unit));
    }
  list.emplace_back("speedup", &speedup);
  return list;
}

MachineRates assumed_gpu_rates(const MachineRates& cpu) {
  // validation/results/2026-11-20-h100*.md: 6.9e12 pairs/s and a 15th of that in double precision, gridding
  // at some 5e10 kernel points/s, 3e12 FFT operations/s, HBM at 2e12 bytes/s.
  MachineRates rates = cpu;
  const auto set = [&](WorkUnit unit, double in_single, double doubled) {
    rates.of(unit, single) = in_single;
    rates.of(unit, in_double) = doubled;
  };
  for (const auto unit : {WorkUnit::adjoint_pair, WorkUnit::forward_pair}) set(unit, 1 / 6.9e12, 15 / 6.9e12);
  for (const auto unit : {WorkUnit::adjoint_row, WorkUnit::forward_row}) set(unit, 0, 0);
  for (const auto unit : {WorkUnit::fft_2d, WorkUnit::fft_3d}) set(unit, 1 / 2e12, 1 / 1e12);
  for (const auto unit :
       {WorkUnit::spread_2d, WorkUnit::spread_3d, WorkUnit::interpolate_2d, WorkUnit::interpolate_3d})
    set(unit, 1 / 5e10, 1 / 2e10);
  set(WorkUnit::projection, 16 / 2e12, 32 / 2e12);
  rates.of(WorkUnit::sorted_sample) = 1e-9;
  rates.of(WorkUnit::touched_byte) = rates.of(WorkUnit::copied_byte) = 1 / 1e12;
  rates.of(WorkUnit::transferred_byte) = 1 / 1e10;
  rates.of(WorkUnit::region) = 1e-5;
  rates.speedup = 1;
  return rates;
}

}  // namespace fhd
