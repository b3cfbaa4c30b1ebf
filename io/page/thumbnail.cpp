#include "io/page/thumbnail.hpp"

#include <openssl/evp.h>

#include <string_view>

#include "io/files/in_reader.hpp"
#include "io/result/picture.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::string_view picture_prefix = "data:image/png;base64,";

}  // namespace

std::string base64(const std::vector<std::uint8_t>& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with a 0 at its end
  text.resize(static_cast<std::size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                                       bytes.data(), static_cast<int>(bytes.size()))));
  return text;
}

std::string thumbnail_here(const std::string& path) {
  constexpr int side = 128;  // of which the page shows 96
  return std::string(picture_prefix) + base64(encode_png(reduced(read_png(path), side), path));
}

std::string thumbnail_of(const std::string& path) {
  try {
    auto text = in_reader<&thumbnail_here>(path);
    constexpr auto of_base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    const bool is_picture = text.starts_with(picture_prefix) &&
                            text.find_first_not_of(of_base64, picture_prefix.size()) == std::string::npos;
    return is_picture ? text : std::string();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace fhd::io
