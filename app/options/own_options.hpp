#pragma once
// Adds options that one command alone has. They set its fields, and throw Error naming the option for another value.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "app/options/values.hpp"

namespace fhd::app {

/// Adds a whole number in [least, most]. The help shows a value before that is not 0. `names`: "--readouts,--spokes".
template <class T>
CLI::Option* add_whole(CLI::App& app, const std::string& names, T& field, const std::string& help,
                       std::int64_t least, std::int64_t most = no_largest) {
  const auto set = [=, &field, name = names.substr(0, names.find(','))](const std::string& text) {
    field = static_cast<T>(whole_of(name, text, least, most));
  };
  auto* const option = app.add_option_function<std::string>(names, set, help)->type_name("N");
  return field == T{} ? option : option->default_str(std::to_string(field));
}

/// Adds a number in [least, most]. The help shows a value before that is not 0.
inline CLI::Option* add_number(CLI::App& app, const std::string& name, double& field, const std::string& help,
                               double least, double most) {
  const auto set = [=, &field](const std::string& text) { field = number_of(name, text, least, most); };
  auto* const option = app.add_option_function<std::string>(name, set, help)->type_name("NUMBER");
  return field == 0 ? option : option->default_str(fmt::format("{:g}", field));
}

/// Adds one of some words. The help shows the value before.
inline CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& field,
                               const std::vector<std::string>& words, const std::string& help) {
  const auto set = [=, &field](const std::string& text) { field = words[place_of(name, text, words)]; };
  return app.add_option_function<std::string>(name, set, help)
      ->type_name(fmt::format("{{{}}}", fmt::join(words, ",")))
      ->default_str(field);
}

}  // namespace fhd::app
