#include "app/server/configuration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>

#include "app/options/command_parser.hpp"
#include "app/options/own_options.hpp"
#include "app/options/recipe_text.hpp"
#include "app/options/table.hpp"
#include "io/files/input_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr auto configuration_subject = "configuration";
constexpr const char* names_without_options[] = {"default", "fhd", "default.xml"};
constexpr std::size_t longest_file = 1 << 16;

/// Returns whether a name cannot lead out of the folder.
bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

/// Adds the options that `fhd recon` does not have.
void add_own_options(CLI::App& app, SessionOptions& options) {
  add_whole(app, "--spokes-per-frame", options.spokes_per_frame, "every N readouts of a slice are an image",
            1);
  add_choice(app, "--image", options.image, {"magnitude", "complex"}, "");
  add_choice(app, "--maps-of", options.maps_of, {"first", "each"},
             "sensitivity maps: of the first image of a slice, or found in each");
  add_choice(app, "--send", options.send, {"auto", "at-close"},
             "images as soon as they are whole, or all at the end, as of a file");
}

/// Parses "--name=value" or "--flag" each. `may_name_files`: options may name files of this machine. Throws Error.
SessionOptions parsed_options(const std::vector<std::string>& arguments, bool may_name_files) {
  SessionOptions options;
  CLI::App parser(configuration_subject);
  parser.set_help_flag();
  add_own_options(parser, options);
  add_options(parser, options.run, in_session);
  try {
    parse_words(parser, arguments);
  } catch (const std::runtime_error& error) {  // CLI::ParseError, or Error
    throw Error(configuration_subject, "", error.what(),
                "options are those of 'fhd recon' and 'fhd serve --help'");
  }
  for (const auto& [flag, value] : options.run.given)
    if (find_option(flag, in_session)->takes_file() && !may_name_files)
      throw Error(configuration_subject, "options that name no file of the server", flag,
                  "put it into a configuration in the folder of --configs, and send its name");
  if (options.spokes_per_frame > 0 && options.waits_for_close())
    throw Error(configuration_subject, "", "--spokes-per-frame and --send at-close contradict each other",
                "leave one of them out");
  options.settings = options.run.image_settings();
  validate(options.settings);
  options.run.read_options.precision = options.settings.precision;
  return options;
}

/// Parses TOML, or JSON, that `name` calls in errors.
SessionOptions options_of_entries(const std::string& text, bool is_json, const std::string& name,
                                  bool may_name_files) {
  std::vector<std::string> arguments;
  for (const auto& entry : is_json ? entries_of_json(text, name) : entries_of_toml(text, name)) {
    if (!entry.pattern.empty())
      throw Error(entry.where, "options of one scan", "a table '" + entry.pattern + "'");
    arguments.push_back(entry.option + "=" + entry.value);
  }
  return parsed_options(arguments, may_name_files);
}

}  // namespace

SessionOptions options_of_text(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return parsed_options({}, false);
  if (text[first] == '<')
    throw Error(configuration_subject, "options, TOML or JSON", "XML, which is of another server");
  if (text[first] == '-') return parsed_options(CLI::detail::split_up(text), false);
  return options_of_entries(text, text[first] == '{', configuration_subject, false);
}

SessionOptions options_of_name(const std::string& name, const std::string& folder) {
  if (name.empty() || std::find(std::begin(names_without_options), std::end(names_without_options), name) !=
                          std::end(names_without_options))
    return parsed_options({}, false);
  const std::string known = fmt::format("{}{}", fmt::join(names_without_options, ", "),
                                        folder.empty() ? "" : ", or the name of a file in " + folder);
  if (!is_plain_file_name(name)) throw Error("configuration name", known, "'" + name + "'");
  std::error_code unknown;
  for (const char* ending : {"", ".toml", ".json"}) {
    const auto path = std::filesystem::path(folder) / (name + ending);
    if (folder.empty() || !std::filesystem::is_regular_file(path, unknown)) continue;
    const auto text = io::content_of_file(path.string(), longest_file, "a configuration");
    return options_of_entries(text, path.extension() == ".json", path.filename().string(), true);
  }
  throw Error("configuration name", known, "'" + name + "'",
              folder.empty() ? "start the server with --configs DIR, or send the options as text" : "");
}

std::string session_options_help() {
  CLI::App app;
  app.set_help_flag();
  SessionOptions options;
  add_own_options(app, options);
  const CLI::App& own = app;
  return CLI::Formatter().make_group(
      "A session's configuration (text, or NAME.toml, NAME.json in --configs DIR) has the options of 'fhd "
      "recon' "
      "that say how to reconstruct and how to read (--lambda 1e-3, --matrix 128, ...; files only in DIR), "
      "and",
      false, own.get_options());
}

}  // namespace fhd::app
