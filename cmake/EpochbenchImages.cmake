# Finds libjpeg-turbo, with the TurboJPEG API, and libpng, which decode the pictures of `--data images:`. Sets
# EPOCHBENCH_HAS_IMAGES, and says what is missing if it is off: then the rest is built, and such data are refused.
#
# EPOCHBENCH_IMAGES  AUTO: if both are found; ON: a missing one is an error; OFF
#
# Why these two: every distribution has them, tests them by fuzzing and repairs them, and libjpeg-turbo is what other loaders use,
# so its speed is theirs.
set(EPOCHBENCH_IMAGES AUTO CACHE STRING "Pictures of --data images: AUTO (if libjpeg-turbo and libpng are found), ON or OFF")
set_property(CACHE EPOCHBENCH_IMAGES PROPERTY STRINGS AUTO ON OFF)
set(EPOCHBENCH_HAS_IMAGES FALSE)
if(EPOCHBENCH_IMAGES STREQUAL "OFF")
  message(STATUS "Pictures of --data images: off (EPOCHBENCH_IMAGES)")
  return()
endif()
find_path(TURBOJPEG_INCLUDE_DIR turbojpeg.h)
find_library(TURBOJPEG_LIBRARY turbojpeg)
find_package(PNG QUIET)
set(missing_libraries "")
if(NOT TURBOJPEG_INCLUDE_DIR OR NOT TURBOJPEG_LIBRARY)
  list(APPEND missing_libraries libturbojpeg0-dev)
endif()
if(NOT PNG_FOUND)
  list(APPEND missing_libraries libpng-dev)
endif()
if(NOT missing_libraries)
  add_library(epochbench_image_libraries INTERFACE)
  target_include_directories(epochbench_image_libraries SYSTEM INTERFACE ${TURBOJPEG_INCLUDE_DIR})
  target_link_libraries(epochbench_image_libraries INTERFACE ${TURBOJPEG_LIBRARY} PNG::PNG)
  set(EPOCHBENCH_HAS_IMAGES TRUE)
elseif(EPOCHBENCH_IMAGES STREQUAL "AUTO")
  list(JOIN missing_libraries ", " missing_libraries)
  message(STATUS "Pictures of --data images: left out, missing: ${missing_libraries}")
else()
  list(JOIN missing_libraries ", " missing_libraries)
  message(FATAL_ERROR "EPOCHBENCH_IMAGES is ${EPOCHBENCH_IMAGES}, but these packages are missing: ${missing_libraries}")
endif()
