# Finds D3 3.5, which draws the charts of `epochbench report`. The file is embedded in the binary and in every page, so neither
# needs it later.
#
# EPOCHBENCH_D3  the file d3.min.js; by default from the package libjs-d3 (Debian, Ubuntu) or EPOCHBENCH_PACKAGES where it is there.
#                OFF, or by default without it: a program that measures, and whose `report` says that it draws no pages. ON, or with
#                tests: it must be there
#
# Why D3: it draws SVG, which prints sharply, uses the page's style and has titles for screen readers, and it leaves the drawing
# of intervals to us. Why 3.5: every supported system has it as one file in one package.
if(EPOCHBENCH_D3 STREQUAL "OFF")
  message(STATUS "Pages of `epochbench report`: off (EPOCHBENCH_D3)")
  set(chart_library "")
  return()
endif()
set(d3_is_wanted ${EPOCHBENCH_TESTS})
if(EPOCHBENCH_D3 STREQUAL "ON")
  set(d3_is_wanted ON)
  unset(EPOCHBENCH_D3)
  unset(EPOCHBENCH_D3 CACHE)
endif()
find_file(EPOCHBENCH_D3 NAMES d3.min.js
          PATHS /usr/share/javascript /usr/local/share/javascript ${EPOCHBENCH_PACKAGES} ${EPOCHBENCH_PACKAGES}/share/javascript
          PATH_SUFFIXES d3 NO_DEFAULT_PATH DOC "D3 3.5 (d3.min.js)")
if(NOT EPOCHBENCH_D3 AND NOT d3_is_wanted)
  message(STATUS "Pages of `epochbench report`: off, since D3 is missing: install libjs-d3, or pass its d3.min.js (version 3.5) as "
                 "-DEPOCHBENCH_D3=FILE")
  set(chart_library "")
  return()
endif()
if(NOT EXISTS "${EPOCHBENCH_D3}")
  message(FATAL_ERROR "D3, which draws the page of `epochbench report`, is missing (${EPOCHBENCH_D3}): install libjs-d3, "
                      "or pass its d3.min.js (version 3.5) as -DEPOCHBENCH_D3=FILE")
endif()
file(READ "${EPOCHBENCH_D3}" d3_text)
if(NOT d3_text MATCHES "version:\"3\\.5\\.")
  message(FATAL_ERROR "${EPOCHBENCH_D3} is not D3 3.5 (it does not contain version:\"3.5.*\"): pass another file as "
                      "-DEPOCHBENCH_D3=FILE")
endif()
set(chart_library libraries/d3.min.js=${EPOCHBENCH_D3})
