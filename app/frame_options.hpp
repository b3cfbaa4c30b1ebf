#pragma once
// --frames, --spokes-per-frame and --sliding: frames of a continuous acquisition.
#include "recon/pipeline/frames.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

class FrameOptions {
 public:
  /// Adds the options to a command. The object must outlive the parse.
  void add_to(CLI::App& app);
  bool asks() const { return choice_.asks(); }
  /// Throws Error on contradictory options.
  const FrameChoice& choice() const;

 private:
  FrameChoice choice_;
};

}  // namespace fhd::app
