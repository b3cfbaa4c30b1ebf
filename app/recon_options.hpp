#pragma once
// The options that say how to reconstruct. Shared by `fhd recon` and `fhd compare`.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recon/domain/settings.hpp"
#include "recon/domain/trajectory_cache.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

class ReconOptions {
 public:
  /// Adds the options to a command. The object must outlive the parse.
  void add_to(CLI::App& app);
  /// Replaces the default of --tolerance; before add_to.
  void set_default_tolerance(double tolerance) { least_squares_.tolerance = tolerance; }
  bool threads_are_given() const { return threads_ > 0; }
  /// Replaces the default of --cache, "off"; before add_to.
  void set_default_cache(std::string cache) { cache_ = std::move(cache); }
  /// The settings asked for; sets the number of threads. Throws Error on contradictory options.
  Settings settings() const;
  /// Null: off.
  std::shared_ptr<TrajectoryCache> trajectory_cache() const;
  /// The processor, threads and instruction set in use, for the report: name, value.
  static std::vector<std::pair<std::string, std::string>> environment();

 private:
  bool given(const char* flag) const;
  void refuse(const char* flag, const std::string& without) const;
  void refuse_contradictions(const Settings& settings) const;
  Regularizer regularizer() const;
  LambdaChoice lambda() const;
  CoilSettings coils() const;

  CLI::App* app_ = nullptr;
  LeastSquares least_squares_;  ///< its numbers
  double prior_strength_ = 1;
  std::string method_ = "cg", transform_ = "auto", normal_ = "toeplitz", regularizer_ = "identity",
              precision_ = "single", coils_ = "auto", whiten_ = "auto", compress_ = "auto";
  std::string sin_cos_ = "fast", prior_, lambda_, cache_ = "off";
  int threads_ = 0;
};

}  // namespace fhd::app
