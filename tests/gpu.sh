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
# is not how it is called or a program is missing, else that of the first thing that failed. Where there
# is no GPU to use, that is said once, nothing else is run, and the status is 4.
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

# Ends the script where there is no GPU, with what quotient returns for a device that is not there.
no_gpu=4
stop_without_gpu() {
  note "$no_gpu"
  exit "$status"
}

run_kernels() {
  local failed=0
  # A test is skipped where there is no GPU, by two lines: ...: Skipped, and the reason.
  QUOTIENT_GPU_OUT=$out "$bin/kernels_cuda_gpu_test" --gtest_brief=1 | tee "$out/kernels.txt" |
    sed -u '/: Skipped$/,+1d' || failed=$?
  if grep -q 'SKIPPED' "$out/kernels.txt"; then
    echo "gpu.sh: there is no GPU to use here: $(sed -n '/: Skipped$/{n;p;q;}' "$out/kernels.txt")" >&2
    stop_without_gpu
  fi
  return "$failed"
}

# bench NAME ARGUMENT... : the table and the lines of runs
bench() {
  local name=$1 failed=0
  shift
  rm -f "$out/$name.csv"
  # Its complaints go past the first tee, to a second one that keeps them.
  {
    "$bin/network_bench" --devices cuda,cuda-strict32 --strategies mcts --seeds 1 --budget "$budget" \
      --threads "$(nproc)" --timings "$out/timings" --csv "$out/$name.csv" "$@" 2>&1 >&3 |
      tee "$complaints" >&2
  } 3>&1 | tee "$out/$name.txt" || failed=$?
  if [ -e "$out/$name.csv" ]; then
    python3 tests/bench/networks/predicted.py "$out/$name.csv" | tee -a "$out/$name.txt" ||
      failed=$((failed ? failed : $?))
  else  # nothing has run, and it has been said why
    rm -f "$out/$name.txt"
    if grep -qE '^network_bench: cuda(-strict32)?: ' "$complaints"; then stop_without_gpu; fi
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
  local device failed
  # quotient wants the file before it looks for the GPU, and then says that there is nothing in it.
  touch "$out/timings"
  for device in cuda cuda-strict32; do
    failed=0
    take_snapshot "$device" || failed=$?
    case $failed in
      2)
        echo "gpu.sh: run networks, transformers or models into $out first" >&2
        return 2
        ;;
      "$no_gpu") stop_without_gpu ;;
    esac
    note "$failed"
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
  kernels) needed=(kernels_cuda_gpu_test) ;;
  networks | transformers | models) needed=(network_bench) ;;
  snapshot) needed=(quotient) ;;
  all) needed=(kernels_cuda_gpu_test network_bench quotient) ;;
  *) usage "there is no part '$part'" ;;
esac
out=${1:-}
[ -n "$out" ] || usage 'OUT is missing'
shift
case $part in
  transformers)
    [ $# -eq 1 ] || usage 'transformers: one TYPE is wanted'
    [[ $1 =~ ^(float32|float16|bfloat16)$ ]] || usage "transformers: there is no TYPE '$1'"
    ;;
  models) [ $# -gt 0 ] || usage 'models: FILE.onnx is missing' ;;
  *) [ $# -eq 0 ] || usage "$part: '$1' is one argument too many" ;;
esac

bin=${QUOTIENT_GPU_BIN:-build/release/bin}
if [ -z "${QUOTIENT_GPU_BIN:-}" ] && [ -e build/gpu.tar.gz ]; then
  bin=build/gpu/bin
  if [ ! "$bin" -nt build/gpu.tar.gz ]; then
    mkdir -p build/gpu
    tar -C build/gpu -xzmf build/gpu.tar.gz
    touch "$bin"
  fi
fi
missing=()
for program in "${needed[@]}"; do
  if [ ! -x "$bin/$program" ]; then missing+=("$program"); fi
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "gpu.sh: not in $bin: ${missing[*]}; to build what is missing:" \
    "cmake --preset release && cmake --build --preset release --target ${missing[*]} quotient_cuda" >&2
  exit 2
fi
if [ -d "$bin/../lib" ]; then export LD_LIBRARY_PATH=$bin/../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; fi
mkdir -p "$out"
complaints=$(mktemp)
trap 'rm -f "$complaints"' EXIT

case $part in
  kernels) run_kernels || note $? ;;
  networks) bench networks || note $? ;;
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
