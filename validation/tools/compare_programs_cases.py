"""The scans and the command lines of compare_programs. % stands for the folder of the scans; in the tables of
options ; parts the cases."""
import os

SCANS = {  # name: options of fhd simulate
    "spiral": "--trajectory spiral --matrix 31,33 --coils 4 --prior-image",
    "radial": "--trajectory golden-radial --matrix 32 --coils 3 --no-maps",
    "lines": "--trajectory radial --matrix 24,21 --coils 1 --snr none",
    "density":
        "--trajectory variable-density-spiral --matrix 30 --coils 8 --undersampling 2 --phantom resolution",
    "stars": "--trajectory stack-of-stars --matrix 20,22,9 --coils 3",
    "spirals": "--trajectory stack-of-spirals --matrix 16,18,8 --coils 4 --no-maps",
    "radial_3d": "--trajectory radial-3d --matrix 15 --coils 2 --undersampling 3 --phantom resolution",
    "phyllotaxis": "--trajectory phyllotaxis-3d --matrix 14,16,11 --coils 2 --prior-image",
    "cartesian": "--trajectory cartesian --dimensions 2 --matrix 32,30 --coils 3",
    "cartesian_bare": "--trajectory cartesian --dimensions 2 --matrix 27,30 --coils 4 --no-maps",
    "cartesian_3d": "--trajectory cartesian --dimensions 3 --matrix 12,14,9 --coils 2",
    "many": "--trajectory golden-radial --matrix 24 --coils 16 --undersampling 2",
    "many_bare": "--trajectory spiral --matrix 24 --coils 14 --no-maps",
}
# Made from these by compare_programs: noise.h5 (noise readouts), field.h5 and field_3d.h5 (field maps),
# series.h5 (2 repetitions of 2 slices), bart.cfl, impatient/, and what is no scan or a damaged one.

EVERY_WAY = ("; --normal explicit; --transform direct; --transform gridded; "
             "--transform gridded --normal explicit; --regularizer roughness --lambda 0.01; "
             "--transform gridded --regularizer roughness; --method gridded; --method adjoint; "
             "--method adjoint --transform gridded")
