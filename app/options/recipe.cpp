#include "app/options/recipe.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/batch/scans.hpp"
#include "app/options/nearest_word.hpp"
#include "app/options/toml_text.hpp"
#include "io/files/input_file.hpp"
#include "io/files/json_text.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr const char* value_kinds = "text, a number, true, false, or a list of them";

std::string at_line(const std::string& path, std::size_t line) { return fmt::format("{}:{}", path, line); }

/// An option as the command line has it, whatever key stands for it.
RecipeEntry entry_of(const std::string& pattern, std::string key, const std::string& value,
                     const std::string& where) {
  std::replace(key.begin(), key.end(), '_', '-');
  if (value.find('\0') != std::string::npos) throw Error(where, "a value without a NUL character", "one");
  return {pattern, "--" + key, value, where};
}

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

}  // namespace

std::vector<RecipeEntry> entries_of_toml(const std::string& text, const std::string& path) {
  struct Numbered {
    std::size_t line;
    RecipeEntry entry;
  };
  std::vector<Numbered> found;
  const auto add = [&](const std::string& pattern, const toml::key& key, const toml::node& node) {
    const std::size_t line = key.source().begin.line;
    const auto where = at_line(path, line);
    found.push_back({line, entry_of(pattern, std::string(key.str()), toml_value(node, where), where)});
  };
  if (const auto line = line_nesting_deeper_than(io::deepest_json, text))
    throw Error(at_line(path, line), fmt::format("keys, tables and lists at most {} deep", io::deepest_json),
                "more inside each other");
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

namespace {

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
    entries.push_back(entry_of(pattern_, key_, list_, list_where_));
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
      entries.push_back(entry_of(pattern_, key_, text, where_));
    return true;
  }

  std::string path_;
  const std::size_t& line_;
  int depth_ = 0;
  bool in_list_ = false;
  std::string pattern_, key_, where_, list_, list_where_;
};

/// Goes through a text and counts its lines.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  CountingIterator(const char* at, std::size_t& line) : at_(at), line_(&line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  CountingIterator operator++(int) {
    const auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* line_;
};

}  // namespace

std::vector<RecipeEntry> entries_of_json(const std::string& text, const std::string& path) {
  std::size_t line = 1;
  JsonRecipe recipe(path, line);
  nlohmann::json::sax_parse(CountingIterator(text.data(), line),
                            CountingIterator(text.data() + text.size(), line), &recipe);
  return std::move(recipe.entries);
}

namespace {

/// What a recipe may give: how to read and to reconstruct a scan, files that are read, and on what. It comes from others like a
/// scan, so it names no place where something is written, replaces nothing, and takes no protection away.
constexpr std::string_view options_of_recipes[] = {
    // which images, and what is written of them beside each other
    "--slices", "--repetitions", "--slice", "--repetition", "--strict", "--phase", "--no-gridded-image",
    "--noise-map", "--compression",
    // reading
    "--matrix", "--fov-mm", "--trajectory-unit", "--zeros", "--group", "--trajectory", "--maps", "--noise",
    "--field-map", "--field-map-unit", "--truth",
    // frames
    "--frames", "--spokes-per-frame", "--sliding", "--gate", "--basis",
    // reconstruction
    "--method", "--transform", "--normal", "--preconditioner", "--regularizer", "--prior", "--prior-strength",
    "--lambda", "--iterations", "--tolerance", "--accuracy", "--precision", "--gpu-sums", "--coils",
    "--map-sets", "--whiten", "--compress", "--allow-folding", "--partial-fourier", "--surroundings",
    "--trajectory-correction", "--girf",
    // devices; of a batch they are those of all scans
    "--device", "--device-memory", "--threads"};

/// Beside the results where they are flags, of a batch; at a place that they name where they are not.
constexpr std::string_view series_formats[] = {"--dicom", "--ismrmrd-images"};

template <std::size_t n>
bool is_among(const std::string_view (&names)[n], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Whether any command that takes recipes has the option, as its own or as one that is passed over here.
bool is_known_elsewhere(const CLI::App& app, const std::string& option) {
  for (const auto* command : app.get_parent()->get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_option_no_throw("--recipe") && command->get_option_no_throw(option)) return true;
  return false;
}

/// Of a key that no recipe of this command may have.
[[noreturn]] void refuse(const RecipeEntry& entry, const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    if (is_for_recipes(*option) && !option->get_group().empty())
      names.push_back(option->get_name().substr(2));
  const auto name = entry.option.substr(2), hint = did_you_mean(name, names);
  throw UsageError(Error(entry.where, "an option of 'fhd " + app.get_name() + "'", "'" + name + "'",
                         is_known_elsewhere(app, entry.option) ? not_of_recipes
                         : hint.empty()                        ? "see 'fhd " + app.get_name() + " --help'"
                                                               : hint));
}

}  // namespace

bool is_for_recipes(const CLI::Option& option) {
  const auto name = option.get_name();
  return is_among(options_of_recipes, name) ||
         (is_among(series_formats, name) && option.get_items_expected_max() == 0);
}

std::vector<RecipeEntry> read_recipe(const std::string& path) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 20;  // of many thousand scans
  const auto text = io::content_of_file(path, longest, "a TOML or JSON file");
  return path.ends_with(".json") ? entries_of_json(text, path) : entries_of_toml(text, path);
}

bool fits_recipe(const std::string& pattern, const std::string& scan) {
  const auto file = std::filesystem::path(absolute_path(scan)).filename().string();
  const auto match = [&](const std::string& text) { return fnmatch(pattern.c_str(), text.c_str(), 0) == 0; };
  if (pattern.empty()) return true;
  return pattern.find('/') == std::string::npos ? match(file) || match(plain_name(scan)) : match(scan);
}

std::map<std::string, RecipeEntry> recipe_of(const CLI::App& app, const std::string& path,
                                             const std::string& scan) {
  std::map<std::string, RecipeEntry> chosen;
  for (auto& entry : read_recipe(path)) {
    const auto* const option = app.get_option_no_throw(entry.option);
    const bool is_own = option != nullptr && is_for_recipes(*option);
    const bool may_be_of_others =
        is_among(options_of_recipes, entry.option) || is_among(series_formats, entry.option);
    const bool is_of_others = option == nullptr && may_be_of_others && is_known_elsewhere(app, entry.option);
    if (!is_own && !is_of_others) refuse(entry, app);
    if (!is_own || option->count() > 0 || !fits_recipe(entry.pattern, scan)) continue;
    chosen[option->get_name()] = std::move(entry);
  }
  return chosen;
}

void give(CLI::Option& option, const RecipeEntry& entry) {
  if (option.get_type_size() == 0 && entry.value == "false") return;  // a flag that is not given
  try {
    option.add_result(entry.value);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    throw UsageError(Error(entry.where, "", error.what()));
  } catch (const Error& error) {
    throw UsageError(Error(entry.where, "", error.what()));
  }
}

void apply_recipe(CLI::App& app, const std::string& path, const std::string& scan) {
  for (const auto& [name, entry] : recipe_of(app, path, scan)) give(*app.get_option(name), entry);
}

std::shared_ptr<std::string> add_recipe_option(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  app.add_option(
         "--recipe", *path,
         "TOML or JSON file with options, as of 'fhd batch'; those on the command line go before them")
      ->type_name("FILE");
  return path;
}

Run with_recipe(CLI::App& app, Run run) {
  const auto path = add_recipe_option(app);
  return [&app, path, run] {
    if (!path->empty()) apply_recipe(app, *path, app.get_option("SCAN")->as<std::string>());
    return run();
  };
}

}  // namespace fhd::app
