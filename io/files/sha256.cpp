#include "io/files/sha256.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "recon/error.hpp"

namespace fhd::io {

Sha256::Sha256(std::string subject)
    : subject_(std::move(subject)), context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256::require(int success) const {
  if (success != 1) throw Error(subject_, "a SHA-256 checksum", "a failure of libcrypto");
}

void Sha256::add(const void* bytes, std::size_t count) {
  require(EVP_DigestUpdate(context_.get(), bytes, count));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size));
  return fmt::format("{:02x}", fmt::join(bytes.begin(), bytes.begin() + size, ""));
}

}  // namespace fhd::io
