# shellcheck shell=bash
# For tests/gpu.sh: the programs, the libraries that they need on this machine, and running them for
# a limited time.

# The folders that may hold NVIDIA's libraries, one a line, whether they are there or not: toolkits,
# what Python's packages bring, and where containers mount drivers.
library_folders() {
  local toolkit python
  for toolkit in ${CUDA_HOME:+"$CUDA_HOME"} ${CUDA_PATH:+"$CUDA_PATH"} /usr/local/cuda /usr/local/cuda-13*; do
    printf '%s\n' "$toolkit"/{lib64,lib,targets/x86_64-linux/lib}
  done
  printf '%s\n' /usr/local/nvidia/{lib64,lib} /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib/wsl/lib
  pythons | while read -r python; do
    "$python" -c 'import sys; print("\n".join(p for p in sys.path if p))' 2>/dev/null || true
  done | sort -u | while read -r python; do
    printf '%s\n' "$python"/nvidia/*/lib
  done
}

# Every Python that may have packages: those on the PATH and those of virtual environments.
pythons() {
  local folder python
  {
    IFS=: read -r -a folders <<<"$PATH"
    for folder in "${folders[@]}" ${VIRTUAL_ENV:+"$VIRTUAL_ENV/bin"} ${CONDA_PREFIX:+"$CONDA_PREFIX/bin"} \
      /opt/*/bin /opt/*/.venv/bin /opt/*/venv/bin; do
      for python in "$folder"/python3 "$folder"/python3.[0-9]*[0-9]; do
        if [ -x "$python" ]; then echo "$python"; fi
      done
    done
  } | sort -u
}

# What a library is called that the plug-in, or one that it loads, opens.
library_path=''
needed_libraries=(libcudnn.so.9 libcublasLt.so.13 libnvrtc.so.13 libcuda.so.1)

# Sets library_path to the folders of libraries that the dynamic linker does not find by itself, and
# tells where each is. Folders are taken only for what they are needed for: the first that has it.
find_libraries() {
  local name folder cached found folders=()
  cached=$({ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null || true)
  library_path=''
  for name in "${needed_libraries[@]}"; do
    found=$(awk -v name="$name" '$1 == name && /x86-64/ { print $NF; exit }' <<<"$cached")
    # The cache may be older than the files.
    if [ ! -e "$found" ]; then
      found=''
      if [ ${#folders[@]} -eq 0 ]; then mapfile -t folders < <(library_folders); fi
      for folder in "${folders[@]}"; do
        if [ -e "$folder/$name" ]; then
          found=$folder/$name
          case :$library_path: in *:"$folder":*) ;; *) library_path+=${library_path:+:}$folder ;; esac
          break
        fi
      done
    fi
    echo "gpu.sh: $name: ${found:-nowhere}" >&2
  done
}

# Sets bin to the folder of the programs: $QUOTIENT_GPU_BIN, beside this script as in the bundle,
# the bundle where it was made, or a build.
find_programs() {
  bin=${QUOTIENT_GPU_BIN:-}
  if [ -n "$bin" ]; then return; fi
  if [ -d bin ]; then
    bin=bin
  elif [ -e build/gpu.tar.gz ]; then
    bin=build/gpu/bin
    if [ ! "$bin" -nt build/gpu.tar.gz ]; then
      mkdir -p build/gpu
      tar -C build/gpu -xzmf build/gpu.tar.gz
      touch "$bin"
    fi
  else
    bin=build/release/bin
  fi
}

# require PROGRAM...: ends the script if one is missing.
require() {
  local program missing=()
  for program in "$@"; do
    if [ ! -x "$bin/$program" ]; then missing+=("$program"); fi
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  echo "gpu.sh: not in $bin: ${missing[*]}; to build what is missing:" \
    "cmake --preset release && cmake --build --preset release --target ${missing[*]} quotient_cuda" >&2
  exit 2
}

deadline=0  # in $SECONDS, when time is up

seconds_left() { echo $((deadline - SECONDS)); }

# limited SECONDS PROGRAM [ARGUMENT]... : runs it with its libraries, its output line by line as it
# comes. It is stopped after that many seconds, or when time is up: 124, or 137 where it did not listen.
limited() {
  local seconds=$1 program=$2 path=$library_path left
  shift 2
  left=$(($(seconds_left) + 5))
  if [ "$left" -le 0 ]; then return 124; fi
  if [ "$left" -lt "$seconds" ]; then seconds=$left; fi
  if [ -d "$bin/../lib" ]; then path=$bin/../lib${path:+:$path}; fi
  path=$path${LD_LIBRARY_PATH:+${path:+:}$LD_LIBRARY_PATH}
  case $program in */*) ;; *) program=$bin/$program ;; esac
  timeout -k 5 "$seconds" env ${path:+LD_LIBRARY_PATH="$path"} stdbuf -oL "$program" "$@"
}

# Whether a status says that `limited` stopped it.
is_stopped() { [ "$1" = 124 ] || [ "$1" = 137 ]; }
