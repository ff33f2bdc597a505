# The libraries that the benchmarks compare with (bench/peer.h), each a module beside epochbench_bench. They are optional, and no
# program links them. EPOCHBENCH_PEER_LIBRARIES names the folder that scripts/peers/libraries creates.
set(EPOCHBENCH_PEER_LIBRARIES "" CACHE PATH "Folder of scripts/peers/libraries, for epochbench_bench --peers")

# epochbench_peer_module(NAME NEEDS FILE... [INCLUDE FOLDER]): bench/peers/NAME.cpp with the libraries among the files.
function(epochbench_peer_module name)
  cmake_parse_arguments(ARG "" "INCLUDE" "NEEDS" ${ARGN})
  set(libraries "")
  set(folders "")
  foreach(file IN LISTS ARG_NEEDS)
    file(GLOB found ${EPOCHBENCH_PEER_LIBRARIES}/${file})
    if(NOT found)
      message(STATUS "No comparison with ${name}: ${EPOCHBENCH_PEER_LIBRARIES}/${file} is missing; run scripts/peers/libraries")
      return()
    endif()
    list(GET found 0 first)
    if(first MATCHES "\\.so")
      list(APPEND libraries ${first})
      get_filename_component(folder ${first} DIRECTORY)
      list(APPEND folders ${folder})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(JOIN folders ":" path)
  add_library(epochbench_peer_${name} MODULE peers/${name}.cpp)
  set_target_properties(epochbench_peer_${name} PROPERTIES PREFIX "")
  target_include_directories(epochbench_peer_${name} SYSTEM PRIVATE ${ARG_INCLUDE})
  # The older kind of path (RPATH) also applies to the libraries' own dependencies, which these packages rely on.
  target_link_options(epochbench_peer_${name} PRIVATE -Wl,--disable-new-dtags,-rpath,${path},-rpath-link,${path})
  target_link_libraries(epochbench_peer_${name} PRIVATE epochbench_options ${libraries})
  add_dependencies(epochbench_bench epochbench_peer_${name})
endfunction()

if(EPOCHBENCH_PEER_LIBRARIES)
  epochbench_peer_module(onednn NEEDS lib/libdnnl.so lib/libtbb.so include/oneapi/dnnl/dnnl.hpp include/oneapi/tbb.h
    INCLUDE ${EPOCHBENCH_PEER_LIBRARIES}/include)
  epochbench_peer_module(openblas NEEDS lib/python*/site-packages/scipy_openblas64/lib/libscipy_openblas64_.so)
  epochbench_peer_module(mkl NEEDS lib/libmkl_rt.so.*)
endif()
