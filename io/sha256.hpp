#pragma once
// SHA-256 (FIPS 180-4) by libcrypto.
#include <cstddef>
#include <memory>
#include <string>

namespace fhd::io {

class Sha256 {
 public:
  /// `subject` is what a failure names.
  explicit Sha256(std::string subject);
  ~Sha256();
  void add(const void* bytes, std::size_t count);
  /// 64 hex digits; nothing may be added afterwards.
  std::string hex();

 private:
  void require(int success) const;
  std::string subject_;
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace fhd::io
