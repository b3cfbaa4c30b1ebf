#include "io/libraries.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <ismrmrd/version.h>
#include <openssl/crypto.h>
#include <png.h>
#include <zlib.h>

#include <pugixml.hpp>

namespace fhd::io {

std::vector<std::pair<std::string, std::string>> library_versions() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return {{"HDF5", fmt::format("{}.{}.{}", major, minor, release)},
          {"ISMRMRD",
           fmt::format("{}.{}.{}", ISMRMRD_VERSION_MAJOR, ISMRMRD_VERSION_MINOR, ISMRMRD_VERSION_PATCH)},
          {"pugixml", fmt::format("{}.{}", PUGIXML_VERSION / 1000, PUGIXML_VERSION / 10 % 100)},
          {"libpng", png_get_libpng_ver(nullptr)},
          {"zlib", zlibVersion()},
          {"OpenSSL", OpenSSL_version(OPENSSL_VERSION)}};
}

}  // namespace fhd::io
