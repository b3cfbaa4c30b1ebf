#pragma once
// Samples that share positions along x, and along x and y, share exponentials: the direct adjoint adds what
// they contribute before it goes on (direct_kernels_cpu.hpp). Both halves of a spoke have k and -k, opposite
// interleaves of a spiral too; the partitions of a stack share k_x and k_y. Only equal numbers count, so that
// nothing is approximated.
#include <cstdint>
#include <vector>

#include "recon/domain/scan.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

class SampleGroups {
 public:
  /// Groups that are computed together.
  static constexpr int block_size = 256;
  /// More places of one |k_x| form several groups: their tables stay in the cache.
  static constexpr int most_slots = 16;

  /// Samples with the same k_x and k_y.
  struct Place {
    std::int64_t begin = 0;  ///< in order()
    int count = 0;           ///< 0: none
    int sign = 0;            ///< of k_x against that of the first place of the group
  };
  struct Block {
    int groups = 0;          ///< at most block_size
    int slots = 0;           ///< places of the largest group
    bool single = true;      ///< all groups are one place
    std::int64_t first = 0;  ///< of places(), [slot][block_size]
  };

  explicit SampleGroups(const Trajectory& trajectory);
  /// Returns what count() of the groups of this trajectory is, without laying them out.
  static SampleCount count_of(const Trajectory& trajectory);
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<Place>& places() const { return places_; }
  const std::vector<std::int64_t>& order() const { return order_; }
  /// Returns the numbers left to compute with every x (groups), and with every row (places), instead of all samples.
  SampleCount count() const { return count_; }

 private:
  struct Formed;
  SampleGroups() = default;
  Formed form(const Trajectory& trajectory);
  static Formed formed(const Trajectory& trajectory, const std::vector<std::int64_t>& order, bool shared);
  void lay_out(const Formed& formed);

  std::vector<std::int64_t> order_;
  std::vector<Place> places_;
  std::vector<Block> blocks_;
  SampleCount count_;
};

}  // namespace fhd
