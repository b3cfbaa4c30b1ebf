#pragma once
// Who made a file, as an attribute of its root.

namespace fhd::io {

inline constexpr auto made_by_attribute = "made_by";

}  // namespace fhd::io
