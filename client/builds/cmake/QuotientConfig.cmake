# find_package(Quotient) finds the program `quotient` and defines quotient_optimize. ../README.md has a tour.
#
#   QUOTIENT_EXECUTABLE    the program; if it is not set, the one that was installed with this file, or of PATH
#   QUOTIENT_SERVER        the server of targets that name none; if it is not set, the program's default
#   QUOTIENT_RESULT_CACHE  where results of lock files are kept; if it is not set, in the user's cache folder

find_program(QUOTIENT_EXECUTABLE quotient HINTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin
             DOC "The program quotient")
set(QUOTIENT_SERVER "" CACHE STRING "HOST:PORT of the quotientd that optimizes models")
set(QUOTIENT_RESULT_CACHE "" CACHE PATH "Folder in which results of lock files are kept")

include(${CMAKE_CURRENT_LIST_DIR}/QuotientOptimize.cmake)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Quotient REQUIRED_VARS QUOTIENT_EXECUTABLE
  REASON_FAILURE_MESSAGE "The program quotient is not in PATH. QUOTIENT_EXECUTABLE names it.")
