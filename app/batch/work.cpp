#include "app/batch/work.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <sstream>

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

/// One option of a recipe.
struct RecipeEntry {
  std::string pattern;  ///< empty: every scan
  std::string option;   ///< "--lambda"
  std::string value;    ///< "1e-3"; "true" or "false" of a flag
  std::string where;    ///< "recipe.toml:4"
};

constexpr const char* value_kinds = "text, a number, true, false, or a list of them";

std::string at_line(const std::string& path, std::size_t line) { return fmt::format("{}:{}", path, line); }

// --- TOML

std::string toml_value(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* list = node.as_array()) {
    std::string joined;
    for (const auto& element : *list) {
      if (element.is_array()) throw Error(where, value_kinds, "a list of lists");
      joined += (joined.empty() ? "" : ",") + toml_value(element, where);
    }
    return joined;
  }
  throw Error(where, value_kinds, "something else");
}

std::vector<RecipeEntry> read_toml(const std::string& text, const std::string& path) {
  struct Numbered {
    std::size_t line;
    RecipeEntry entry;
  };
  std::vector<Numbered> found;
  const auto add = [&](const std::string& pattern, const toml::key& key, const toml::node& node) {
    const std::size_t line = key.source().begin.line;
    const auto where = at_line(path, line);
    found.push_back({line, {pattern, "--" + std::string(key.str()), toml_value(node, where), where}});
  };
  try {
    const toml::table recipe = toml::parse(text, path);
    for (const auto& [key, node] : recipe) {
      const auto* table = node.as_table();
      if (!table) {
        add({}, key, node);
        continue;
      }
      for (const auto& [option, value] : *table) add(std::string(key.str()), option, value);
    }
  } catch (const toml::parse_error& error) {
    throw Error(at_line(path, error.source().begin.line), "TOML", std::string(error.description()));
  }
  // Tables come sorted by name; the order of the file decides.
  std::stable_sort(found.begin(), found.end(),
                   [](const Numbered& a, const Numbered& b) { return a.line < b.line; });
  std::vector<RecipeEntry> entries;
  for (auto& one : found) entries.push_back(std::move(one.entry));
  return entries;
}

// --- JSON

class JsonRecipe : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonRecipe(std::string path, const std::size_t& line) : path_(std::move(path)), line_(line) {}
  std::vector<RecipeEntry> entries;

  bool null() override { refuse("null"); }
  bool boolean(bool truth) override { return value(truth ? "true" : "false"); }
  bool number_integer(number_integer_t number) override { return value(std::to_string(number)); }
  bool number_unsigned(number_unsigned_t number) override { return value(std::to_string(number)); }
  bool number_float(number_float_t, const string_t& text) override { return value(text); }
  bool string(string_t& text) override { return value(text); }
  bool binary(binary_t&) override { refuse("binary data"); }
  bool start_object(std::size_t) override {
    if (++depth_ == 1) return true;
    if (depth_ > 2 || in_list_) refuse("an object");
    pattern_ = key_;
    return true;
  }
  bool end_object() override {
    --depth_;
    pattern_.clear();
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0 || in_list_) refuse("a list");
    in_list_ = true;
    list_.clear();
    list_where_ = where_;
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    entries.push_back({pattern_, "--" + key_, list_, list_where_});
    return true;
  }
  bool key(string_t& text) override {
    key_ = text;
    where_ = at_line(path_, line_);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    throw Error(at_line(path_, line_), "JSON", error.what());
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    throw Error(at_line(path_, line_), depth_ == 0 ? "an object" : value_kinds, what);
  }
  bool value(const std::string& text) {
    if (depth_ == 0) refuse("a single value");
    if (in_list_)
      list_ += (list_.empty() ? "" : ",") + text;
    else
      entries.push_back({pattern_, "--" + key_, text, where_});
    return true;
  }

  std::string path_;
  const std::size_t& line_;
  int depth_ = 0;
  bool in_list_ = false;
  std::string pattern_, key_, where_, list_, list_where_;
};

std::vector<RecipeEntry> read_json(const std::string& text, const std::string& path) {
  std::size_t line = 1;
  JsonRecipe recipe(path, line);
  const auto counted = std::views::transform(text, [&line](char c) {
    if (c == '\n') ++line;
    return c;
  });
  nlohmann::json::sax_parse(counted.begin(), counted.end(), &recipe);
  return std::move(recipe.entries);
}

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
  auto entries = path.ends_with(".json") ? read_json(text, path) : read_toml(text, path);
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

Settings JobOptions::settings() const {
  Settings settings = recon.settings();
  frames.take_part_in(settings);
  validate(settings);
  if (frames.asks()) validate_for_frames(settings);
  return settings;
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
  frames.add_to(app);
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
      static_cast<void>(parsed.settings());
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
