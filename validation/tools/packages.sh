# Sourced by ./quickstart and ./check: the packages that fhd needs, and its release build.

packages="build-essential cmake ninja-build git pkg-config
  libfftw3-dev libopenblas-dev libhdf5-dev libismrmrd-dev libhwy-dev libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  libnifti-dev libseccomp-dev libpng-dev libpugixml-dev zlib1g-dev libssl-dev libgtest-dev libopenmpi-dev openmpi-bin
  file"  # which cpack asks for what a package depends on

# What ./check uses beside: DICOM series are made where DCMTK is, and checked by dicom3tools; MATLAB files are read where matio
# is; the Python package and its tests.
check_packages="libdcmtk-dev libmatio-dev dicom3tools python3-dev python3-venv"

# What the fuzz targets need (validation/fuzz); without them ./check leaves these out, and says so.
fuzz_packages="clang-14 libclang-rt-14-dev"

# install_missing_packages [PACKAGE...]: those of `packages`, and these.
install_missing_packages() {
  packages="$packages $*"
  if ! command -v dpkg-query > /dev/null; then
    echo "This is not Debian or Ubuntu: install the counterparts of these packages by hand:" $packages
    return
  fi
  missing=""
  for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q "ok installed" || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  echo "Installing:$missing"
  sudo=""
  if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing > /dev/null
}

# build_release TARGET [CMAKE_OPTION...]: all, or one target.
build_release() {
  target=$1
  shift
  cmake --preset release "$@" > build.log 2>&1 || { cat build.log; exit 1; }
  grep "^-- fhd " build.log || true
  rm -f build.log
  cmake --build --preset release --target "$target"
}

# make_python FOLDER: a Python there with what the package fhd and its tests need (validation/tests/python/lock.txt). Fails
# where that cannot be had.
make_python() {
  lock=validation/tests/python/lock.txt
  if cmp -s "$lock" "$1/lock.txt"; then return 0; fi
  rm -rf "$1"
  # Debian's own: PyTorch is had from the system where it is installed (python3-torch).
  python=/usr/bin/python3
  [ -x "$python" ] || python=python3
  "$python" -m venv --system-site-packages "$1" || return 1
  "$1/bin/python" -m pip install -q --disable-pip-version-check -r "$lock" || return 1
  cp "$lock" "$1/lock.txt"
}

# fuzz_for_seconds SECONDS: builds the fuzz targets of the parsers and runs each of them for so long.
fuzz_for_seconds() {
  if ! command -v clang++-14 > /dev/null; then
    (install_missing_packages $fuzz_packages) || true
  fi
  if ! command -v clang++-14 > /dev/null; then
    echo "SKIPPED: the fuzz targets of the parsers, which need $fuzz_packages."
    return 0
  fi
  cmake --preset fuzz > build.log 2>&1 || { cat build.log; exit 1; }
  rm -f build.log
  cmake --build --preset fuzz
  targets=$(ls validation/fuzz/targets | wc -l)
  validation/fuzz/run "$(awk "BEGIN {print $1 * $targets / 3600}")"
}
