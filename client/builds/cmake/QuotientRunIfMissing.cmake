# cmake -D file=FILE -P QuotientRunIfMissing.cmake -- COMMAND...
# Runs the command if the file is not there.

if(EXISTS ${file})
  return()
endif()
set(command "")
set(found FALSE)
foreach(i RANGE ${CMAKE_ARGC})
  if(found AND i LESS CMAKE_ARGC)
    list(APPEND command ${CMAKE_ARGV${i}})
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(found TRUE)
  endif()
endforeach()
execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
