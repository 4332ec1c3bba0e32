# shellcheck shell=bash
# What a machine with a GPU gets, for tests/gpu.sh.

# What the dynamic linker finds here, but for the C library and what comes with the driver and CUDA.
libraries_of() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(ld-linux|libc\.so|libm\.so|libdl\.so|librt\.so|libpthread|libcuda|libcudart|libcudnn|libcublas|libnvrtc|libnvidia)' || true
}

bundle() {
  local preset=${QUOTIENT_GPU_PRESET:-release} dir=build/gpu programs
  local names=(quotient network_bench kernels_cuda_gpu_test gpu_smoke libquotient_cuda.so)
  if [ ! -e "build/$preset/build.ninja" ]; then cmake --preset "$preset" >/dev/null; fi
  cmake --build "build/$preset" --target quotient network_bench kernels_cuda_gpu_test gpu_smoke quotient_cuda
  programs=("${names[@]/#/build/$preset/bin/}")
  rm -rf "$dir"
  mkdir -p "$dir/bin" "$dir/lib" "$dir/tests/bench/networks"
  cp "${programs[@]}" "$dir/bin"
  # shellcheck disable=SC2046  # one word per library is meant
  cp $(libraries_of "${programs[@]}") "$dir/lib"
  cp -r tests/gpu.sh tests/gpu "$dir/tests"
  cp tests/bench/networks/predicted.py "$dir/tests/bench/networks"
  strip --strip-unneeded "$dir"/bin/* "$dir"/lib/*
  # Not the folders of this machine, which would come before what the other one is told to use.
  cmake -DFILE="$dir/bin/libquotient_cuda.so" -P tests/gpu/set_rpath.cmake
  git describe --always --dirty >"$dir/commit" 2>/dev/null || echo unknown >"$dir/commit"
  tar -C "$dir" -czf "$dir.tar.gz" bin lib tests commit
  rm -r "$dir"
  du -h "$dir.tar.gz" >&2
  echo "gpu.sh: it needs the C library of this machine or a later one: $(getconf GNU_LIBC_VERSION)" >&2
}
