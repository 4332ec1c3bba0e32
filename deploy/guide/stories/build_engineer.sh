#!/usr/bin/env bash
# The story of a build engineer: a CMake project whose build takes an optimized model, which a lock file pins.
#
#   build_engineer.sh MODEL.onnx [FOLDER]     FOLDER is made, default quotient-builds
#
# Needs an installation of Quotient, CMake 3.20, and Ninja or make; no compiler. Every command is printed.
set -euo pipefail
# shellcheck source=deploy/guide/stories/telling.sh
. "$(dirname "${BASH_SOURCE[0]}")/telling.sh"
begin_story builds 'cmake' "$@"

chapter 'A server that optimizes, and a project that asks it'
start_server --listen 127.0.0.1:0 --data-dir data
mkdir project
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(story LANGUAGES NONE)
find_package(Quotient REQUIRED)
set(MODEL "" CACHE FILEPATH "The model")
set(GATE "" CACHE STRING "Percent that it has to gain; nothing: as much as there is")
if(GATE)
  set(gate REQUIRE_IMPROVEMENT ${GATE})
endif()
quotient_optimize(fast MODEL ${MODEL} OUTPUT fast.onnx LOCK model.onnx.lock ${gate} HTML fast.html
                  OPTIONS --budget 10s --patience 2s ALL)
END
run cat project/CMakeLists.txt
configure=(cmake -S project -DMODEL="$model" -DCMAKE_PREFIX_PATH="$prefix"
  -DQUOTIENT_SERVER="$address" -DQUOTIENT_RESULT_CACHE="$folder/results")
if command -v ninja >/dev/null; then configure+=(-G Ninja); fi
run "${configure[@]}" -B build

chapter 'A build does not search: without a lock file it fails, and the message says what to do'
refused any LOCK_MISSING cmake --build build

chapter 'A step of its own writes the lock file, which is committed beside the model'
run cmake --build build --target fast_update_lock
run cat project/model.onnx.lock

chapter 'The build takes the result that the lock file pins'
run cmake --build build
run ls -l build/fast.onnx build/fast.html

chapter 'A second build does no work'
run cmake --build build | tee second.txt
if grep --quiet Optimizing second.txt; then fail 'the second build has optimized again'; fi

chapter 'When the server is gone, another build takes the same bytes from the cache'
stop_server
run "${configure[@]}" -B elsewhere
run cmake --build elsewhere
run cmp build/fast.onnx elsewhere/fast.onnx

chapter 'With neither, it fails by name, and soon'
run "${configure[@]}" -B nowhere -DQUOTIENT_SERVER=127.0.0.1:1 -DQUOTIENT_RESULT_CACHE="$folder/empty"
refused any UNAVAILABLE cmake --build nowhere

chapter 'A gate of improvement ends the build with its own name and status, and leaves the report'
run "${configure[@]}" -B gated -DGATE=99
refused any IMPROVEMENT_TOO_SMALL cmake --build gated
run ls -l gated/fast.html
refused 6 IMPROVEMENT_TOO_SMALL quotient optimize "$model" -o fast.onnx --budget 10s \
  --lock project/model.onnx.lock --cache results --require-improvement 99

end_story