PRODUCTS = [  # scans, options: every pair of them, each in single and in double precision
    ("spiral stars field", EVERY_WAY),
    ("lines density phyllotaxis radial_3d series field_3d",
     "; --transform gridded; --method gridded; --method adjoint"),
    ("cartesian cartesian_bare cartesian_3d", "--method fft; ; --method gridded"),
    ("radial spirals many_bare", "; --coils adaptive; --coils none"),
]
SINGLES = {  # scan: options of further cases
    "spiral.h5":
        "--lambda 0; --lambda 1e-3; --lambda auto; --lambda auto --regularizer roughness; "
        "--lambda auto --transform gridded; --prior %spiral.prior.nii.gz; "
        "--prior %spiral.prior.nii.gz --prior-strength 3 --lambda 0.02; "
        "--prior %spiral.prior.nii.gz --lambda auto; --coils file; --coils espirit; "
        "--coils espirit --precision double; --coils adaptive; --coils none; --whiten edge; --whiten off; "
        "--compress off; --compress 2; --compress 0.95; --compress 2 --coils espirit; "
        "--whiten edge --compress 2 --coils adaptive; --method gridded --coils espirit; "
        "--method gridded --coils none; --method adjoint --coils none; --iterations 5; --tolerance 0.01; "
        "--transform gridded --accuracy 1e-3; --transform gridded --accuracy 1e-6; "
        "--transform gridded --precision double --accuracy 1e-10; --method gridded --accuracy 1e-3; "
        "--no-gridded-image; --fov-mm 200; --transform direct --gpu-sums accurate; "
        "--trajectory-unit cycles/FOV; --verbose; --quiet; --cache fresh",
    "radial.h5":
        "--matrix 40; --matrix 35,36; --coils espirit; --lambda auto; --method gridded; "
        "--method adjoint --compress 2; --coils none --compress 0.9; --whiten off; "
        "--coils none --regularizer roughness --lambda auto",
    "spirals.h5":
        "--coils espirit --transform gridded; --compress 2; --method gridded --coils espirit; "
        "--lambda auto --iterations 10",
    "phyllotaxis.h5":
        "--prior %phyllotaxis.prior.nii.gz; --coils espirit; "
        "--prior %phyllotaxis.prior.nii.gz --transform gridded --precision double",
    "cartesian.h5":
        "--method fft --coils none; --method fft --coils espirit; --method fft --whiten edge; "
        "--method fft --no-gridded-image; --transform gridded; --method adjoint",
    "many.h5": "; --compress off; --compress 5 --transform gridded; --coils espirit",
    "noise.h5":
        "; --whiten off; --whiten edge; --lambda auto; --compress 2; --method gridded; "
        "--coils none --lambda auto",
    "series.h5":
        "--slices 1 --repetitions 0; --slices 0-1 --repetitions 1; --lambda auto; --coils espirit; "
        "--coils none; --regularizer roughness --no-gridded-image",
    "field.h5":
        "--coils espirit; --coils none; --lambda auto; --compress 2; --no-gridded-image; "
        "--accuracy 1e-3 --transform gridded",
    "bart.cfl": "; --method gridded",
    "impatient": "; --transform gridded",
}
ONE_THREAD = "spiral stars field series"  # EVERY_WAY once more, with --threads 1
COMMANDS = [  # the program before runs the first line, if any, for both programs; both run the second
    ("", "compare %spiral.h5"),
    ("", "compare %phyllotaxis.h5 --iterations 10 --regularizer roughness"),
    ("", "compare %series.h5 --slice 1 --repetition 1 --coils none"),
    ("", "compare %cartesian.h5 --lambda 0.01"),
    ("", "batch %spiral.h5 %stars.h5 %many.h5 %noise.h5 -o done"),
    ("",
     "batch %spiral.h5 %lines.h5 %radial.h5 -o done --recipe %recipe.toml --at-once 2 --precision double"),
    ("", "batch %cartesian.h5 %text.h5 %field.h5 -o done --cache off"),
    ("batch %spiral.h5 %stars.h5 -o done --cache cache",
     "batch %spiral.h5 %stars.h5 %many.h5 -o done --cache cache"),
    ("batch %spiral.h5 %nan.h5 -o done --iterations 5", "batch %spiral.h5 %nan.h5 -o done --iterations 7"),
    ("recon %spiral.h5 -o first --cache cache", "recon %spiral.h5 -o again --cache cache"),
    ("recon %spiral.h5 -o first --cache cache --precision double",
     "recon %spiral.h5 -o again --cache cache --precision double"),
    ("recon %stars.h5 -o first --cache cache --transform gridded",
     "recon %stars.h5 -o again --cache cache --transform gridded --lambda auto"),
    ("recon %stars.h5 -o first --cache cache --method gridded",
     "recon %stars.h5 -o again --cache cache --method gridded"),
    ("recon %field.h5 -o first --cache cache", "recon %field.h5 -o again --cache cache"),
    ("recon %spiral.h5 -o first --cache cache", "recon %series.h5 -o again --cache cache"),
    ("recon %spiral.h5 -o first", "report first.h5 -o page.html"),
    ("", "simulate -o made --trajectory spiral --matrix 21,24 --coils 2 --prior-image"),
    ("", "simulate -o made --trajectory stack-of-stars --matrix 12,14,5 --coils 2 --undersampling 2"),
    ("", "convert %spiral.h5 made.cfl"),
    ("", "convert %stars.h5 made/"),
    ("", "convert %series.h5 made.mrd"),
    ("convert %impatient impatient_made.h5", "convert impatient_made.h5 made.mrd"),
    ("", "convert %impatient made.h5"),
    ("", "plan %spiral.h5"),
    ("", "plan %field_3d.h5 --transform gridded --json"),
    ("", "info %spiral.h5 --json"),
    ("", "info %impatient"),
    ("", "check %noise.h5 %spiral.h5 %text.h5 --json"),
    ("", "check %phyllotaxis.h5 --prior %phyllotaxis.prior.nii.gz --strict"),
]
REFUSED = {  # beginning of a command line: ends of it. Nearly all are refused
    "": "bogus; --bogus",
    "recon":
        "; nosuch.h5; %; %text.h5; %empty.h5; %spiral.truth.h5; %nan.h5; %zero.h5; %zero.h5 --coils espirit; "
        "%huge.h5 --method adjoint; %huge.h5; %radial.h5 --coils file; %radial.h5 --matrix 5; "
        "%field.h5 --transform gridded --accuracy 0.5",
    "recon %spiral.h5":
        "--bogus; extra; --lambda banana; --lambda -1; --lambda nan; --iterations 0; --iterations x; "
        "--tolerance 2; --tolerance -1; --accuracy 2 --transform gridded; --accuracy 0 --transform gridded; "
        "--accuracy 1e-12 --transform gridded; --accuracy 2 --method gridded; "
        "--accuracy 1e-3 --transform direct; --precision half; --method best; --method fft; "
        "--method gridded --transform direct; --method gridded --lambda 1; "
        "--method adjoint --normal explicit; --method gridded --iterations 5; "
        "--method adjoint --regularizer roughness; --method gridded --prior %spiral.prior.nii.gz; "
        "--prior nosuch.nii; --prior %spiral.h5; --prior %spiral.prior.nii.gz --regularizer identity; "
        "--prior %spiral.prior.nii.gz --prior-strength 0; --prior %spiral.prior.nii.gz --prior-strength -1; "
        "--prior-strength 2; --compress 0; --compress 99; --compress 1.5; --compress banana; --whiten maybe; "
        "--coils maybe; --threads -1; --threads 5000; --matrix 0; --matrix 33,x; --matrix 40; --fov-mm -1; "
        "--trajectory-unit parsec; --trajectory-unit cycles/voxel; -o nosuch/result; -o %spiral; -o .; "
        "--cache %text.h5; --device tpu; --device cuda:99",
    "recon %cartesian.h5":
        "--method fft --transform gridded; --method fft --accuracy 1e-3; --method fft --lambda 1",
    "recon %lines.h5":
        "--coils espirit; --coils adaptive; --coils file; --lambda auto --whiten off; --compress 2",
    "recon %series.h5": "--slices 5; --slices 1-0; --repetitions x",
    "batch":
        "; %spiral.h5; nosuch.h5 -o done; %spiral.h5 -o done --recipe nosuch.toml; "
        "%spiral.h5 -o done --recipe %bad.toml; %spiral.h5 -o done --recipe %threads.toml; "
        "%spiral.h5 -o done --lambda banana; %spiral.h5 -o %; @nosuch -o done",
    "compare":
        "nosuch.h5; %spiral.h5 --truth nosuch.h5; %spiral.h5 --truth %stars.truth.h5; %spiral.h5 --slice 9; "
        "%spiral.h5 --prior-strength 2; %radial.h5 --coils file",
    "plan":
        "nosuch.h5; %spiral.h5 --method gridded --lambda 1; %radial.h5 --coils file; %spiral.h5 --threads -1",
    "info": "nosuch.h5",
    "check": "nosuch.h5",
    "report": "nosuch.h5; %spiral.h5",
    "convert": "%spiral.h5 made.xyz; %spiral.h5 %spiral.h5; %spiral.h5 %radial.h5",
    "simulate":
        "; -o made --coils 0; -o made --snr -1; -o made --undersampling 0.5; "
        "-o made --trajectory spiral --dimensions 3; -o nosuch/made",
    "bench": "nonsense",
}
REAL = [  # below SCANS, with options
    ("impatient_brain_spiral/64x64x1", ""), ("impatient_brain_spiral/64x64x1", "--method gridded"),
    ("impatient_brain_spiral/64x64x1", "--transform gridded --precision double"),
    ("impatient_brain_spiral/64x64x16-4coils", "--iterations 4 --no-gridded-image"),
    ("impatient_brain_spiral/64x64x16-4coils", "--iterations 4 --transform gridded --coils espirit"),
    ("jemris_ismrmrd_spiral/raw/signals_spiralout_Susc70Mhz_slc30.h5", "--transform gridded"),
    ("koma_mrireco_ismrmrd/mrireco_acqDataBrainSim100.h5", "--method fft"),
    ("koma_mrireco_ismrmrd/koma_MRF_radial_500TR.mrd", "--iterations 5"),
]
TIMED = [  # name, options of fhd simulate (or a scan below SCANS), options of fhd recon
    ("golden_160", "--trajectory golden-radial --matrix 160 --coils 8", ""),
    ("golden_160", None, "--transform gridded"),
    ("spiral_128", "--trajectory spiral --matrix 128 --coils 8 --no-maps", "--coils espirit"),
    ("stars_48", "--trajectory stack-of-stars --matrix 48,48,24 --coils 4", ""),
    ("stars_48", None, "--method gridded"),
    ("brain", "impatient_brain_spiral/64x64x16-4coils", ""),
]


