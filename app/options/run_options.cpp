#include "app/options/run_options.hpp"

#include <CLI/CLI.hpp>

#include "app/commands/commands.hpp"
#include "app/options/command_parser.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/noise_map.hpp"

namespace fhd::app {

RunOptions::RunOptions(const std::vector<std::string>& arguments)
    : parser_(std::make_shared<CLI::App>("options of fhd recon")) {
  add_to(*parser_);
  try {
    parse_words(*parser_, arguments);
  } catch (const CLI::ParseError& error) {
    throw UsageError(Error(error.what(), "", "", "see 'fhd batch --help'"));
  }
}

Settings RunOptions::settings() const {
  Settings settings = recon.settings();
  frames.take_part_in(settings);
  validate(settings);
  if (const auto request = noise_map.request()) require_noise_maps_can(*request, settings);
  if (frames.asks()) {
    validate_for_frames(settings);
    noise_map.require_no_frames();
  }
  return settings;
}

void RunOptions::add_to(CLI::App& app) {
  selection.add_to(app);
  app.add_flag("--strict", strict, "a scan whose image or input is suspicious fails, without results");
  app.add_flag("--no-gridded-image", no_gridded_image,
               "leave out the gridded image that NAME.h5 holds beside the other, as /gridded");
  app.add_flag("--phase", phase, "also write NAME_phase.nii.gz, the phase in rad");
  app.add_flag("--dicom", dicom, "also write NAME_dicom/, the magnitudes as a DICOM series");
  app.add_flag("--ismrmrd-images", ismrmrd_images,
               "also write NAME_images.h5, the magnitudes as ISMRMRD images");
  add_compression_option(app, compression);
  recon.set_default_cache("auto");
  device.add_to(app);
  frames.add_to(app);
  recon.add_to(app);
  noise_map.add_to(app);
  add_read_options(app, read_options, /*finds_field_maps=*/true);
}

}  // namespace fhd::app
