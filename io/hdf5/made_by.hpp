#pragma once
// The attribute of the root that states which program made a file.

namespace fhd::io {

inline constexpr auto made_by_attribute = "made_by";

}  // namespace fhd::io
