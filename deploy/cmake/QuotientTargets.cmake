# The kinds of targets in this tree. Include paths are relative to the repository's root:
# #include "core/model/graph.h". Those of generated code are relative to proto/:
# #include "quotient/v1/optimizer.pb.h".

# Linked into every program under the thread sanitizer; see the file.
if(QUOTIENT_SANITIZE MATCHES "thread")
  add_library(quotient_tsan OBJECT ${CMAKE_SOURCE_DIR}/tests/support/tsan_absl_mutex.cc)
  target_link_libraries(quotient_tsan PUBLIC absl::synchronization)
endif()

# quotient_library(NAME SOURCES a.cc... [DEPS target...])
# A static library; there is one per folder. DEPS are public, because headers include theirs.
# Without SOURCES, the library has only headers.
function(quotient_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS")
  quotient_check_arguments_(${name})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    if(QUOTIENT_BATCHES)
      quotient_batches_(${name} ${ARG_SOURCES})
    endif()
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:include/quotient>)
  target_link_libraries(${name} ${scope} ${ARG_DEPS})
endfunction()

# quotient_binary(NAME SOURCES a.cc... [DEPS target...])
# A program, in build/<preset>/bin.
function(quotient_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS")
  quotient_check_arguments_(${name})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} $<TARGET_NAME_IF_EXISTS:quotient_tsan>)
endfunction()

# quotient_test(NAME [SOURCES a_test.cc...] [DEPS target...] [ARGS argument...] [TIMEOUT seconds])
# A GoogleTest program and a CTest entry of the same name. SOURCES defaults to NAME.cc. The test runs
# in the repository's root, so that test data is opened as "tests/data/...".
function(quotient_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TIMEOUT" "SOURCES;DEPS;ARGS")
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  quotient_check_arguments_(${name})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main
                        $<TARGET_NAME_IF_EXISTS:quotient_tsan>)
  if(TARGET quotient_test_pch)
    target_precompile_headers(${name} REUSE_FROM quotient_test_pch)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  quotient_test_properties_(${name} "${ARG_TIMEOUT}")
endfunction()

# quotient_script_test(NAME COMMAND word... [TIMEOUT seconds])
# A CTest entry for a program that exists already, such as a Python script. $QUOTIENT_BIN_DIR is the
# folder of the built programs, $QUOTIENT_PYTHON a Python interpreter with ONNX Runtime.
function(quotient_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TIMEOUT" "COMMAND")
  quotient_check_arguments_(${name})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  quotient_test_properties_(${name} "${ARG_TIMEOUT}")
endfunction()

# quotient_bench(NAME [SOURCES a_bench.cc...] [DEPS target...])
# A Google Benchmark program, without a CTest entry.
function(quotient_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS")
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  quotient_binary(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} benchmark::benchmark_main)
endfunction()

# quotient_fuzzer(NAME [SOURCES a_fuzz.cc...] [DEPS target...] [CORPUS folder])
# With the preset fuzz, a libFuzzer program; with the others, a program that runs
# LLVMFuzzerTestOneInput on the files it is given. CORPUS adds a CTest entry that runs it on the files
# of that folder, so that inputs found earlier are tested again.
function(quotient_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "CORPUS" "SOURCES;DEPS")
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  quotient_check_arguments_(${name})
  if(QUOTIENT_FUZZ)
    quotient_binary(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(arguments -runs=0)
  else()
    quotient_binary(${name} SOURCES ${ARG_SOURCES}
                    ${CMAKE_SOURCE_DIR}/tests/support/fuzz_replay_main.cc
                    DEPS ${ARG_DEPS})
    set(arguments "")
  endif()
  if(ARG_CORPUS)
    quotient_script_test(${name} COMMAND ${name} ${arguments} ${ARG_CORPUS})
  endif()
endfunction()

# quotient_proto_library(NAME PROTOS a.proto... [DEPS target...] [ROOT folder] [GRPC])
# A library of generated messages and, with GRPC, service stubs. Generated code is slow to compile,
# so it should be in one library. Generated headers are named relative to ROOT, which is proto/ by
# default: "quotient/v1/optimizer.proto". Imports are named relative to ROOT or to proto/; DEPS has
# the libraries of those in other ones.
function(quotient_proto_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "GRPC" "ROOT" "PROTOS;DEPS")
  quotient_check_arguments_(${name})
  set(root ${ARG_ROOT})
  if(NOT root)
    set(root ${CMAKE_SOURCE_DIR}/proto)
  endif()
  set(out ${CMAKE_BINARY_DIR}/proto)
  set(flags --proto_path=${root} --cpp_out=${out})
  if(ARG_ROOT)
    list(APPEND flags --proto_path=${CMAKE_SOURCE_DIR}/proto)
  endif()
  set(plugin "")
  set(extensions pb)
  if(ARG_GRPC)
    # generate_mock_code generates client stubs for GoogleMock (*_mock.grpc.pb.h).
    set(plugin $<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    list(APPEND flags --plugin=protoc-gen-grpc=${plugin} --grpc_out=generate_mock_code=true:${out})
    list(APPEND extensions grpc.pb)
  endif()
  set(sources "")
  foreach(proto ${ARG_PROTOS})
    cmake_path(ABSOLUTE_PATH proto NORMALIZE)
    cmake_path(RELATIVE_PATH proto BASE_DIRECTORY ${root} OUTPUT_VARIABLE relative)
    cmake_path(REMOVE_EXTENSION relative OUTPUT_VARIABLE stem)
    set(generated "")
    foreach(extension ${extensions})
      list(APPEND generated ${out}/${stem}.${extension}.cc ${out}/${stem}.${extension}.h)
    endforeach()
    # Depends on all protos of the library, since they import each other and protoc is fast.
    add_custom_command(
      OUTPUT ${generated}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND protobuf::protoc ${flags} ${relative}
      WORKING_DIRECTORY ${root}
      DEPENDS ${ARG_PROTOS} protobuf::protoc ${plugin}
      COMMENT "protoc ${relative}"
      VERBATIM)
    list(APPEND sources ${generated})
  endforeach()
  add_library(${name} STATIC ${sources})
  if(QUOTIENT_SANITIZE MATCHES "thread")
    target_compile_options(${name} PUBLIC "SHELL:-include ${CMAKE_SOURCE_DIR}/tests/support/tsan_protobuf.h")
  endif()
  if(QUOTIENT_BATCHES AND ARG_GRPC)
    # Messages stay apart, because protoc gives their sources local names that are the same.
    list(FILTER sources INCLUDE REGEX "\\.grpc\\.pb\\.cc$")
    set_source_files_properties(${sources} PROPERTIES UNITY_GROUP services)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
  target_compile_options(${name} PRIVATE -w)
  target_include_directories(${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${out}> $<INSTALL_INTERFACE:include/quotient>)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} protobuf::libprotobuf)
  if(ARG_GRPC)
    target_link_libraries(${name} PUBLIC gRPC::grpc++)
  endif()
endfunction()

# --- helpers ---

# quotient_batches_(NAME a.cc...): compiles the sources of a library in batches, chosen by batches.py.
# Sources with options of their own are compiled alone; CMake sees to it. So are those that the build
# generates, whose paths are absolute: they cannot be read yet.
function(quotient_batches_ name)
  set(sources ${ARGN})
  list(FILTER sources EXCLUDE REGEX "^/")
  set(script ${CMAKE_SOURCE_DIR}/deploy/cmake/batches.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script} ${sources})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${script} ${sources}
                  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                  OUTPUT_VARIABLE numbers OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" numbers "${numbers}")
  foreach(source number IN ZIP_LISTS sources numbers)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${number})
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_precompile_headers(${name} REUSE_FROM quotient_pch)
endfunction()

