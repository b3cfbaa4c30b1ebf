#pragma once
// The library's one public header: scans, settings, images and reports, and the way from one to the other.
//
//   fhd::Scan scan = ...;                                                  // shapes, units: domain/scan.hpp
//   fhd::Reconstruction result = fhd::reconstruct(scan, fhd::Settings{});  // result.image, result.report
//
// Where it runs (threads, device, processes) is an Execution; caches and checks are Services. What is wrong
// with a scan or its settings is an Error that names the field. Nothing here prints, exits or changes the
// process.
#include "recon/array/array.hpp"
#include "recon/array/execution.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/context.hpp"
#include "recon/pipeline/frame_layout.hpp"
#include "recon/pipeline/reconstruct.hpp"
