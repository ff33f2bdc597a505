# EPOCHBENCH_KERNELS  which CPU kernels are built: "all", for a binary that travels; "native", those that this machine's CPU can run,
#                     in less time; or a list, "portable;avx2". Sets EPOCHBENCH_BUILT_KERNELS, the list; empty: all of them.
set(EPOCHBENCH_KERNELS all CACHE STRING "CPU kernels: all, native (those that this CPU can run), or a list of instruction sets")
set(EPOCHBENCH_BUILT_KERNELS "" CACHE INTERNAL "All instruction sets")
if(EPOCHBENCH_KERNELS STREQUAL "native")
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "EPOCHBENCH_KERNELS is native, but this build is for another machine: use all")
  endif()
  # The kernels' own test of the CPU, which scripts/lib/setup.sh runs again in each call.
  set(program ${PROJECT_BINARY_DIR}/supported_instruction_sets)
  unset(compiled CACHE)
  try_compile(compiled ${PROJECT_BINARY_DIR}/CMakeFiles/EpochbenchKernels
    SOURCES ${PROJECT_SOURCE_DIR}/kernels/cpu/instruction_sets.cpp ${PROJECT_SOURCE_DIR}/kernels/cpu/supported_main.cpp
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}
    CXX_STANDARD 20
    OUTPUT_VARIABLE output COPY_FILE ${program})
  if(NOT compiled)
    message(FATAL_ERROR "kernels/cpu/supported_main.cpp does not compile:\n${output}")
  endif()
  execute_process(COMMAND ${program} OUTPUT_VARIABLE names RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT "portable" IN_LIST names)
    message(FATAL_ERROR "${program} could not name the instruction sets of this CPU (${status}): use EPOCHBENCH_KERNELS=all")
  endif()
  if(EPOCHBENCH_SANITIZE AND "avx512_bf16" IN_LIST names)
    list(REMOVE_ITEM names avx512)  # the same code for the same vectors
  endif()
  set(EPOCHBENCH_BUILT_KERNELS "${names}" CACHE INTERNAL "Instruction sets of this CPU")
elseif(NOT EPOCHBENCH_KERNELS STREQUAL "all")
  if(NOT "portable" IN_LIST EPOCHBENCH_KERNELS)
    message(FATAL_ERROR "EPOCHBENCH_KERNELS is ${EPOCHBENCH_KERNELS}: use all, native, or a list that has portable")
  endif()
  set(EPOCHBENCH_BUILT_KERNELS ${EPOCHBENCH_KERNELS} CACHE INTERNAL "Instruction sets that were chosen")
endif()
