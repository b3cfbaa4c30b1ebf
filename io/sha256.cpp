#include "io/sha256.hpp"

#include <openssl/evp.h>

#include <array>

#include "recon/error.hpp"

namespace fhd::io {

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256(std::string subject) : subject_(std::move(subject)), context_(std::make_unique<Context>()) {
  require(context_->digest && EVP_DigestInit_ex(context_->digest.get(), EVP_sha256(), nullptr));
}
Sha256::~Sha256() = default;

void Sha256::require(int success) const {
  if (success != 1) throw Error(subject_, "a SHA-256 checksum", "a failure of libcrypto");
}

void Sha256::add(const void* bytes, std::size_t count) {
  require(EVP_DigestUpdate(context_->digest.get(), bytes, count));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(context_->digest.get(), bytes.data(), &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

}  // namespace fhd::io
