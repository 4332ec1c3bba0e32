# Compiler, warnings, optimization and sanitizers: all that is the same for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_INSTALL_RPATH $ORIGIN/../lib)  # oneDNN's place after cmake --install

# Debug is for working on the code: quick to compile, quick enough to run, line numbers in traces,
# and std containers that check their indices.
# Release keeps -O2: -O3 compiles longer, and the time that counts is spent in generated kernels.
# Nobody replaces our functions at run time: GCC may inline them in position-independent code, too.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -D_GLIBCXX_ASSERTIONS" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -fno-semantic-interposition" CACHE STRING "" FORCE)

# Designated initializers with defaults are how options are written here.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports inlined std::optional and std::string copies that do not happen.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict)
endif()

if(QUOTIENT_SANITIZE)
  add_compile_options(-fsanitize=${QUOTIENT_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${QUOTIENT_SANITIZE})
  if(QUOTIENT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(QUOTIENT_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Raised inside std headers: fences, which TSan does not model.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(QUOTIENT_THREAD_SAFETY)
  add_compile_options(-Wthread-safety -Werror=thread-safety)
endif()
if(QUOTIENT_FUZZ)
  # Coverage for the fuzzer in all our code; its main() only in the fuzz targets (QuotientTargets).
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Many test executables link the same static libraries: a quick linker is felt.
find_program(QUOTIENT_LLD NAMES ld.lld)
if(QUOTIENT_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# ccache, told to look past what differs between two checkouts of the same sources.
find_program(QUOTIENT_CCACHE ccache)
if(QUOTIENT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${QUOTIENT_CCACHE})
endif()
