# EPOCHBENCH_PACKAGE: a binary for other machines, as scripts/package builds it. Every library except glibc is linked statically,
# so one file serves Debian 12, Ubuntu 24.04 and later, whatever their packages are called; CUDA's libraries are loaded at run
# time in any build. The binary contains no path of the build, so that two folders give the same bytes.
option(EPOCHBENCH_PACKAGE "Link all libraries but glibc statically, and keep paths of the build out of the binary")

set(epochbench_library_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})  # CUDA's libraries are found with these
if(EPOCHBENCH_PACKAGE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>")
  add_link_options(-static-libstdc++ -static-libgcc)
endif()
