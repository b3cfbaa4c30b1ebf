#pragma once
// What a person is told of many images: a few in full, of a long series their number and what is worst.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "recon/domain/report.hpp"

namespace fhd::app {

class SeriesPrinter {
 public:
  explicit SeriesPrinter(std::size_t total) : total_(total) {}
  /// One more image.
  void count(const Report& report);
  /// One of an earlier run.
  void count_earlier(const Report& report);
  std::size_t earlier() const { return earlier_; }
  /// Whether every image has a line.
  bool says_each() const { return total_ <= 20; }
  /// Of the images counted.
  bool is_first() const { return done_ == earlier_ + 1; }
  /// What several images have is said once.
  bool is_new(const std::string& sentence) { return said_.insert(sentence).second; }
  /// Whether to say a suspicion of one more image: of a long series the first few.
  bool says_suspicion(const std::string& sentence);
  /// "image 12 of 200, 65.2 images/s, 0:03 left"
  std::string context() const;
  /// Of a long series: "images 200: 3.1 s, ...".
  void print_summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  void add(const Report& report);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  std::size_t total_, done_ = 0, earlier_ = 0, suspicious_ = 0, suspicions_said_ = 0;
  std::size_t least_ = SIZE_MAX, most_ = 0, stopped_ = 0, failed_ = 0;  ///< iterations; images
  double residual_ = 0, error_ = 0;                                     ///< the largest
  std::set<std::string> said_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace fhd::app
