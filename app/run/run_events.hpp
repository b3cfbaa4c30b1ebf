#pragma once
// Functions by which a run reports what it does. The terminal, a worker of a batch and Python differ in them alone; each may
// be empty. A run calls one of them at a time.
#include <cstddef>
#include <functional>
#include <string>

#include "recon/domain/report.hpp"

namespace fhd::app {

class ScanResults;

struct RunEvents {
  ProgressCallback progress{};  ///< of one image; not called while several are made concurrently
  /// The GPU failed for this reason, and the CPU goes on.
  std::function<void(const std::string& reason)> on_fallback{};
  /// A line of text: "frames", "planned" or "note", and what it says.
  std::function<void(const char* what, const std::string& text)> on_text{};
  /// An image was added to the results; `index` is its place there.
  std::function<void(std::size_t index, const Report&, const ScanResults&)> on_image{};
  bool wants_cost = false;  ///< on_text is told what the run costs ("planned")

  void fallback(const std::string& reason) const {
    if (on_fallback) on_fallback(reason);
  }
  void text(const char* what, const std::string& text) const {
    if (on_text) on_text(what, text);
  }
};

}  // namespace fhd::app