# Fails on unknown keywords, which CMake would otherwise ignore.
macro(quotient_check_arguments_ target)
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${target}: cannot use ${ARG_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

function(quotient_test_properties_ name timeout)
  if(NOT timeout)
    set(timeout 120)
  endif()
  if(QUOTIENT_SANITIZE)
    math(EXPR timeout "${timeout} * 10")
  endif()
  # Sanitizers stop at the first report and print a stack. TSan also needs a single OpenMP thread,
  # since libgomp is not instrumented.
  set(environment
      QUOTIENT_BIN_DIR=${CMAKE_BINARY_DIR}/bin
      QUOTIENT_PYTHON=${quotient_deps}/tests/bin/python3
      ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
      LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0
      UBSAN_OPTIONS=print_stacktrace=1
      TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/tsan.supp:halt_on_error=1)
  if(QUOTIENT_SANITIZE MATCHES "thread")
    list(APPEND environment OMP_NUM_THREADS=1)
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/tests
             OUTPUT_VARIABLE label)
  # ctest -R '^egraph_' runs the tests of core/egraph (tests/README.md).
  if(label MATCHES "^core/([a-z]+)")
    if(NOT name MATCHES "^${CMAKE_MATCH_1}_")
      message(FATAL_ERROR "${name}: names of tests in tests/${label} begin with ${CMAKE_MATCH_1}_")
    endif()
  endif()
  set_tests_properties(
    ${name} PROPERTIES
    TIMEOUT ${timeout}
    LABELS "${label}"
    ENVIRONMENT "${environment}")
endfunction()

# Only with GCC, because ccache needs more flags for clang's precompiled headers.
if(QUOTIENT_TESTS AND QUOTIENT_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # This is a program and not an object library, because a precompiled header can only be used with
  # the same -fPIE setting.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/quotient_test_pch.cc CONTENT "int main() {}\n")
  add_executable(quotient_test_pch ${CMAKE_BINARY_DIR}/quotient_test_pch.cc)
  target_link_libraries(quotient_test_pch PRIVATE GTest::gmock GTest::gtest)
  target_precompile_headers(quotient_test_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

# Headers that most sources include, for the libraries that are compiled in batches.
if(QUOTIENT_BATCHES)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/quotient_pch.cc CONTENT "")
  add_library(quotient_pch OBJECT ${CMAKE_BINARY_DIR}/quotient_pch.cc)
  target_link_libraries(quotient_pch PRIVATE absl::flat_hash_map absl::flat_hash_set absl::statusor
                        absl::strings absl::synchronization Threads::Threads)
  target_precompile_headers(quotient_pch PRIVATE
    <algorithm> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <span> <string>
    <utility> <vector>
    <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/status/statusor.h>
    <absl/strings/str_cat.h> <absl/strings/str_join.h> <absl/synchronization/mutex.h>)
endif()
