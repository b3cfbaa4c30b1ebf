// fhd: parse, call, print. The only place that prints or exits.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

std::string typed;  // set once, before any command runs

std::string quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:%@") ==
          std::string::npos)
    return word;
  std::string result = "'";
  for (char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

const std::string& command_line() { return typed; }

}  // namespace fhd::app

int main(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) fhd::app::typed += (i > 0 ? " " : "") + fhd::app::quoted(argv[i]);

  CLI::App app{"fhd: exact reconstruction of non-Cartesian MRI scans"};
  app.set_version_flag("--version", fhd::program_version);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  struct Command {
    CLI::App* parser;
    fhd::app::Run run;
  };
  std::vector<Command> commands;
  const auto add = [&](const char* name, const char* what, fhd::app::Run (*add_options)(CLI::App&)) {
    CLI::App* parser = app.add_subcommand(name, what);
    commands.push_back({parser, add_options(*parser)});
  };
  add("recon", "reconstruct an image from a scan file", fhd::app::add_recon);
  add("compare", "reconstruct in several ways and tell their errors", fhd::app::add_compare);
  add("simulate", "make a scan of a phantom, with its true image", fhd::app::add_simulate);
  add("convert", "convert a scan between file formats", fhd::app::add_convert);
  add("info", "tell what a scan file holds", fhd::app::add_info);
  add("bench", "measure the speed and error of the transforms on this machine", fhd::app::add_bench);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    for (const auto& command : commands)
      if (command.parser->parsed()) return command.run();
  } catch (const fhd::Error& error) {
    std::fprintf(stderr, "fhd: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "fhd: out of memory; use a smaller matrix, fewer coils or --precision single\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fhd: unexpected failure: %s\n", error.what());
  }
  return 1;
}
