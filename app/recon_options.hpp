#pragma once
// The options that say how to reconstruct. Shared by `fhd recon` and `fhd compare`.
#include <string>

#include "recon/reconstruct.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

class ReconOptions {
 public:
  /// Adds the options to a command. The object must outlive the parse.
  void add_to(CLI::App& app);
  /// The settings asked for; sets the number of threads. Throws Error on contradictory options.
  Settings settings() const;
  /// The processor, threads and instruction set in use, for the report: name, value.
  static std::vector<std::pair<std::string, std::string>> environment();

 private:
  CLI::App* app_ = nullptr;
  Settings settings_;
  std::string method_ = "cg", transform_ = "auto", normal_ = "toeplitz", regularizer_ = "identity",
              precision_ = "single";
  int threads_ = 0;
};

}  // namespace fhd::app
