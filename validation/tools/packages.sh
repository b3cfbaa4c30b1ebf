# Sourced by ./quickstart and ./check: the packages that fhd needs, and its release build.

packages="build-essential cmake ninja-build git pkg-config
  libfftw3-dev libopenblas-dev libhdf5-dev libismrmrd-dev libhwy-dev libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  libnifti-dev libpng-dev libpugixml-dev zlib1g-dev libssl-dev libgtest-dev libopenmpi-dev openmpi-bin"

# What the tests use beside: DICOM series are made where DCMTK is, and checked by dicom3tools.
check_packages="libdcmtk-dev dicom3tools"

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
