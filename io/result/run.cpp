// OUT.h5: attribute run of /report. OUT.json: the field run, before all that may be long. OUT.nii.gz: db_name of the
// header, which NIfTI has left unused from ANALYZE. OUT.png: a text with the keyword Run, before the picture.
#include "io/result/run.hpp"

#include <fcntl.h>
#include <nifti1.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "io/files/blocks.hpp"
#include "io/files/file_set.hpp"
#include "io/files/sha256.hpp"

namespace fhd::io {
namespace {

template <class T>
std::uint32_t crc_of_values(const Array<T>& values) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(values.data()),
                                            static_cast<std::size_t>(values.size()) * sizeof(T)));
}

/// The digits at the beginning of `text`, where they are a run.
std::string run_at(std::string_view text) {
  const auto digits = text.substr(0, run_digits);
  return digits.size() == run_digits && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos
             ? std::string(digits)
             : "";
}

/// What stands at its beginning.
std::string head_of(const std::string& path, std::size_t bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  std::string text(bytes, '\0');
  const auto count = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

std::string run_after(const std::string& text, std::string_view mark) {
  const auto at = text.find(mark);
  return at == std::string::npos ? "" : run_at(std::string_view(text).substr(at + mark.size()));
}

std::string run_in_nifti(const std::string& path) {
  constexpr std::size_t enough = 4096;
  auto packed = head_of(path, enough);
  nifti_1_header header{};
  z_stream stream{};
  constexpr int gzip = MAX_WBITS + 16;
  if (packed.empty() || inflateInit2(&stream, gzip) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(&header);
  stream.avail_out = sizeof header;
  inflate(&stream, Z_SYNC_FLUSH);
  const bool whole = stream.avail_out == 0;
  inflateEnd(&stream);
  return whole ? run_at({header.db_name, std::min(sizeof header.db_name, run_digits)}) : "";
}

}  // namespace

std::string run_identifier(const ImageSeries& series, const Provenance& provenance, int threads) {
  Sha256 digest("run");
  for (const auto& text : {provenance.program_version, provenance.input_checksum, provenance.command_line})
    digest.add(text.c_str(), text.size() + 1);
  in_order(
      static_cast<std::int64_t>(series.images.size()), threads,
      [&](std::int64_t i) {
        const auto image = series.image(static_cast<std::size_t>(i));
        return image->in_double.empty() ? crc_of_values(image->values) : crc_of_values(image->in_double);
      },
      [&](std::uint32_t crc) { digest.add(&crc, sizeof crc); });
  return digest.hex().substr(0, run_digits);
}

std::string run_of_file(const std::string& path) {
  constexpr std::size_t head = 4096;
  using namespace std::string_literals;
  if (path.ends_with(".nii.gz")) return run_in_nifti(path);
  if (path.ends_with(".json")) return run_after(head_of(path, head), "\n  \"run\": \"");
  if (path.ends_with(".png")) return run_after(head_of(path, head), "tEXt"s + run_keyword + '\0');
  return {};
}

RunsBeside::RunsBeside(const std::string& path) : path_(path) {
  complete_interrupted_set(path);
  for (const auto& other : files_of_results(without_result_ending(path)))
    if (auto run = run_of_file(other); !run.empty()) runs_.emplace_back(other, std::move(run));
}

void RunsBeside::require(const std::string& run) const {
  for (const auto& [other, its] : runs_)
    if (!run.empty() && its != run)
      throw Error(path_, "results of one run", other + " of another run",
                  "make them again; or keep results of different runs under different names");
}

}  // namespace fhd::io
