#include "io/page/gating_curve.hpp"

#include <cmath>
#include <string>

#include "recon/error.hpp"

namespace fhd::io {

nlohmann::ordered_json gating_curve(const hdf5::File& file, std::int64_t most) {
  using Json = nlohmann::ordered_json;
  constexpr auto signal_name = "/gating/signal", bin_name = "/gating/bin";
  if (!file.has(signal_name) || !file.has(bin_name)) return {};
  const auto signal = file.dataset(signal_name), bins = file.dataset(bin_name);
  const auto extents = signal.extents();
  if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1)
    throw Error(signal.subject(), "[slice][readout]", hdf5::text_of(extents));
  if (bins.extents() != extents)
    throw Error(bins.subject(), hdf5::text_of(extents) + ", as the signal has",
                hdf5::text_of(bins.extents()));
  const auto readouts = extents[1], stride = (readouts + most - 1) / most;
  const auto values = signal.read<double>({readouts}, {0}), numbers = bins.read<double>({readouts}, {0});
  Json of_signal = Json::array(), of_bins = Json::array();
  for (std::int64_t r = 0; r < readouts; r += stride) {
    of_signal.push_back(static_cast<float>(values[r]));  // as many digits as a curve needs
    const double bin = numbers[r];
    of_bins.push_back(bin >= 0 && bin < 1e6 ? static_cast<int>(bin) : -1);
  }
  return {{"source", file.has_attribute(signal_name, "source") ? file.text_attribute(signal_name, "source")
                                                               : std::string("a signal")},
          {"slices", extents[0]},
          {"readouts", readouts},
          {"stride", stride},
          {"signal", of_signal},
          {"bins", of_bins}};
}

}  // namespace fhd::io
