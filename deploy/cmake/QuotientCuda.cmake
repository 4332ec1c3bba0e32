# Finds the dependencies of the CUDA plug-in (core/kernels/cuda/plugin): CUDA's headers and
# libraries, cuDNN, and cudnn_frontend, which deploy/setup/install.sh installs if it finds cuDNN. With --with-cuda
# it installs all of them.
# Sets QUOTIENT_CUDA_FOUND and, if it is true, QUOTIENT_CUDA_INCLUDE_DIRS, QUOTIENT_CUDA_LIBRARIES,
# QUOTIENT_CUDA_LIBRARY_DIRS and QUOTIENT_CUDNN_FRONTEND_INCLUDE_DIR.

set(QUOTIENT_CUDA AUTO CACHE STRING "Build the CUDA plug-in: AUTO if its libraries are found, ON, OFF (nor what uses it)")
set_property(CACHE QUOTIENT_CUDA PROPERTY STRINGS AUTO ON OFF)

set(QUOTIENT_CUDA_FOUND OFF CACHE INTERNAL "Whether the CUDA plug-in is built")
if(NOT QUOTIENT_CUDA)
  return()
endif()

# quotient_find_cuda_(PROBLEM): sets the variables above, or PROBLEM to a text that says what is
# missing.
function(quotient_find_cuda_ problem)
  set(roots $ENV{CUDA_HOME} $ENV{CUDA_PATH} ${quotient_deps}/cuda /usr/local/cuda)
  find_path(QUOTIENT_CUDART_INCLUDE_DIR cuda_runtime_api.h HINTS ${roots} PATH_SUFFIXES include)
  find_path(QUOTIENT_CUDNN_INCLUDE_DIR cudnn.h
            HINTS ${QUOTIENT_CUDART_INCLUDE_DIR} ${roots} PATH_SUFFIXES include)
  set(libraries "")
  foreach(name cudart_static cublasLt nvrtc cudnn)
    find_library(QUOTIENT_CUDA_${name} ${name} HINTS ${roots} PATH_SUFFIXES lib64 lib)
    if(NOT QUOTIENT_CUDA_${name})
      set(${problem} "no lib${name}" PARENT_SCOPE)
      return()
    endif()
    list(APPEND libraries ${QUOTIENT_CUDA_${name}})
  endforeach()
  if(NOT QUOTIENT_CUDART_INCLUDE_DIR OR NOT QUOTIENT_CUDNN_INCLUDE_DIR)
    set(${problem} "no cuda_runtime_api.h or no cudnn.h" PARENT_SCOPE)
    return()
  endif()

  file(STRINGS ${QUOTIENT_CUDART_INCLUDE_DIR}/cuda_runtime_api.h cuda_version
       REGEX "#define CUDART_VERSION +[0-9]+")
  string(REGEX MATCH "[0-9]+" cuda_version "${cuda_version}")
  if(NOT cuda_version GREATER_EQUAL 13000)
    set(${problem} "CUDA ${cuda_version} is older than 13.0" PARENT_SCOPE)
    return()
  endif()
  set(frontend ${quotient_deps}/cudnn-frontend/include)
  if(NOT EXISTS ${frontend}/cudnn_frontend.h)
    set(${problem} "no cudnn_frontend in ${quotient_deps}: run deploy/setup/install.sh" PARENT_SCOPE)
    return()
  endif()
  # Use the target of the link, whose name changes with the version (see QuotientDependencies).
  file(REAL_PATH ${frontend} frontend)

  set(directories "")
  foreach(library ${libraries})
    cmake_path(GET library PARENT_PATH directory)
    list(APPEND directories ${directory})
  endforeach()
  list(REMOVE_DUPLICATES directories)
  set(include_dirs ${QUOTIENT_CUDART_INCLUDE_DIR} ${QUOTIENT_CUDNN_INCLUDE_DIR})
  list(REMOVE_DUPLICATES include_dirs)
  set(${problem} "" PARENT_SCOPE)
  set(QUOTIENT_CUDA_INCLUDE_DIRS ${include_dirs} PARENT_SCOPE)
  set(QUOTIENT_CUDA_LIBRARIES ${libraries} PARENT_SCOPE)
  set(QUOTIENT_CUDA_LIBRARY_DIRS ${directories} PARENT_SCOPE)
  # A stub of libcuda.so without functionality, which tests link with.
  find_path(QUOTIENT_CUDA_STUB_DIR libcuda.so HINTS ${directories} PATH_SUFFIXES stubs
            NO_DEFAULT_PATH)
  set(QUOTIENT_CUDNN_FRONTEND_INCLUDE_DIR ${frontend} PARENT_SCOPE)
endfunction()

quotient_find_cuda_(quotient_cuda_problem)
if(NOT quotient_cuda_problem)
  set(QUOTIENT_CUDA_FOUND ON CACHE INTERNAL "Whether the CUDA plug-in is built")
elseif(QUOTIENT_CUDA STREQUAL "AUTO")
  message(STATUS "No CUDA plug-in: ${quotient_cuda_problem}")
else()
  message(FATAL_ERROR "QUOTIENT_CUDA is ON: ${quotient_cuda_problem}")
endif()
