#pragma once

namespace fhd::io::guard {

/// Of the host of this process, which is started where it is not; negative, with errno, where it cannot be.
int host_socket();

}  // namespace fhd::io::guard
