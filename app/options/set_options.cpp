// Options by name: on the command line, and wherever else a name and a text are given.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "app/options/table.hpp"
#include "io/scan/checksum.hpp"
#include "recon/error.hpp"

namespace fhd::app {

const OptionRow* find_option(const std::string& flag, unsigned commands) {
  const auto& table = option_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const OptionRow& row) {
    return row.flag == flag && (row.commands & commands) != 0;
  });
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> option_names(unsigned commands) {
  std::vector<std::string> names;
  for (const auto& row : option_table())
    if ((row.commands & commands) != 0) names.push_back(row.flag.substr(2));
  return names;
}

void set_option(RunOptions& options, const OptionRow& row, const std::string& value) {
  if (value.empty()) throw Error(row.flag, "a value", "none", "leave the option out");
  row.set(options, value);
  if (row.is_flag() && value == "false")
    options.given.erase(row.flag);
  else
    options.given[row.flag] = value;
}

void add_option(CLI::App& app, RunOptions& options, const OptionRow& row) {
  const auto set = [&options, &row](const std::string& value) {
    try {
      set_option(options, row, value);
    } catch (const Error& error) {  // CLI11 makes it a usage error
      throw CLI::ValidationError(error.what());
    }
  };
  auto* const option =
      row.is_flag() ? app.add_flag_callback(
                          row.flag, [set] { set("true"); }, row.help)
                    : app.add_option_function<std::string>(row.flag, set, row.help)->type_name(row.value);
  option->group(row.group);
  if (row.standard) option->default_str(row.standard(options));
}

void add_options(CLI::App& app, RunOptions& options, Scope command) {
  for (const auto& row : option_table())
    if ((row.commands & command) != 0) add_option(app, options, row);
}

std::string recorded_value(const OptionRow& row, const std::string& value) {
  if (!row.takes_file()) return value;
  std::error_code status;
  const bool is_file = std::filesystem::is_regular_file(value, status) ||
                       std::filesystem::is_regular_file(value + ".cfl", status);
  return is_file ? value + " " + io::checksum_of(value) : value;
}

}  // namespace fhd::app
