# quotient_optimize(TARGET MODEL in.onnx OUTPUT out.onnx
#   [LOCK file]                   the result is the one that this file pins
#   [SERVER HOST:PORT | LOCAL]    who optimizes: default QUOTIENT_SERVER; LOCAL: the build itself
#   [SNAPSHOT file]               the device, as `quotient snapshot` recorded it
#   [CACHE folder]                where results of LOCK are kept, default QUOTIENT_RESULT_CACHE
#   [REQUIRE_IMPROVEMENT percent] fails if the result gains less
#   [MAX_SECONDS n]               fails if there is no result after so long
#   [REPORT file] [HTML file] [JOURNAL file]   further outputs
#   [OPTIONS word...]             further options of `quotient optimize`, such as --device and --budget
#   [ALL])                        part of the default target
#
# Adds a target that makes OUTPUT, whose full path is the property QUOTIENT_OUTPUT of the target. Names of
# inputs are relative to the source folder, those of outputs to the binary folder. The model's external data,
# the snapshot and the lock file are dependencies. An output that would get the bytes that it has keeps its
# time, so that what depends on it is not made again.
#
# With LOCK, the target TARGET_update_lock optimizes anew and writes the file; quotient_update_locks does it
# for all.

include_guard(GLOBAL)
cmake_policy(PUSH)
cmake_policy(VERSION 3.20)

set(QUOTIENT_RUN_IF_MISSING_ ${CMAKE_CURRENT_LIST_DIR}/QuotientRunIfMissing.cmake)

function(quotient_optimize target)
  cmake_parse_arguments(
    PARSE_ARGV 1 ARG "LOCAL;ALL"
    "MODEL;OUTPUT;LOCK;SERVER;SNAPSHOT;CACHE;REQUIRE_IMPROVEMENT;MAX_SECONDS;REPORT;HTML;JOURNAL" "OPTIONS")
  quotient_check_call_(${target})
  set(source ${CMAKE_CURRENT_SOURCE_DIR})
  set(binary ${CMAKE_CURRENT_BINARY_DIR})
  foreach(input MODEL LOCK SNAPSHOT CACHE)
    quotient_make_absolute_(${input} ${source})
  endforeach()
  foreach(output OUTPUT REPORT HTML JOURNAL)
    quotient_make_absolute_(${output} ${binary})
  endforeach()
  set(further ${ARG_REPORT} ${ARG_HTML} ${ARG_JOURNAL})
  cmake_path(GET ARG_OUTPUT FILENAME name)

  # What TARGET_update_lock has in common with TARGET.
  set(job "")
  quotient_append_(job --server SERVER)
  quotient_append_(job --device-snapshot SNAPSHOT)
  quotient_append_(job --lock LOCK)
  quotient_append_(job --cache CACHE)
  if(ARG_LOCAL)
    list(APPEND job --local)
  endif()
  quotient_append_(job --require-improvement REQUIRE_IMPROVEMENT)
  list(APPEND job ${ARG_OPTIONS})
  set(time "")
  quotient_append_(time --max-seconds MAX_SECONDS)
  set(files "")
  quotient_append_(files --report REPORT)
  quotient_append_(files --html HTML)
  quotient_append_(files --journal JOURNAL)

  set(all "")
  if(ARG_ALL)
    set(all ALL)
  endif()
  set(make ${QUOTIENT_EXECUTABLE} optimize ${ARG_MODEL} -o ${ARG_OUTPUT} --restat ${files} ${job} ${time})
  quotient_add_rule_(${target})
  add_custom_target(${target} ${all} DEPENDS ${ARG_OUTPUT})
  set_target_properties(${target} PROPERTIES QUOTIENT_OUTPUT ${ARG_OUTPUT})
  set_property(TARGET ${target} APPEND PROPERTY ADDITIONAL_CLEAN_FILES ${ARG_OUTPUT}.data ${further})
  if(DEFINED ARG_LOCK)
    quotient_add_update_(${target})
  endif()
endfunction()

