#include "app/batch/work.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "app/batch/recipe.hpp"
#include "app/commands.hpp"
#include "app/nearest_word.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// "--lambda", ...: the options that may differ between the scans of a batch, and those that may not.
struct JobOptionNames {
  std::set<std::string> of_scans, of_batch;
};

// --- The recipe

/// In the order of the file. Throws Error with the line of what cannot be read, and of keys that are not
/// among those of scans.
std::vector<RecipeEntry> read_recipe(const std::string& path, const JobOptionNames& known) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  std::error_code status;
  if (!file || std::filesystem::is_directory(path, status))
    throw Error("--recipe " + path, "a TOML or JSON file", "none that can be read");
  const auto text = content.str();
  auto entries = path.ends_with(".json") ? entries_of_json(text, path) : entries_of_toml(text, path);
  const auto& options = known.of_scans;
  for (auto& entry : entries) {
    std::replace(entry.option.begin(), entry.option.end(), '_', '-');
    if (options.count(entry.option)) continue;
    std::vector<std::string> names;
    for (const auto& option : options)
      if (option.starts_with("--")) names.push_back(option.substr(2));
    const auto name = entry.option.substr(2), hint = did_you_mean(name, names);
    throw Error(entry.where, "an option of 'fhd batch' that may differ between scans", "'" + name + "'",
                known.of_batch.count(entry.option) ? "give it on the command line, for all scans"
                : hint.empty()                     ? "see 'fhd batch --help'"
                                                   : hint);
  }
  return entries;
}

/// Whether a pattern with * ? [ ] fits a scan: its name with or without ending or, when there is a '/' in the
/// pattern, its path as given.
bool fits(const std::string& pattern, const std::string& scan) {
  const auto file = std::filesystem::path(absolute_path(scan)).filename().string();
  const auto match = [&](const std::string& text) { return fnmatch(pattern.c_str(), text.c_str(), 0) == 0; };
  if (pattern.empty()) return true;
  return pattern.find('/') == std::string::npos ? match(file) || match(plain_name(scan)) : match(scan);
}

// --- The options

JobOptionNames job_option_names() {
  CLI::App app;
  JobOptions options;
  options.add_to(app);
  JobOptionNames names;
  for (const auto* option : app.get_options()) {
    const auto name = option->get_name();
    if (name == "--help") continue;
    const bool shared = name == "--device" || name == "--device-memory" || name == "--device-memory-mib" ||
                        name == "--threads" || name == "--verbose" || name == "--cache";
    (shared ? names.of_batch : names.of_scans).insert(name);
  }
  return names;
}

/// "--name=value" of every option that was given and is among `names`.
std::map<std::string, std::vector<std::string>> given(const CLI::App& app,
                                                      const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto* option : app.get_options())
    if (option->count() > 0 && names.count(option->get_name()))
      values[option->get_name()] = option->results();
  return values;
}

}  // namespace

JobOptions::JobOptions(const std::vector<std::string>& arguments)
    : parser_(std::make_shared<CLI::App>("options of fhd recon")) {
  add_to(*parser_);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    parser_->parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw UsageError(Error(error.what(), "", "", "see 'fhd batch --help'"));
  }
}

void JobOptions::add_to(CLI::App& app) {
  selection.add_to(app);
  app.add_flag("--strict", strict, "a scan whose image or input is suspicious fails, without results");
  app.add_flag("--no-gridded-image", no_gridded_image,
               "leave out the gridded image that NAME.h5 holds beside the other, as /gridded");
  app.add_flag("--phase", phase, "also write NAME_phase.nii.gz, the phase in rad");
  add_compression_option(app, compression);
  recon.set_default_cache("auto");
  device.add_to(app);
  recon.add_to(app);
  add_read_options(app, read_options, /*finds_field_maps=*/true);
}

BatchWork plan_work(const CLI::App& app, const std::string& recipe, const std::string& output, Ranks& ranks,
                    std::vector<BatchScan> scans) {
  BatchWork work;
  work.directory = output;
  work.command_line = command_line();
  const auto names = job_option_names();
  const auto common = given(app, names.of_scans);
  auto shared = given(app, names.of_batch);
  shared.erase("--threads");  // of the whole batch: shared out over the scans
  shared.erase("--verbose");
  shared.erase("--device");  // that of each worker
  const auto asked = app.get_option("--device")->as<std::string>(), own = ranks.choose_device(asked);
  work.device = own.empty() ? asked : own;
  work.gpus = ranks.gpus();
  work.cpu_stands_in = asked == "auto";
  const auto entries = recipe.empty() ? std::vector<RecipeEntry>{} : read_recipe(recipe, names);
  // Every line by itself first: its mistakes are its own.
  for (const auto& entry : entries) try {
      JobOptions{{entry.option + "=" + entry.value}};
    } catch (const Error& error) {
      throw Error(entry.where, "", error.what());
    }

  std::map<std::vector<std::string>, std::size_t> known;
  for (const auto& scan : scans) {
    BatchSettings settings;
    auto values = common;
    for (const auto& entry : entries)
      if (fits(entry.pattern, scan.path)) {
        values[entry.option] = {entry.value};
        settings.where += (settings.where.empty() ? "" : ", ") + entry.where;
      }
    for (const auto& [name, texts] : values)
      for (const auto& text : texts) settings.arguments.push_back(name + "=" + text);
    const auto [place, is_new] = known.emplace(settings.arguments, work.settings.size());
    work.settings_of.push_back(place->second);
    if (!is_new) continue;
    for (const auto& [name, texts] : values)
      settings.recorded.emplace(name, with_content(fmt::format("{}", fmt::join(texts, " "))));
    for (const auto& [name, texts] : shared)
      for (const auto& text : texts) settings.arguments.push_back(name + "=" + text);
    try {
      const JobOptions parsed(settings.arguments);
      validate(parsed.recon.settings());
    } catch (const Error& error) {
      throw Error(settings.where.empty() ? scan.path : scan.path + " with " + settings.where, "",
                  error.what());
    }
    work.settings.push_back(std::move(settings));
  }
  work.scans = std::move(scans);
  return work;
}

}  // namespace fhd::app
