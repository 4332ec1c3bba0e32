# find_package(Quotient) finds the program `quotient` and defines quotient_optimize. ../README.md has a tour.
#
#   QUOTIENT_EXECUTABLE    the program; if it is not set, the one that was installed with this file, or of PATH
#   QUOTIENT_SERVER        the server of targets that name none; if it is not set, the program's default
#   QUOTIENT_RESULT_CACHE  where results of lock files are kept; if it is not set, in the user's cache folder
#
# find_package(Quotient COMPONENTS client) also finds the client library and what it needs, and defines
# Quotient::client. It wants the languages C and CXX.

find_program(QUOTIENT_EXECUTABLE quotient HINTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin
             DOC "The program quotient")
set(QUOTIENT_SERVER "" CACHE STRING "HOST:PORT of the quotientd that optimizes models")
set(QUOTIENT_RESULT_CACHE "" CACHE PATH "Folder in which results of lock files are kept")

include(${CMAKE_CURRENT_LIST_DIR}/QuotientOptimize.cmake)

if("client" IN_LIST Quotient_FIND_COMPONENTS AND EXISTS ${CMAKE_CURRENT_LIST_DIR}/QuotientClient.cmake)
  include(CMakeFindDependencyMacro)
  find_dependency(Threads)
  find_dependency(absl CONFIG)
  find_dependency(Protobuf)  # Before gRPC, whose targets name protobuf's.
  find_dependency(gRPC CONFIG)
  find_dependency(OpenSSL)
  find_dependency(spdlog CONFIG)
  include(${CMAKE_CURRENT_LIST_DIR}/QuotientClient.cmake)
  set(Quotient_client_FOUND TRUE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Quotient REQUIRED_VARS QUOTIENT_EXECUTABLE HANDLE_COMPONENTS
  REASON_FAILURE_MESSAGE "The program quotient is not in PATH (QUOTIENT_EXECUTABLE names it), or a component is not installed.")