def reconstructions(real_scans):
    """Command lines of fhd recon, without device and output."""
    for scans, ways in PRODUCTS:
        for scan in scans.split():
            for way in ways.split("; "):
                yield f"recon %{scan}.h5 {way}"
                yield f"recon %{scan}.h5 {way} --precision double"
    for scan, ways in SINGLES.items():
        for way in ways.split("; "):
            yield f"recon %{scan} {way}"
    for scan in ONE_THREAD.split():
        for way in EVERY_WAY.split("; "):
            yield f"recon %{scan}.h5 {way} --threads 1"
    for scan, way in REAL:
        if real_scans and os.path.exists(os.path.join(real_scans, scan)):
            yield f"recon %real/{scan} {way}"


def cases(device, real_scans):
    """(what the program before does first, what both do), with device, threads and output."""
    computing = ("recon", "compare", "batch", "plan")
    for line in reconstructions(real_scans):
        threads = "" if "--threads" in line else " --threads 2"
        yield "", f"{' '.join(line.split())} -o result --device {device}{threads}"
    common = f" --device {device} --threads 2"
    for seed, line in COMMANDS:
        output = " -o made_compare" if line.startswith("compare") else ""
        yield (seed + common if seed.startswith(computing) else seed,
               line + output + (common if line.startswith(computing) else ""))
    refused = [f"{begin} {end}".strip() for begin, ends in REFUSED.items() for end in ends.split("; ")]
    for line in refused if device == "cpu" else []:
        takes_device = line.startswith(computing) and len(line.split()) > 1 and "--device" not in line
        yield "", line + (" --device cpu" if takes_device else "")
