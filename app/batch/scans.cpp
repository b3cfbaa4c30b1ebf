#include "app/batch/scans.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "app/batch/noise_files.hpp"
#include "app/options/nearest_word.hpp"
#include "io/files/input_file.hpp"
#include "io/files/words.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/result/manifest.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

bool has_ending(const fs::path& path, std::initializer_list<const char*> endings) {
  const auto own = path.extension().string();
  return std::ranges::any_of(endings, [&](const char* each) { return strcasecmp(own.c_str(), each) == 0; });
}

bool is_impatient(const fs::path& path) {
  std::error_code status;
  return fs::is_directory(path, status) && fs::exists(path / "kx.dat", status);
}

/// Decides by the name alone: what is in a file is seen when it is read.
bool looks_like_scan(const fs::path& path) {
  const auto name = path.filename().string();
  if (name.starts_with(".")) return false;
  if (is_impatient(path)) return true;
  std::error_code status;
  if (fs::is_directory(path, status)) return false;
  const auto unpacked = has_ending(path, {".gz"}) ? path.stem() : path;
  if (has_ending(unpacked, {".h5", ".hdf5", ".mrd", ".ismrmrd"})) return true;
  if (has_ending(path, {".dat"}))
    return io::is_twix(path.string());  // other programs end their files so, too
  const auto stem = path.stem().string();
  return has_ending(path, {".cfl"}) && !stem.ends_with("_traj") && !stem.ends_with("_sens") &&
         fs::exists(path.parent_path() / (stem + "_traj.cfl"), status);
}

class Lister {
 public:
  explicit Lister(BatchList& list) : list_(list) {}
  void add(const std::string& argument) {
    std::error_code status;
    const bool is_list = argument.starts_with("@") && !fs::exists(argument, status);
    is_list ? add_list(argument.substr(1)) : add_one(argument);
  }

 private:
  void add_one(const std::string& argument) {
    std::error_code status;
    if (fs::is_directory(argument, status) && !is_impatient(argument)) return add_folder(argument);
    if (!fs::exists(argument, status) && argument.find_first_of("*?[") != std::string::npos)
      return add_pattern(argument);
    add_scan(argument, false);
  }

  void add_folder(const std::string& folder) {
    std::vector<std::string> inside;
    std::error_code status;
    for (fs::directory_iterator entry(folder, status), end; !status && entry != end; entry.increment(status))
      if (looks_like_scan(entry->path())) inside.push_back(entry->path().string());
    if (status && status != std::errc::permission_denied)
      throw Error(folder, "a folder that can be read to its end", status.message());
    if (status) return add_scan(folder, false);  // fails with the reason
    if (inside.empty())
      throw Error(folder, "a folder with scans in it",
                  "none: .h5, .mrd, .cfl with its trajectory, or Siemens .dat",
                  "name the scans, or the folder in which they are");
    std::sort(inside.begin(), inside.end());
    for (const auto& path : inside) add_scan(path, true);
    list_.notes.push_back(fmt::format("{}: {} files in it that may be scans", folder, inside.size()));
  }

  void add_pattern(const std::string& pattern) {
    glob_t found{};
    const std::unique_ptr<glob_t, decltype(&globfree)> freed(&found, &globfree);
    if (glob(pattern.c_str(), GLOB_TILDE, nullptr, &found) != 0)
      return add_scan(pattern, false);  // fails: no such scan
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      std::error_code unknown;
      if (!fs::is_directory(path, unknown) || is_impatient(path)) add_scan(path, true);
    }
  }

  void add_list(const std::string& path) {
    constexpr std::uint64_t longest = std::uint64_t{1} << 24;  // of some hundred thousand scans
    std::istringstream content(
        io::content_of_file(path, longest, "a text file with the name of a scan on every line"));
    std::string line;
    for (int number = 1; std::getline(content, line); ++number) {
      if (line.find('\0') != std::string::npos)
        throw Error(fmt::format("@{}:{}", path, number), "the name of a scan",
                    "a NUL character, which none has", "give a text file with a name on every line");
      const auto name = io::trimmed(line);
      if (!name.empty() && name.front() != '#') add_one(std::string(name));
    }
  }

  void add_scan(const std::string& path, bool found) {
    if (seen_.insert(absolute_path(path)).second)
      list_.scans.push_back({path, {}, found});
    else
      list_.notes.push_back(path + ": given more than once, done once");
  }

  BatchList& list_;
  std::set<std::string> seen_;
};

