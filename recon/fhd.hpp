#pragma once
// The library's one public header: scans, settings, images, reports, and the way from one to the other.
//
//   fhd::Scan scan = ...;                                       // domain/scan.hpp says shapes and units
//   const fhd::Reconstruction made = fhd::reconstruct(scan);  // made.image, made.report
//
// What is wrong with a scan or its settings is one fhd::Error; nothing prints, exits or changes the process.
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/reconstruct.hpp"
