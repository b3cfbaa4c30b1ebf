#include "app/batch/work.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "app/batch/job.hpp"
#include "app/batch/recipe.hpp"
#include "app/commands.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// "--name=value" of every option that was given and is among `names`.
std::map<std::string, std::vector<std::string>> given(const CLI::App& app,
                                                      const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto* option : app.get_options())
    if (option->count() > 0 && names.count(option->get_name()))
      values[option->get_name()] = option->results();
  return values;
}

/// What a manifest tells of an option: a file also by its content.
std::string recorded(const std::string& value) {
  std::error_code status;
  return std::filesystem::is_regular_file(value, status) ? value + " sha256 " + io::sha256_of(value) : value;
}

}  // namespace

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
  if (const auto device = ranks.choose_device(app.get_option("--device")->as<std::string>()); !device.empty())
    shared["--device"] = {device};
  const auto entries = recipe.empty() ? std::vector<RecipeEntry>{} : read_recipe(recipe, names.of_scans);
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
      settings.recorded.emplace_back(name, recorded(fmt::format("{}", fmt::join(texts, " "))));
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
