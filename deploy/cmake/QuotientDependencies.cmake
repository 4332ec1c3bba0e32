# Finds the dependencies that deploy/setup/install.sh has installed. Imported targets to link with:
#
#   absl::*  gRPC::grpc++  protobuf::libprotobuf  SQLite::SQLite3  OpenSSL::Crypto
#   prometheus-cpp::core  spdlog::spdlog  nlohmann_json::nlohmann_json
#   ONNX::onnx  DNNL::dnnl  GTest::gtest  GTest::gmock  benchmark::benchmark  ZLIB::ZLIB
#   Threads::Threads  PkgConfig::CBC  PkgConfig::MICROHTTPD  PkgConfig::SECCOMP

if(DEFINED ENV{QUOTIENT_DEPS})
  set(quotient_deps $ENV{QUOTIENT_DEPS})
else()
  set(quotient_deps ${CMAKE_SOURCE_DIR}/build/deps)
endif()
if(NOT EXISTS ${quotient_deps}/current/.complete)
  message(FATAL_ERROR "No dependencies in ${quotient_deps}: run deploy/setup/install.sh first.")
endif()

# Use the target of the link, not the link: a new prefix then has new paths, so that everything that
# depends on it is compiled again. Paths of the old prefix are removed from CMake's cache.
file(REAL_PATH ${quotient_deps}/current quotient_prefix)
if(NOT quotient_prefix STREQUAL "${QUOTIENT_PREFIX}")
  unset(ONNX_DIR CACHE)
  unset(dnnl_DIR CACHE)
  set(QUOTIENT_PREFIX ${quotient_prefix} CACHE INTERNAL "Prefix with ONNX and oneDNN")
endif()
list(PREPEND CMAKE_PREFIX_PATH ${quotient_prefix})
cmake_path(GET quotient_prefix PARENT_PATH quotient_prefixes)
quotient_name_of_folder(${quotient_prefixes} build/deps/)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(Protobuf REQUIRED)  # Module mode, because Debian ships no configuration file.
find_package(gRPC CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(ONNX CONFIG REQUIRED)
find_package(dnnl CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(CBC REQUIRED IMPORTED_TARGET cbc)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
if(QUOTIENT_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(benchmark CONFIG REQUIRED)
  find_package(ZLIB REQUIRED)
endif()

# Programs look for oneDNN's library and ONNX Runtime's in ../lib.
file(REAL_PATH ${quotient_deps}/onnxruntime/lib/libonnxruntime.so quotient_onnxruntime)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
file(CREATE_LINK ${quotient_onnxruntime} ${CMAKE_BINARY_DIR}/lib/libonnxruntime.so SYMBOLIC)
file(CREATE_LINK ${quotient_prefix}/lib/libdnnl.so.3 ${CMAKE_BINARY_DIR}/lib/libdnnl.so.3 SYMBOLIC)
