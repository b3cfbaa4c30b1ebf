#include "app/frame_options.hpp"

#include <CLI/CLI.hpp>

#include "app/number_option.hpp"
#include "recon/error.hpp"

namespace fhd::app {

void FrameOptions::add_to(CLI::App& app) {
  const auto number = [&](const char* flag, std::int64_t& value, std::int64_t least, const char* help) {
    app.add_option(flag, value, help)->type_name("N")->check(whole_number(least))->group("Frames");
  };
  number("--frames", choice_.frames, 2,
         "of a continuous acquisition: its readouts, in their order, in so many frames of equal length, solved "
         "together; --regularizer temporal-tv, llr");
  number("--spokes-per-frame", choice_.readouts_per_frame, 1, "or so many readouts to a frame");
  number("--sliding", choice_.step, 1,
         "with --spokes-per-frame: readouts by which a frame moves on [those of a frame]");
}

const FrameChoice& FrameOptions::choice() const {
  if (choice_.frames > 0 && choice_.readouts_per_frame > 0)
    throw Error("--frames with --spokes-per-frame", "", "these options contradict each other",
                "leave out --frames");
  if (choice_.step > 0 && choice_.readouts_per_frame == 0)
    throw Error("--sliding", "--spokes-per-frame beside it", "none");
  return choice_;
}

}  // namespace fhd::app
