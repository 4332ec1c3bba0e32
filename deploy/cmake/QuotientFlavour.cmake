# Settings that are the same for every target: compiler, warnings, optimization, sanitizers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# Where cmake --install puts oneDNN. In the build tree there is a link (QuotientDependencies), so that programs
# do not say where the tree is.
set(CMAKE_INSTALL_RPATH $ORIGIN/../lib)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

# Debug is for development: it compiles fast, runs fast enough, has line numbers in stack traces, and
# its std containers check indices.
# Release uses -O2, because -O3 compiles longer and most time is spent in generated kernels.
# -fno-semantic-interposition lets GCC inline functions in position-independent code, too; it is
# safe because no function is replaced at run time.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -D_GLIBCXX_ASSERTIONS" CACHE STRING "" FORCE)
# Quick is for a first look (deploy/quickstart.sh): -O1 takes three quarters of the time of -O2 to
# compile. A compiler that collects its garbage later is faster; with batches it takes up to 1 GB.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -fno-semantic-interposition" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_QUICK "-O1 -DNDEBUG -w --param ggc-min-heapsize=1000000" CACHE STRING "" FORCE)

# The code initializes options by designated initializers and leaves out fields with defaults.
# A switch without a default has to name every enumerator, so that a new one is forgotten nowhere.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -Werror=switch)
# gRPC's targets bring -pthread. Without it everywhere, what uses them could not take the precompiled header.
add_compile_options(-pthread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 has false positives for inlined copies of std::optional and std::string.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict)
endif()

# quotient_name_of_folder(FOLDER NAME): __FILE__ calls FOLDER NAME, so that builds of two checkouts are the same.
# If folders are in one another, the outer one comes first. The compiler may be given its path or, by ccache
# below, its name from the build folder.
function(quotient_name_of_folder folder name)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE relative)
  add_compile_options(-fmacro-prefix-map=${folder}/=${name} -fmacro-prefix-map=${relative}/=${name})
endfunction()
quotient_name_of_folder(${CMAKE_SOURCE_DIR} "")
quotient_name_of_folder(${CMAKE_BINARY_DIR} "")

if(QUOTIENT_SANITIZE)
  add_compile_options(-fsanitize=${QUOTIENT_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${QUOTIENT_SANITIZE})
  if(QUOTIENT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(QUOTIENT_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # std headers use fences, which TSan does not model and GCC warns about.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(QUOTIENT_THREAD_SAFETY)
  add_compile_options(-Wthread-safety -Werror=thread-safety)
endif()
if(QUOTIENT_FUZZ)
  # Instruments all code for the fuzzer. Only fuzz targets get its main() (QuotientTargets).
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Many test executables link the same static libraries, so a fast linker saves much time.
find_program(QUOTIENT_LLD NAMES ld.lld)
if(QUOTIENT_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# Use ccache, configured to ignore differences between two checkouts of the same sources.
find_program(QUOTIENT_CCACHE ccache)
if(QUOTIENT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${QUOTIENT_CCACHE})
endif()
