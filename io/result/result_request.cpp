#include "io/result/result_request.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "io/files/atomic_file.hpp"
#include "io/result/formats.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

struct Destination {
  const ResultFormat* format;
  std::string path;
  std::string subject;  ///< the option and its value
};

std::vector<Destination> destinations_of(const ResultRequest& request) {
  std::vector<Destination> found;
  for (const auto* format : result_formats()) {
    const auto given = request.paths.find(format->name);
    const bool has_path = given != request.paths.end() && !given->second.empty();
    for (std::size_t stack = 0; stack < file_count(*format, request); ++stack) {
      const auto path = path_of(*format, request, stack);
      if (path.empty()) break;
      found.push_back(
          {format, path,
           has_path && format->option ? std::string(format->option) + " " + path : "-o " + request.prefix});
    }
  }
  return found;
}

bool is_name(const std::string& path) {
  const auto name = fs::path(path).filename();
  return !name.empty() && name != "." && name != "..";
}

void require_entry(const Destination& to) {
  if (!to.format->is_folder) return require_replaceable_entry(to.path);
  const auto place = place_of_folder(to.path);
  std::error_code status;
  if (fs::exists(place, status) && !fs::is_directory(place, status))
    throw Error(to.path, "a folder, new or empty", "a file", "choose another folder");
}

void require_no_input(const Destination& to, const std::vector<std::string>& inputs) {
  std::error_code status;
  for (const auto& input : inputs) {
    const bool is_it = fs::equivalent(to.path, input, status);
    if (!is_it && !(to.format->is_folder && fs::exists(to.path, status) && lies_in(input, to.path))) continue;
    throw Error(to.subject, "a name other than those of the scan and its pieces",
                to.path + (!is_it                    ? ", which holds " + input
                           : input == inputs.front() ? " is the scan itself"
                                                     : " is a piece of the scan"),
                "choose another name");
  }
}

/// Throws Error where a path that was given by its own option is, or lies in, that of another result, or holds the results.
void require_apart(const Destination& to, const std::vector<Destination>& all, const std::string& prefix) {
  const auto refuse = [&](const std::string& other) {
    throw Error(to.subject, "a name other than those of the other results", other, "choose another name");
  };
  for (const auto& other : all)
    if (&to != &other && lies_in(to.path, other.path)) refuse(other.path);
  std::error_code status;
  if (to.format->is_folder && lies_in(fs::absolute(prefix, status).parent_path().string(), to.path))
    refuse("-o " + prefix);
}

}  // namespace

std::string place_of_folder(const std::string& path) {
  std::error_code status;
  if (!fs::is_symlink(path, status)) return path;
  const auto whole = fs::canonical(path, status);
  if (status) throw Error(path, "a folder, new or empty", "a link to nothing", "choose another folder");
  return whole.string();
}

void ResultRequest::add_noise_maps() {
  for (const auto* format : {&noise_format, &snr_format, &g_factor_format}) add(format->name);
}

std::size_t file_count(const ResultFormat& format, const ResultRequest& request) {
  return format.is_per_stack ? request.stack_count : 1;
}

