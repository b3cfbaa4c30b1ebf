// What the library says of the fields of its arguments, in the words of the command line.
#include "app/options/option_names.hpp"

#include <gtest/gtest.h>

#include "recon/domain/report.hpp"
#include "validation/tests/program.hpp"

namespace fhd::app {
namespace {

TEST(OptionNames, lines_of_the_library_read_as_a_user_typed_them) {
  const std::pair<const char*, const char*> lines[] = {
      {"settings.lambda: expected a number >= 0, relative to the largest eigenvalue of F^H F, found -1",
       "--lambda: expected a number >= 0, relative to the largest eigenvalue of F^H F, found -1"},
      {"settings.coils.maps = file: expected a scan with sensitivity maps, found none; put them into the "
       "file as "
       "/sensitivity_maps, or use settings.coils.maps = espirit",
       "--coils file: expected a scan with sensitivity maps, found none; put them into the file as "
       "/sensitivity_maps, or use --coils espirit"},
      {"use settings.precision = double, or a larger settings.lambda",
       "use --precision double, or a larger --lambda"},
      {"execution.device = cuda:3: expected cuda:0, the only device of this machine, found 3",
       "--device cuda:3: expected cuda:0, the only device of this machine, found 3"},
      {"use execution.device = cpu, or execution.device = auto to fall back to it",
       "use --device cpu, or --device auto to fall back to it"},
      {"settings.method = fft: expected a Cartesian scan; use settings.method = cg or gridded",
       "--method fft: expected a Cartesian scan; use --method cg or gridded"},
      {"give it with scan.geometry.matrix_size = X,Y,Z", "give it with --matrix X,Y,Z"},
      {"give it with scan.geometry.fov_mm = X,Y,Z", "give it with --fov-mm X,Y,Z"},
      {"give the true scan.geometry.matrix_size, or the true scan.trajectory.unit",
       "give the true --matrix, or the true --trajectory-unit"},
      {"(fhd info; scan.geometry.fov_mm)", "(fhd info; --fov-mm)"},
      {"settings.prior_strength: expected a number above 0, found 0",
       "--prior-strength: expected a number above 0, found 0"},
      {"settings.coils.count: expected at most the 8 coils of the scan, found 12",
       "--compress: expected at most the 8 coils of the scan, found 12"},
      {"see it with settings.coils.allow_folding", "see it with --allow-folding"},
      {"Leave out settings.coils.maps.", "Leave out --coils."},
      {"settings.lambda = auto: there is no noise to go by", "--lambda auto: there is no noise to go by"}};
  for (const auto& [library, user] : lines) EXPECT_EQ(in_words_of_options(library), user);
}

TEST(OptionNames, names_of_files_stay) {
  for (const char* line :
       {"settings.lambda.h5: expected a scan, found no such file", "data/settings.lambda: no",
        "settings.lambda/scan.h5", "my_settings.lambda", "", "..", "a  b"})
    EXPECT_EQ(in_words_of_options(line), line);
}

TEST(OptionNames, reports_are_said_in_them_too) {
  Report report;
  report.settings = {{"transform", "gridded, above what settings.transform = auto sums directly"}};
  report.notes = {"settings.lambda = auto: there is no noise"};
  say_in_words_of_options(report);
  EXPECT_EQ(report.settings.front().second, "gridded, above what --transform auto sums directly");
  EXPECT_EQ(report.notes.front(), "--lambda auto: there is no noise");
}

using OptionNamesOfTheProgram = tests::ProgramTest;

TEST_F(OptionNamesOfTheProgram, are_options_of_recon) {
  ASSERT_EQ(run("recon --help"), 0);
  const auto help = text("out");
  for (const auto& [field, option] : options_of_fields())
    EXPECT_NE(help.find("  " + std::string(option) + " "), std::string::npos) << field;
}

}  // namespace
}  // namespace fhd::app
