#pragma once
// Computes SHA-256 (FIPS 180-4) by libcrypto.
#include <cstddef>
#include <memory>
#include <string>

struct evp_md_ctx_st;  // of libcrypto

namespace fhd::io {

class Sha256 {
 public:
  /// A failure names `subject`.
  explicit Sha256(std::string subject);
  void add(const void* bytes, std::size_t count);
  /// Returns 64 hex digits. Nothing may be added afterwards.
  std::string hex();

 private:
  void require(int success) const;
  std::string subject_;
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace fhd::io
