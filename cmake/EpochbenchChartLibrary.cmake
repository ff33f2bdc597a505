# Finds D3 3.5, which the page of `epochbench report` draws its charts with: the file becomes part of the binary, and of every
# page, so neither needs it later.
#
# EPOCHBENCH_D3  the file d3.min.js; by default that of the package libjs-d3 (Debian, Ubuntu), or of EPOCHBENCH_PACKAGES
#
# D3 because it draws SVG, which prints sharply, takes text and colors from the page's style and titles for screen readers,
# and leaves intervals to draw exactly; 3.5 because it is what every supported system has as one file in one package.
find_file(EPOCHBENCH_D3 NAMES d3.min.js
          PATHS /usr/share/javascript /usr/local/share/javascript ${EPOCHBENCH_PACKAGES} ${EPOCHBENCH_PACKAGES}/share/javascript
          PATH_SUFFIXES d3 NO_DEFAULT_PATH DOC "D3 3.5 (d3.min.js)")
if(NOT EPOCHBENCH_D3)
  message(FATAL_ERROR "D3, which the page of `epochbench report` is drawn with, is missing: install libjs-d3, "
                      "or give its d3.min.js (version 3.5) as -DEPOCHBENCH_D3=FILE")
endif()
file(READ "${EPOCHBENCH_D3}" d3_text)
if(NOT d3_text MATCHES "version:\"3\\.5\\.")
  message(FATAL_ERROR "${EPOCHBENCH_D3} is not D3 3.5 (it does not say version:\"3.5.*\"): give another file as "
                      "-DEPOCHBENCH_D3=FILE")
endif()