std::string path_of(const ResultFormat& format, const ResultRequest& request, std::size_t stack) {
  const auto beside = request.prefix +
                      (file_count(format, request) > 1 ? "_" + std::to_string(stack + 1) : std::string()) +
                      format.ending;
  const auto asked = request.paths.find(format.name);
  if (asked == request.paths.end()) return format.is_optional ? "" : beside;
  auto path = asked->second.empty() ? beside : asked->second;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::vector<std::string> files_of_results(const ResultRequest& request) {
  std::vector<std::string> files;
  for (const auto& to : destinations_of(request))
    files.push_back(to.path + (to.format->is_folder ? "/" : ""));
  return files;
}

std::string without_result_ending(std::string name) {
  if (name.ends_with(".nii") && name.size() > 4 && !name.ends_with("/.nii")) name.resize(name.size() - 4);
  for (const auto* format : result_formats()) {
    const std::string_view ending = format->ending;
    if (format->is_optional || !name.ends_with(ending) || name.size() <= ending.size() ||
        name[name.size() - ending.size() - 1] == '/')
      continue;
    name.resize(name.size() - ending.size());
    break;
  }
  return name;
}

void check_names(const ResultRequest& request, const std::vector<std::string>& inputs) {
  if (!is_name(request.prefix))
    throw Error("-o " + request.prefix,
                "the common beginning of the names of the results, such as results/brain",
                request.prefix.empty() ? "nothing" : "a folder", "add a name");
  const auto all = destinations_of(request);
  for (const auto& to : all) {
    if (to.format->require_available) to.format->require_available();
    if (!is_name(to.path))
      throw Error(to.subject,
                  to.format->is_folder ? "the name of a folder, new or empty" : "the name of a file", "none");
    if (to.format->option) require_apart(to, all, request.prefix);
    require_no_input(to, inputs);
    require_entry(to);
  }
}

void check_writable(const ResultRequest& request, const std::vector<std::string>& inputs) {
  check_names(request, inputs);
  std::map<fs::path, std::string> longest;  // name in each folder
  for (const auto& to : destinations_of(request)) {
    const auto path = to.format->is_folder ? place_of_folder(to.path) : to.path;
    auto& known = longest[fs::path(path).parent_path()];
    if (path.size() > known.size()) known = path;
  }
  for (const auto& [folder, path] : longest) require_writable_folder(path);
}

void require_room(const ResultRequest& request, const ResultLayout& layout, const std::string& subject) {
  for (const auto& to : destinations_of(request)) {
    if (to.format->require_available) to.format->require_available();
    if (to.format->require_room) to.format->require_room(layout, subject);
  }
}

namespace {

constexpr const char* replaceable = "a new name, or an earlier result of this scan";

/// OUT_phase.nii.gz may also be the image of a result that is called OUT_phase; OUT_1.nii.gz of one called OUT_1.
void require_no_namesake(const std::string& path, const std::string& remedy) {
  const auto namesake = without_result_ending(path);
  std::error_code status;
  if (namesake != path && (fs::exists(namesake + ".json", status) || fs::exists(namesake + ".h5", status)))
    throw Error(path, replaceable, "one of the result " + namesake, remedy);
}

}  // namespace

void require_replaceable(const ResultRequest& request, const std::string& scan,
                         const ChecksumInBackground& checksum, const Replacing& replacing) {
  bool of_this_scan = false;
  std::string silent;  // a file that states no scan
  const auto remedy_of = [&](const ResultFormat& format) {
    return replacing.remedy ? replacing.remedy
           : format.option  ? flag_words("force") + " overwrites it; or choose another name"
                            : flag_words("force") + " overwrites it, " +
                                 (option_style() == OptionStyle::options ? "-o NAME" : "another prefix") +
                                 " writes beside it";
  };
  for (const auto& [format, path, subject] : destinations_of(request)) {
    std::error_code status;
    if (!fs::exists(path, status) || (replacing.force && !format->is_folder)) continue;
    const std::string remedy = remedy_of(*format);
    if (!format->recorded_scan) {
      if (format->is_optional || file_count(*format, request) > 1) require_no_namesake(path, remedy);
      if (silent.empty()) silent = path;
      continue;
    }
    if (format->is_folder && fs::is_empty(path, status)) continue;
    const bool may_state = format->is_folder || fs::is_regular_file(path, status);
    const auto recorded = may_state ? format->recorded_scan(path) : RecordedScan{};
    if (recorded.checksum.empty()) throw Error(path, replaceable, "a file that is no result of fhd", remedy);
    of_this_scan = true;
    const bool is_at_path = !recorded.path.empty() && recorded.path == scan;
    if (replacing.force || (replacing.earlier_content && is_at_path) || recorded.checksum == checksum.get())
      continue;
    throw Error(path, replaceable,
                "one of " + (is_at_path              ? scan + " with another content"
                             : recorded.path.empty() ? std::string("another scan")
                                                     : recorded.path),
                remedy);
  }
  if (!silent.empty() && !of_this_scan)
    throw Error(silent, replaceable, "a file that does not say of which scan it is", remedy_of(png_format));
}

}  // namespace fhd::io
