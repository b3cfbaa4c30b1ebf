#pragma once
// --noise-map: maps of the noise beside the image.
#include <optional>
#include <string>

#include "recon/pipeline/noise_map.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

class NoiseMapOption {
 public:
  /// The object must outlive the parse.
  void add_to(CLI::App& app);
  /// Empty where it is not given. Throws Error naming --noise-map.
  std::optional<NoiseMapRequest> request() const;
  /// Throws Error unless there is one volume, and one process at work.
  void require_alone(std::size_t volumes, int processes) const;
  /// Throws Error: beside frames.
  void require_no_frames() const;
  bool given() const { return text_.has_value(); }

 private:
  std::optional<std::string> text_;
};

}  // namespace fhd::app
