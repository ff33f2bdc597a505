# cmake -P: which GPU a build names as the oldest that it has code for.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/EpochbenchCudaArchitectures.cmake)

function(expect expected architectures)
  epochbench_lowest_architecture(lowest "${architectures}")
  if(NOT lowest STREQUAL expected)
    message(SEND_ERROR "\"${architectures}\": got ${lowest}, expected ${expected}")
  endif()
endfunction()

expect(75 "75-real;80-real;90-real;100-real;120-real;120-virtual")
expect(90 "100;90")
expect(90 "90a")
foreach(word native all all-major)
  expect(0 ${word})
endforeach()
