#include "app/server/configuration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>

#include "app/options/own_options.hpp"
#include "app/options/command_parser.hpp"
#include "app/options/recipe_text.hpp"
#include "app/options/table.hpp"
#include "io/files/input_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr auto configuration_subject = "configuration";
constexpr const char* names_without_options[] = {"default", "fhd", "default.xml"};
constexpr std::size_t longest_file = 1 << 16;

/// Returns the entries of a recipe without patterns as "--name=value".
std::vector<std::string> arguments_of(const std::vector<RecipeEntry>& entries) {
  std::vector<std::string> arguments;
  for (const auto& entry : entries) {
    if (!entry.pattern.empty())
      throw Error(entry.where, "options of one scan", "a table '" + entry.pattern + "'");
    arguments.push_back(entry.option + "=" + entry.value);
  }
  return arguments;
}

/// Returns whether a name cannot lead out of the folder.
bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

}  // namespace

void SessionOptions::add_own_to(CLI::App& app) {
  add_whole(app, "--spokes-per-frame", spokes_per_frame_, "every N readouts of a slice are an image", 1);
  add_choice(app, "--image", image_, {"magnitude", "complex"}, "");
  add_choice(app, "--maps-of", maps_of_, {"first", "each"},
             "sensitivity maps: of the first image of a slice, or found in each");
  add_choice(app, "--send", send_, {"auto", "at-close"},
             "images as soon as they are whole, or all at the end, as of a file");
}

SessionOptions::SessionOptions(const std::vector<std::string>& arguments, bool may_name_files) {
  CLI::App parser(configuration_subject);
  parser.set_help_flag();
  add_own_to(parser);
  add_options(parser, options_, in_session);
  try {
    parse_words(parser, arguments);
  } catch (const std::runtime_error& error) {  // CLI::ParseError, or Error
    throw Error(configuration_subject, "", error.what(),
                "options are those of 'fhd recon' and 'fhd serve --help'");
  }
  for (const auto& [flag, value] : options_.given)
    if (find_option(flag, in_session)->takes_file() && !may_name_files)
      throw Error(configuration_subject, "options that name no file of the server", flag,
                  "put it into a configuration in the folder of --configs, and send its name");
  if (spokes_per_frame_ > 0 && waits_for_close())
    throw Error(configuration_subject, "", "--spokes-per-frame and --send at-close contradict each other",
                "leave one of them out");
  settings_ = options_.image_settings();
  validate(settings_);
  options_.read_options.precision = settings_.precision;
}

SessionOptions options_of_text(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return SessionOptions({}, false);
  if (text[first] == '<')
    throw Error(configuration_subject, "options, TOML or JSON", "XML, which is of another server");
  if (text[first] == '-') return SessionOptions(CLI::detail::split_up(text), false);
  const auto entries = text[first] == '{' ? entries_of_json(text, configuration_subject)
                                          : entries_of_toml(text, configuration_subject);
  return SessionOptions(arguments_of(entries), false);
}

SessionOptions options_of_name(const std::string& name, const std::string& folder) {
  if (name.empty() || std::find(std::begin(names_without_options), std::end(names_without_options), name) !=
                          std::end(names_without_options))
    return SessionOptions({}, false);
  const std::string known = fmt::format("{}{}", fmt::join(names_without_options, ", "),
                                        folder.empty() ? "" : ", or the name of a file in " + folder);
  if (!is_plain_file_name(name)) throw Error("configuration name", known, "'" + name + "'");
  std::error_code unknown;
  for (const char* ending : {"", ".toml", ".json"}) {
    const auto path = std::filesystem::path(folder) / (name + ending);
    if (folder.empty() || !std::filesystem::is_regular_file(path, unknown)) continue;
    const auto text = io::content_of_file(path.string(), longest_file, "a configuration");
    return SessionOptions(
        arguments_of(path.extension() == ".json" ? entries_of_json(text, path.filename().string())
                                                 : entries_of_toml(text, path.filename().string())),
        true);
  }
  throw Error("configuration name", known, "'" + name + "'",
              folder.empty() ? "start the server with --configs DIR, or send the options as text" : "");
}

std::string session_options_help() {
  CLI::App own;
  own.set_help_flag();
  SessionOptions options;
  options.add_own_to(own);
  std::string help =
      "A session's configuration (text, or NAME.toml, NAME.json in --configs DIR) has the options of 'fhd "
      "recon' that "
      "say how to reconstruct and how to read (--lambda 1e-3, --matrix 128, ...; files only in DIR), and";
  for (const auto* option : own.get_options()) {
    const auto standard = option->get_default_str();
    const auto what = option->get_description() + (standard.empty() ? "" : " [" + standard + "]");
    help += fmt::format("\n  {:<27} {}", option->get_name() + " " + option->get_type_name(),
                        what.substr(what.find_first_not_of(' ')));
  }
  return help;
}

}  // namespace fhd::app
