#!/usr/bin/env bash
# What only a GPU can show.
#
#   tests/gpu.sh bundle                 packs the programs (build/release) with the libraries that a
#                                       machine with a GPU may lack into build/gpu.tar.gz
#   tests/gpu.sh PART OUT [ARGUMENT]... runs a part on the machine with the GPU, results into OUT
#
#   kernels      every kind of kernel against plain loops, every math policy; the device's
#                properties as cuDNN has them (OUT/properties.json), the gap between kernels
#   networks     the nine networks of the papers by mcts, for cuda and cuda-strict32; predicted and
#                measured (OUT/networks.csv, OUT/networks.txt)
#   transformers TYPE
#                BERT as published, with its attention, in float32, float16 or bfloat16, likewise
#                (OUT/transformers-TYPE.csv and .txt)
#   models FILE.onnx...
#                the same for models
#   snapshot     what has been measured by now, as snapshots (OUT/cuda.snapshot,
#                OUT/cuda-strict32.snapshot)
#   all          kernels, networks, transformers in each type and snapshot
#
# Each search gets $QUOTIENT_GPU_BUDGET, 10s if it is not set; checking and measuring what came out
# come on top. Nothing bounds a part as a whole, and `all` takes as long as its parts
# together: where a machine is lent by the minute, call them one by one.
#
# Programs come from $QUOTIENT_GPU_BIN; without it from build/gpu.tar.gz if that is there, else from
# build/release/bin. What is timed is kept in OUT/timings, so parts that follow need not time it
# again. What fails, or comes out slower, does not keep the rest from being run. Exit status: 2 if this
# is not how it is called, else that of the first thing that failed. Where there is no GPU to use,
# that is said once, and nothing else is run.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
budget=${QUOTIENT_GPU_BUDGET:-10s}

usage() {
  if [ $# -gt 0 ]; then printf 'gpu.sh: %s\n\n' "$1" >&2; fi
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

# What the dynamic linker finds here, but for the C library and what comes with the driver and CUDA.
libraries_of() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(ld-linux|libc\.so|libm\.so|libdl\.so|librt\.so|libpthread|libcuda|libcudart|libcudnn|libcublas|libnvrtc|libnvidia)' || true
}

bundle() {
  local dir=build/gpu bin=build/release/bin
  local programs=("$bin/quotient" "$bin/network_bench" "$bin/kernels_cuda_gpu_test" "$bin/libquotient_cuda.so")
  cmake --preset release >/dev/null
  cmake --build --preset release --target quotient network_bench kernels_cuda_gpu_test quotient_cuda
  rm -rf "$dir"
  mkdir -p "$dir/bin" "$dir/lib"
  cp "${programs[@]}" "$dir/bin"
  # shellcheck disable=SC2046  # one word per library is meant
  cp $(libraries_of "${programs[@]}") "$dir/lib"
  strip --strip-unneeded "$dir"/bin/* "$dir"/lib/*
  tar -C "$dir" -czf "$dir.tar.gz" bin lib
  rm -r "$dir"
  du -h "$dir.tar.gz" >&2
}

# The status of what has failed; that of the first becomes the script's.
status=0
note() {
  status=$((status ? status : $1))
}

run_kernels() {
  local failed=0
  QUOTIENT_GPU_OUT=$out "$bin/kernels_cuda_gpu_test" --gtest_brief=1 | tee "$out/kernels.txt" || failed=$?
  if grep -q 'SKIPPED' "$out/kernels.txt"; then
    echo 'gpu.sh: there is no GPU to use here, so nothing has been shown' >&2
    exit 1
  fi
  return "$failed"
}

# bench NAME ARGUMENT... : the table and the lines of runs
bench() {
  local name=$1 failed=0
  shift
  rm -f "$out/$name.csv"
  "$bin/network_bench" --devices cuda,cuda-strict32 --strategies mcts --seeds 1 --budget "$budget" \
    --threads "$(nproc)" --timings "$out/timings" --csv "$out/$name.csv" "$@" | tee "$out/$name.txt" || failed=$?
  if [ -e "$out/$name.csv" ]; then  # else nothing has run, and it has been said why
    python3 tests/bench/networks/predicted.py "$out/$name.csv" | tee -a "$out/$name.txt" ||
      failed=$((failed ? failed : $?))
  fi
  return "$failed"
}

run_transformers() {
  bench "transformers-$1" --networks bert --faithful --type "$1"
}

take_snapshot() {
  local device=$1
  "$bin/quotient" snapshot --device "$device" --threads "$(nproc)" --timings "$out/timings" \
    -o "$out/$device.snapshot" || return
  awk '$1 == "kernel" && $2 != "unsupported" { n++; if ($3 > 1.03 * $2) wide++ }
       END { printf "%s: %d kernels with times, of %d the quarter lies 3 %% above the minimum\n", d, n, wide }' \
    d="$device" "$out/$device.snapshot"
}

run_snapshot() {
  local device
  if [ ! -e "$out/timings" ]; then
    echo "gpu.sh: nothing has been timed into $out yet: run networks or models first" >&2
    return 1
  fi
  for device in cuda cuda-strict32; do
    take_snapshot "$device" || note $?
  done
}

part=${1:-}
[ -n "$part" ] || usage
shift
if [ "$part" = bundle ]; then
  bundle
  exit
fi

case $part in
  kernels | networks | transformers | models | snapshot | all) ;;
  *) usage "there is no part '$part'" ;;
esac
out=${1:-}
[ -n "$out" ] || usage 'OUT is missing'
shift
if [ "$part" = transformers ] && [ $# -ne 1 ]; then usage 'transformers: one TYPE is wanted'; fi
if [ "$part" = models ] && [ $# -eq 0 ]; then usage 'models: FILE.onnx is missing'; fi
mkdir -p "$out"
bin=${QUOTIENT_GPU_BIN:-build/release/bin}
if [ -z "${QUOTIENT_GPU_BIN:-}" ] && [ -e build/gpu.tar.gz ]; then
  bin=build/gpu/bin
  if [ ! "$bin" -nt build/gpu.tar.gz ]; then
    mkdir -p build/gpu
    tar -C build/gpu -xzmf build/gpu.tar.gz
    touch "$bin"
  fi
fi
if [ ! -x "$bin/quotient" ]; then usage "there are no programs in $bin"; fi
if [ -d "$bin/../lib" ]; then export LD_LIBRARY_PATH=$bin/../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; fi

case $part in
  kernels) run_kernels || note $? ;;
  networks) bench networks "$@" || note $? ;;
  transformers) run_transformers "$1" || note $? ;;
  models) bench models "$@" || note $? ;;
  snapshot) run_snapshot || note $? ;;
  all)
    run_kernels || note $?
    bench networks || note $?
    for type in float32 float16 bfloat16; do run_transformers "$type" || note $?; done
    run_snapshot || note $?
    ;;
esac
exit "$status"
