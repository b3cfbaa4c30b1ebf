// The texts of the manual page of each command: what it does, and examples.
#include "app/options/command_table.hpp"

namespace fhd::app {

namespace {

const std::vector<CommandText> table_of_texts{
    {"",
     "fhd makes images of non-Cartesian MRI scans. It sums every pair of voxel and sample where that is "
     "affordable, checks each image against sums in double precision, and says whether the image explains "
     "the samples.",
     {{"fhd simulate -o radial", "make a scan of a phantom, radial.h5"},
      {"fhd recon radial.h5", "make its image: radial_recon.h5, .nii.gz, .png and .json"},
      {"fhd help recon", "print the options of a command"}}},
    {"recon",
     "Reads a scan, finds sensitivity maps where it has none, and solves for the image by least squares. "
     "Writes the complex image with its report (OUT.h5), the magnitude for viewers (OUT.nii.gz), a picture "
     "(OUT.png) and the report (OUT.json): all of them or none. A line for each image tells its error and "
     "whether it explains the samples.",
     {{"fhd recon scan.h5", "the image with default settings"},
      {"fhd recon scan.h5 -o results/brain --device cpu", "under another name, on the processor"},
      {"fhd recon scan.h5 --regularizer wavelet:0.01", "of few samples: with a sparse term"},
      {"fhd recon scan.h5 --spokes-per-frame 13 --regularizer temporal-tv", "a film of a moving object"}}},
    {"batch",
     "Reconstructs many scans with the options of fhd recon, several at a time, into one folder. A second "
     "run does only what is missing or changed. Writes a summary (summary.csv, summary.json), a page "
     "(index.html) and a log (batch.log).",
     {{"fhd batch scans -o results", "all scans of a folder"},
      {"fhd batch 'scans/*.h5' -o results --recipe recipe.toml", "with options of their own for some"},
      {"fhd batch scans -o results --list", "print what is left to do"},
      {"fhd batch scans -o results --shard 1/4", "the first of four parts, for a cluster"}}},
    {"serve",
     "Listens for sessions of the MRD protocol, as scanners send acquisitions, and sends images back as "
     "soon as their data are complete. Ends on Ctrl-C when the sessions at work are done.",
     {{"fhd serve", "listen on this machine alone"},
      {"fhd serve --port 9002 --device cuda:0", "on another port, with one GPU"}}},
    {"compare",
     "Reconstructs a scan in several ways, exact and gridded, in single and double precision, and on a GPU "
     "where there is one. Prints their errors and times in a table, and writes OUT.png and OUT.json.",
     {{"fhd compare scan.h5", "against the exact sums in double precision"},
      {"fhd compare scan.h5 --truth true.h5 -o compared", "also against a true image"}}},
    {"simulate",
     "Computes the samples of a phantom in closed form, with noise, along a trajectory, and writes an "
     "ISMRMRD scan and the image that it should show. Undersampling counts readouts, lines or turns "
     "against "
     "what Nyquist asks for at the edge of k-space.",
     {{"fhd simulate -o radial", "a radial scan of 128 x 128 voxels and 8 coils"},
      {"fhd simulate -o spiral --trajectory spiral --undersampling 2 --snr 20",
       "half of the turns, and noise"},
      {"fhd simulate -o chest --readouts 780 --dynamic 13", "a chest that moves"}}},
    {"convert",
     "Writes a scan in another format, with every value as it is, and says what the other format cannot "
     "hold.",
     {{"fhd convert meas.dat scan.mrd", "Siemens raw data to ISMRMRD"},
      {"fhd convert scan.h5 scan.cfl", "for BART"},
      {"fhd convert scan.h5 public.h5 --anonymous", "without what may identify a patient"}}},
    {"forward",
     "Computes the samples that an image gives along the trajectory of a scan, with its sensitivity maps "
     "and "
     "field map, by exact sums, and writes them as a scan.",
     {{"fhd forward image.h5 scan.h5 -o samples", "write samples.h5 in double precision"}}},
    {"fieldmap",
     "Finds off-resonance from the phase of the images of several echoes, and writes a map in rad/s for "
     "fhd recon --field-map.",
     {{"fhd fieldmap echoes.h5 -o map", "of the contrasts of one scan"},
      {"fhd fieldmap first.h5 second.h5 --echo-times 2.3,4.6 -o map",
       "of two scans, with their echo times"}}},
    {"plan",
     "Predicts time and memory of a reconstruction without making it: on the processor and on every GPU. "
     "Measures the machine in a quarter of a second, with what other programs leave of it now. Times are "
     "right "
     "within a factor of two as long as that stays so.",
     {{"fhd plan scan.h5", "with default settings"},
      {"fhd plan scan.h5 --regularizer tv:0.01 --json", "with those of a run, for other programs"}}},
    {"report",
     "Makes one page for a browser, which needs no other file: the images, their errors, how they were "
     "made "
     "and what is suspicious. Several results are shown side by side.",
     {{"fhd report brain_recon.h5", "write brain_recon.html"},
      {"fhd report first.h5 second.h5 -o both.html", "two results side by side"},
      {"fhd report results", "the pages of a batch"}}},
    {"info",
     "Prints what scans and Pulseq sequences hold, what was inferred from what, and what is missing.",
     {{"fhd info scan.h5", "the facts of a scan"}, {"fhd info scans --json", "of all scans of a folder"}}},
    {"check",
     "Reads every value of scans and says what is suspicious, and what to do: wrong units, gaps, spikes, "
     "gradients that play late, maps of another scan. Undersampling counts the cells of k-space, 1 "
     "cycle/FOV "
     "wide, that have a sample.",
     {{"fhd check scan.h5", "one scan"}, {"fhd check scans --strict", "a folder; warnings fail, too"}}},
    {"bench",
     "Measures the transforms of this machine: their speed, the bounds of the hardware, and their error "
     "against sums in double precision.",
     {{"fhd bench cpu --quick", "the transforms on the processor"},
      {"fhd bench chain", "whole runs, and where their time goes"}}}};

}  // namespace

const std::vector<CommandText>& command_texts() { return table_of_texts; }

}  // namespace fhd::app