# Ends configuring if the arguments of quotient_optimize make no sense, and sets those that have a default.
macro(quotient_check_call_ target)
  if(DEFINED ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "quotient_optimize(${target}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(DEFINED ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "quotient_optimize(${target}): no value for: ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  foreach(required MODEL OUTPUT)
    if(NOT DEFINED ARG_${required})
      message(FATAL_ERROR "quotient_optimize(${target}): ${required} is missing")
    endif()
  endforeach()
  if(ARG_LOCAL AND DEFINED ARG_SERVER)
    message(FATAL_ERROR "quotient_optimize(${target}): SERVER and LOCAL exclude each other")
  endif()
  if(DEFINED ARG_CACHE AND NOT DEFINED ARG_LOCK)
    message(FATAL_ERROR "quotient_optimize(${target}): CACHE is for results of a LOCK")
  endif()
  if(NOT ARG_LOCAL AND NOT DEFINED ARG_SERVER AND QUOTIENT_SERVER)
    set(ARG_SERVER ${QUOTIENT_SERVER})
  endif()
  if(DEFINED ARG_LOCK AND NOT DEFINED ARG_CACHE AND QUOTIENT_RESULT_CACHE)
    set(ARG_CACHE ${QUOTIENT_RESULT_CACHE})
  endif()
endmacro()

# Makes the path of an argument absolute, if there is one.
macro(quotient_make_absolute_ argument folder)
  if(DEFINED ARG_${argument})
    cmake_path(ABSOLUTE_PATH ARG_${argument} BASE_DIRECTORY ${folder} NORMALIZE)
  endif()
endmacro()

# Appends an option with the value of an argument, if there is one.
macro(quotient_append_ list option argument)
  if(DEFINED ARG_${argument})
    list(APPEND ${list} ${option} ${ARG_${argument}})
  endif()
endmacro()

# The rule that makes ARG_OUTPUT by ${make}.
macro(quotient_add_rule_ target)
  set(depfile ${binary}/${target}.d)
  set(comment "Optimizing ${name}")
  if(DEFINED ARG_LOCK)
    string(APPEND comment " (${target}_update_lock writes its lock file)")
  endif()
  if(CMAKE_GENERATOR MATCHES "Ninja")
    # Ninja looks at the output's time itself, and goes on only if it has changed.
    set(pool "")
    if(ARG_LOCAL)
      # Two that measure at once would disturb each other.
      get_property(pools GLOBAL PROPERTY JOB_POOLS)
      if(NOT "quotient_local=1" IN_LIST pools)
        set_property(GLOBAL APPEND PROPERTY JOB_POOLS quotient_local=1)
      endif()
      set(pool JOB_POOL quotient_local)
    endif()
    add_custom_command(OUTPUT ${ARG_OUTPUT} BYPRODUCTS ${further} COMMAND ${make} --depfile ${depfile}
                       DEPENDS ${ARG_MODEL} ${ARG_SNAPSHOT} DEPFILE ${depfile} ${pool} COMMENT "${comment}"
                       VERBATIM)
  else()
    # Make would run the command each time that an output is older than an input. So a stamp says when it has
    # run, and the rule for the output itself leaves it as it is.
    set(stamp ${binary}/${target}.stamp)
    add_custom_command(OUTPUT ${stamp} BYPRODUCTS ${further}
                       COMMAND ${make} --depfile ${depfile} --depfile-target ${stamp}
                       COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
                       DEPENDS ${ARG_MODEL} ${ARG_SNAPSHOT} DEPFILE ${depfile} COMMENT "${comment}" VERBATIM)
    add_custom_command(OUTPUT ${ARG_OUTPUT}
                       COMMAND ${CMAKE_COMMAND} -D file=${ARG_OUTPUT} -P ${QUOTIENT_RUN_IF_MISSING_} -- ${make}
                       DEPENDS ${stamp} COMMENT "" VERBATIM)
  endif()
endmacro()

# The target that writes the lock file. It makes the result in a folder of its own, but under the same name,
# which results with weights in a file of their own depend on.
macro(quotient_add_update_ target)
  set(folder ${binary}/${target}_update_lock.dir)
  file(MAKE_DIRECTORY ${folder})
  add_custom_target(${target}_update_lock
                    COMMAND ${QUOTIENT_EXECUTABLE} optimize ${ARG_MODEL} -o ${folder}/${name} ${job} --update-lock
                    DEPENDS ${ARG_MODEL} ${ARG_SNAPSHOT} COMMENT "Writing ${ARG_LOCK}" VERBATIM)
  if(NOT TARGET quotient_update_locks)
    add_custom_target(quotient_update_locks)
  endif()
  add_dependencies(quotient_update_locks ${target}_update_lock)
endmacro()

cmake_policy(POP)