/// Returns whether `fhd simulate` wrote a file beside a scan.
bool is_of_simulation(const std::string& path) {
  if (!path.ends_with(".truth.h5") && !path.ends_with(".field.h5")) return false;
  const auto facts = io::facts_of_hdf5(path, {std::string("/@") + io::made_by_attribute, "/dataset"});
  return facts && *facts == io::Hdf5Facts{made_by_simulate, {}};
}

/// Takes files that are no scans out of the list, with one note, unless nothing else is in it. `what`: they hold.
template <class Is>
void leave_out(BatchList& list, const char* what, const Is& is) {
  auto& scans = list.scans;
  const auto first =
      std::stable_partition(scans.begin(), scans.end(), [&](const auto& scan) { return !is(scan); });
  const auto count = scans.end() - first;
  if (count == 0 || first == scans.begin()) return;
  list.notes.push_back(count == 1 ? fmt::format("{}: holds {} and no scan: skipped", first->path, what)
                                  : fmt::format("{} files, such as {}, hold {} and no scan: skipped", count,
                                                first->path, what));
  scans.erase(first, scans.end());
}

/// Returns the FNV-1a hash of a path, 8 hex digits.
std::string checksum(const std::string& path) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{:08x}", static_cast<std::uint32_t>(hash ^ (hash >> 32)));
}

/// Returns whether other files of the directory have this name.
bool is_reserved(const std::string& name) {
  constexpr std::array beside_others{".manifest", "_phase", "_noise", "_snr", "_gfactor", "_images"};
  return name.empty() || name == "summary" || name == "index" || name == "batch" || name.starts_with(".") ||
         std::any_of(beside_others.begin(), beside_others.end(),
                     [&](const char* ending) { return name.ends_with(ending); });
}

/// Returns whether the results of that name are those of another scan that still exists.
bool is_taken(const std::string& directory, const std::string& name, const std::string& path) {
  const auto manifest = io::read_manifest(io::manifest_path(directory, name));
  std::error_code status;
  return manifest && manifest->scan != path && fs::exists(manifest->scan, status);
}

constexpr std::size_t longest = 180;  // a file name has at most 255 bytes, with what is added to it

/// Names the scans, each as its file; with a checksum of the path where that has another use.
void name_scans(BatchList& list, const std::string& directory) {
  std::map<std::string, int> uses;
  for (const auto& scan : list.scans) ++uses[plain_name(scan.path)];
  for (auto& scan : list.scans) {
    const auto plain = scan.name = plain_name(scan.path), path = absolute_path(scan.path);
    const auto manifest = io::read_manifest(io::manifest_path(directory, plain));
    // Whoever had the plain name first keeps it.
    const bool had_it = manifest && manifest->scan == path;
    const bool is_free = uses[plain] == 1 && plain.size() <= longest && !is_taken(directory, plain, path);
    if (!is_reserved(plain) && (had_it || is_free)) continue;
    const auto start = plain.substr(0, longest);
    scan.name = (start.empty() || start.front() == '.' ? "scan" : "") + start + "-" + checksum(path);
    list.notes.push_back(fmt::format("{}: its results are called {}, because the name {} has another use",
                                     scan.path, scan.name, plain));
  }
}

