#pragma once
// The table of options: an option is one row of it and one field of RunOptions. Command lines, help, manual pages,
// completion, recipes, configurations of sessions, Python's keywords, and what tells one series of images from another
// are made of it.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/run_options.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// The commands that take an option, as bits.
enum Scope : unsigned {
  in_recon = 1,
  in_batch = 2,  ///< and Python's fhd.recon
  in_plan = 4,
  in_compare = 8,
  in_fieldmap = 16,
  in_forward = 32,
  in_check = 64,
  in_info = 128,     ///< and `fhd convert`, and Python's fhd.read
  in_session = 256,  ///< a session of `fhd serve`
  in_serve = 512,    ///< and `fhd bench`
  in_process = 1024  ///< every command that reads files: the option holds for the process
};

/// An option changes the image; or only which files are written; or only where and how fast the work is done.
enum class Effect { image, files, machine };

struct OptionRow {
  std::string flag;   ///< "--lambda"
  std::string value;  ///< "NUMBER|auto", "{single,double}"; empty: the option is a flag
  std::string help;
  std::function<void(RunOptions&, const std::string&)>
      set;  ///< reads the value. Throws Error naming the flag
  std::function<std::string(const RunOptions&)> standard{};  ///< the value before; empty: none to show
  std::string group = "Options";                             ///< heading of the help
  unsigned commands = 0;
  Effect effect = Effect::image;
  bool in_recipes = true;            ///< false: it writes somewhere, and recipes may come from others
  std::vector<std::string> words{};  ///< of a list, for completion, where `value` does not have them

  /// Return the row with another property than its group has.
  OptionRow in(unsigned which) && { return commands = which, std::move(*this); }
  OptionRow with_words(std::vector<std::string> all) && { return words = std::move(all), std::move(*this); }
  OptionRow not_for_recipes() && { return in_recipes = false, std::move(*this); }
  OptionRow shows(std::function<std::string(const RunOptions&)> value_before) && {
    return standard = std::move(value_before), std::move(*this);
  }

  bool is_flag() const { return value.empty(); }
  bool takes_file() const { return value.find("FILE") != std::string::npos; }
};

const std::vector<OptionRow>& option_table();
/// Returns the row of an option that one of `commands` takes; null: there is none.
const OptionRow* find_option(const std::string& flag, unsigned commands);

/// Sets an option, by name. Throws Error.
void set_option(RunOptions& options, const OptionRow& row, const std::string& value);
/// Adds one option, or all of a command, to its parser. `options` must outlive the parse; its values are shown as
/// defaults.
void add_option(CLI::App& app, RunOptions& options, const OptionRow& row);
void add_options(CLI::App& app, RunOptions& options, Scope command);

/// Returns the value as it is recorded: of a file, or of a BART pair by its bare name, with its checksum.
std::string recorded_value(const OptionRow& row, const std::string& value);

}  // namespace fhd::app
