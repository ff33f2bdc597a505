# epochbench_version_header(TARGET): TARGET's sources may include "epochbench_version.h". Each build updates it, but
# writes it only if the commit or the state of the work tree changed. Without git the sha is EPOCHBENCH_GIT_SHA, which the
# copier of sources without a repository passes, or empty.
#
# Run as a script (cmake -DSOURCE=... -DOUTPUT=... -DVERSION=... -P) it writes that header.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_policy(VERSION 3.22)
  set(sha "${SHA}")
  set(dirty 0)
  find_program(GIT git)
  if(GIT AND EXISTS "${SOURCE}/.git")
    execute_process(COMMAND ${GIT} -c "safe.directory=*" rev-parse HEAD WORKING_DIRECTORY "${SOURCE}"
                    OUTPUT_VARIABLE sha OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${GIT} -c "safe.directory=*" status --porcelain --untracked-files=no
                    WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(dirty 1)
    endif()
  endif()
  file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#pragma once
#define EPOCHBENCH_VERSION \"@VERSION@\"
#define EPOCHBENCH_GIT_SHA \"@sha@\"  // empty: unknown
#define EPOCHBENCH_GIT_DIRTY @dirty@
" @ONLY)
  return()
endif()

set(EPOCHBENCH_VERSION_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")
function(epochbench_version_header target)
  set(folder "${PROJECT_BINARY_DIR}/generated")
  if(NOT TARGET epochbench_version)
    add_custom_target(epochbench_version
      COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${folder}/epochbench_version.h
              -DVERSION=${PROJECT_VERSION} "-DSHA=${EPOCHBENCH_GIT_SHA}" -P ${EPOCHBENCH_VERSION_SCRIPT}
      BYPRODUCTS ${folder}/epochbench_version.h
      COMMENT "")
  endif()
  add_dependencies(${target} epochbench_version)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