/// Names the scans by --name; they are named as without it before.
void rename_scans(BatchList& list, const std::string& directory, const NameOfScan& name_of) {
  std::map<std::string, std::string> known;
  for (auto& scan : list.scans) {
    const auto given = name_of(scan.path);
    if (given.empty())
      list.notes.push_back(fmt::format("{}: cannot be opened for its name, so its results are called {}",
                                       scan.path, scan.name));
    else
      scan.name = given;
    const auto refuse = [&](const std::string& expected, const std::string& users, const char* remedy) {
      throw Error("--name", expected, fmt::format("{} for {}", scan.name, users), remedy);
    };
    const auto [user, is_new] = known.emplace(scan.name, scan.path);
    if (!is_new)
      refuse("a name for each scan", user->second + " and " + scan.path, "add a field, such as {stem}");
    if (is_reserved(scan.name) || scan.name.size() > longest)
      refuse(fmt::format("names of at most {} bytes that nothing else in the folder has", longest), scan.path,
             "use another pattern");
    if (is_taken(directory, scan.name, absolute_path(scan.path)))
      refuse("names that no other scan has in " + directory,
             scan.path + ", which is that of another scan's results",
             "add a field, such as {stem}, or choose another folder");
  }
}

// --- --name PATTERN

/// Holds what a name is made of.
struct NamedScan {
  fs::path path;  ///< absolute
  const VolumeSelection& selection;
  io::ScanSummary header{};  ///< read where a field needs it
};

/// Returns the counters of the chosen slices: "3", or "0-15" of several.
std::string slices_of(const NamedScan& scan) {
  const auto& counters = scan.header.slice_counters;
  const auto chosen = parse_selection(scan.selection.slices, scan.header.slice_count, "--slices");
  const auto counter = [&](std::int64_t slice) {
    const auto at = static_cast<std::size_t>(slice);
    return std::to_string(at < counters.size() ? counters[at] : slice);
  };
  const auto first = counter(chosen.front());
  return chosen.size() == 1 ? first : first + "-" + counter(chosen.back());
}

template <std::string io::AcquisitionInfo::*member>
std::string field_of_header(const NamedScan& scan) {
  return scan.header.acquisition.*member;
}

using Info = io::AcquisitionInfo;
constexpr std::size_t first_of_header = 3;
constexpr std::pair<const char*, std::string (*)(const NamedScan&)> name_fields[] = {
    {"stem", [](const NamedScan& scan) { return plain_name(scan.path.string()); }},
    {"scan", [](const NamedScan& scan) { return scan.path.filename().string(); }},
    {"folder", [](const NamedScan& scan) { return scan.path.parent_path().filename().string(); }},
    {"subject", field_of_header<&Info::patient_id>},
    {"protocol", field_of_header<&Info::protocol>},
    {"series", field_of_header<&Info::series_description>},
    {"study", field_of_header<&Info::study_id>},
    {"date", field_of_header<&Info::study_date>},
    {"slice", slices_of}};

}  // namespace

bool holds_only_images(const std::string& path) {
  const auto facts = io::facts_of_hdf5(path, {"/image", "/kspace", "/trajectory", "/dataset"});
  return facts && *facts == io::Hdf5Facts{"", {}, {}, {}};
}

std::string absolute_path(const std::string& scan) {
  std::error_code status;
  fs::path path = fs::absolute(scan, status).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const auto folder = fs::weakly_canonical(path.parent_path(), status);
  return status ? path.string() : (folder / path.filename()).string();
}

std::string plain_name(const std::string& scan) {
  fs::path path = fs::path(scan).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (has_ending(path, {".gz"})) path = path.stem();
  const bool is_known = has_ending(path, {".h5", ".hdf5", ".mrd", ".ismrmrd", ".cfl", ".hdr", ".dat"});
  return (is_known ? path.stem() : path.filename()).string();
}

