// Options by name, and the settings that they make.
#include "app/options/table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr Scope scopes[] = {in_recon, in_batch, in_plan,    in_compare, in_fieldmap, in_forward,
                            in_check, in_info,  in_session, in_serve,   in_process};

RunOptions options_of(const std::map<std::string, std::string>& values) {
  RunOptions options;
  for (const auto& [flag, value] : values) set_option(options, *find_option(flag, in_recon), value);
  return options;
}

std::string error_of(const std::map<std::string, std::string>& values) {
  try {
    options_of(values).settings();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OptionTable, has_each_option_of_a_command_once) {
  for (const Scope scope : scopes) {
    std::set<std::string> flags;
    for (const auto& row : option_table())
      if ((row.commands & scope) != 0) {
        EXPECT_TRUE(flags.insert(row.flag).second) << scope << ": " << row.flag;
      }
    EXPECT_FALSE(flags.empty());
  }
}

TEST(OptionTable, shows_defaults_that_it_takes) {
  const RunOptions defaults;
  for (const auto& row : option_table()) {
    const auto shown = row.standard ? row.standard(defaults) : "";
    if (shown.empty()) continue;
    RunOptions options;
    set_option(options, row, shown);
    EXPECT_EQ(row.standard(options), shown) << row.flag;
  }
}

TEST(OptionTable, sets_the_fields_of_settings) {
  const auto settings = options_of({{"--method", "cg"},
                                    {"--precision", "double"},
                                    {"--coils", "joint"},
                                    {"--compress", "0.99"},
                                    {"--regularizer", "wavelet:0.01,identity:0.02"}})
                            .settings();
  EXPECT_EQ(settings.precision, Precision::double_precision);
  EXPECT_EQ(settings.coils.maps, CoilMaps::joint);
  EXPECT_EQ(std::get<KeptEnergy>(settings.coils.compression).share, 0.99);
  const auto& solved = *least_squares(settings);
  EXPECT_EQ(std::get<OfMeanEigenvalue>(solved.lambda).share, 0.02);
  EXPECT_EQ(solved.sparse.at(0).kind, SparseKind::wavelet);
  EXPECT_EQ(solved.iterations, sparse_iterations) << "unless it is given";
  EXPECT_EQ(solved.tolerance, sparse_tolerance);
  const auto adjoint = options_of({{"--method", "adjoint"}, {"--accuracy", "1e-3"}}).settings();
  EXPECT_EQ(std::get<PlainAdjoint>(adjoint.method).transform.accuracy, 1e-3);
}

TEST(OptionTable, refuses_values_in_one_line_that_names_the_option) {
  EXPECT_EQ(error_of({{"--method", "gridde"}}),
            "--method: expected cg, gridded, adjoint, fft, found 'gridde'; did you mean 'gridded'?");
  EXPECT_EQ(error_of({{"--iterations", "2.5"}}), "--iterations: expected a whole number from 1, found '2.5'");
  EXPECT_EQ(error_of({{"--tolerance", "little"}}), "--tolerance: expected a number, found 'little'");
  EXPECT_EQ(error_of({{"--lambda", ""}}), "--lambda: expected a value, found none; leave the option out");
  EXPECT_EQ(error_of({{"--phase", "maybe"}}), "--phase: expected false, true, found 'maybe'");
  EXPECT_EQ(error_of({{"--method", "fft"}, {"--lambda", "1"}}),
            "--lambda with --method fft: these options contradict each other; leave out --lambda");
}

TEST(OptionTable, knows_what_was_given) {
  auto options = options_of({{"--phase", "true"}, {"--lambda", "1e-3"}});
  EXPECT_TRUE(options.is_given("--phase"));
  set_option(options, *find_option("--phase", in_recon), "false");
  EXPECT_FALSE(options.phase);
  EXPECT_EQ(options.given, (std::map<std::string, std::string>{{"--lambda", "1e-3"}}));
}

}  // namespace
}  // namespace fhd::app
