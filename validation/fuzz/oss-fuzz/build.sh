#!/bin/bash -eu
# OSS-Fuzz: CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, OUT and WORK are its own. The packages' libraries are of
# libstdc++, and travel beside the targets.
export CXXFLAGS="${CXXFLAGS//-stdlib=libc++/}"
cmake -S . -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DFHD_FUZZ=ON -DFHD_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
  -DCMAKE_BUILD_RPATH='$ORIGIN/lib' -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON
cmake --build "$WORK/build"
mkdir -p "$OUT/lib"
for target in "$WORK"/build/fuzz_*; do
  name=$(basename "$target")
  cp "$target" "$OUT/"
  cp "validation/fuzz/corpus/${name}_seed_corpus.zip" "$OUT/" || true
  cp "validation/fuzz/dictionaries/${name#fuzz_}.dict" "$OUT/$name.dict" 2> /dev/null || true
  ldd "$target" | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|libgcc_s|libpthread|libdl|librt)\.so' | xargs -I{} cp -nL {} "$OUT/lib/"
done