NameOfScan names_by(const std::string& pattern, const VolumeSelection& selection,
                    const io::ReadOptions& options) {
  std::vector<std::string> known;
  for (const auto& [name, value] : name_fields) known.push_back(name);
  const auto refuse = [&](const std::string& found, const std::string& hint) {
    throw Error("--name " + pattern,
                fmt::format("a name with one or more of {{{}}}", fmt::join(known, "}, {")), found, hint);
  };
  std::vector<std::pair<std::string, std::size_t>> pieces;  // a text, and the number of the field behind it
  std::size_t at = 0;
  for (std::size_t brace; (brace = pattern.find_first_of("{}", at)) != std::string::npos;) {
    const auto end = pattern.find('}', brace);
    if (pattern[brace] == '}' || end == std::string::npos) refuse("a brace without its other", "");
    const auto name = pattern.substr(brace + 1, end - brace - 1);
    const auto field = std::ranges::find(known, name);
    if (field == known.end()) refuse("{" + name + "}", did_you_mean(name, known));
    pieces.emplace_back(pattern.substr(at, brace - at), field - known.begin());
    at = end + 1;
  }
  if (pattern.find('/') != std::string::npos) refuse("a folder in it", "give the folder with -o");
  if (pieces.empty()) refuse("none: all scans would be called alike", "");
  return [=, last = pattern.substr(at)](const std::string& path) {
    NamedScan scan{absolute_path(path), selection};
    if (std::ranges::any_of(pieces, [](const auto& piece) { return piece.second >= first_of_header; })) try {
        scan.header = io::open_scan(path, options)->summary();
      } catch (const Error&) {
        return std::string();
      }
    std::string all;
    for (const auto& [text, number] : pieces) {
      const auto& [name, value_of] = name_fields[number];
      const auto value = value_of(scan);
      if (value.empty())
        throw Error(path, fmt::format("a header that tells {{{}}} for --name", name), "none",
                    "leave it out of --name, or give this scan another batch");
      all += text + value;
    }
    all += last;
    for (char& c : all)  // letters beyond ASCII stay
      if (const auto byte = static_cast<unsigned char>(c);
          byte < 0x80 && !std::isalnum(byte) && std::string_view("._+-").find(c) == std::string_view::npos)
        c = '-';
    return all;
  };
}

BatchList find_scans(const std::vector<std::string>& arguments) {
  BatchList list;
  Lister lister(list);
  for (const auto& argument : arguments) lister.add(argument);
  leave_out(list, "true images or field maps of 'fhd simulate'",
            [](const BatchScan& scan) { return is_of_simulation(scan.path); });
  return list;
}

BatchList find_readable_scans(const std::vector<std::string>& arguments) {
  BatchList list = find_scans(arguments);
  leave_out(list, "images or noise", [](const BatchScan& scan) {
    return scan.found && (holds_only_images(scan.path) || holds_only_noise(scan.path));
  });
  return list;
}

BatchList list_scans(const std::vector<std::string>& arguments, const std::string& directory,
                     const NameOfScan& name_of) {
  BatchList list = find_scans(arguments);
  name_scans(list, directory);
  if (name_of) rename_scans(list, directory, name_of);

  std::set<std::string> inputs;
  for (const auto& scan : list.scans) inputs.insert(absolute_path(scan.path)), list.names.insert(scan.name);
  const auto folder = absolute_path((fs::path(directory) / "x").string());
  for (const auto& scan : list.scans)
    for (const auto& result :
         io::files_of_results({(fs::path(folder).parent_path() / scan.name).string(), {{"phase", ""}}}))
      if (inputs.count(result))
        throw Error("-o " + directory, "a folder of its own for the results", result + " is one of the scans",
                    "choose another folder");
  return list;
}

void keep_named(std::vector<BatchScan>& scans, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const auto& scan : scans) known.push_back(scan.name);
  for (const auto& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error("--only " + name, "the name of a scan, as --list prints it", "none of that name",
                  did_you_mean(name, known));
  std::erase_if(scans, [&](const BatchScan& scan) {
    return std::find(names.begin(), names.end(), scan.name) == names.end();
  });
}

void keep_shard(std::vector<BatchScan>& scans, const std::string& shard) {
  std::size_t part = 0, parts = 0;
  int length = 0;
  if (shard.find_first_not_of("0123456789/") != std::string::npos ||
      std::sscanf(shard.c_str(), "%zu/%zu%n", &part, &parts, &length) != 2 ||
      static_cast<std::size_t>(length) != shard.size() || part < 1 || part > parts)
    throw Error("--shard", "K/N with 1 <= K <= N, such as 1/4", shard);
  std::vector<std::string> names;
  for (const auto& scan : scans) names.push_back(scan.name);
  std::sort(names.begin(), names.end());
  std::erase_if(scans, [&](const BatchScan& scan) {
    const auto number = std::lower_bound(names.begin(), names.end(), scan.name) - names.begin();
    return static_cast<std::size_t>(number) % parts != part - 1;
  });
}

}  // namespace fhd::app
