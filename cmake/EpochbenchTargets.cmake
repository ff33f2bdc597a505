# Options that all targets share, and functions that create targets.

# Set in continuous integration; a user's compiler may know more warnings than ours.
option(EPOCHBENCH_WERROR "Warnings are errors")

add_library(epochbench_options INTERFACE)
target_include_directories(epochbench_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_options(epochbench_options INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic$<$<BOOL:${EPOCHBENCH_WERROR}>:;-Werror>>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(epochbench_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)  # false positives of GCC 12 in std::string's operator+
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_options(epochbench_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-psabi>)  # what changed with g++ 10
endif()
if(EPOCHBENCH_SANITIZE)
  target_compile_options(epochbench_options INTERFACE -fsanitize=${EPOCHBENCH_SANITIZE} -fno-omit-frame-pointer)
  if(EPOCHBENCH_SANITIZE MATCHES "address.*undefined")
    # These would check each access a second time: the address sanitizer catches null and stray pointers, and x86 permits any
    # alignment. A GPU does not, so targets with its kernels have the property EPOCHBENCH_ALIGNED.
    target_compile_options(epochbench_options INTERFACE
      -fno-sanitize=null,pointer-overflow $<$<NOT:$<BOOL:$<TARGET_PROPERTY:EPOCHBENCH_ALIGNED>>>:-fno-sanitize=alignment>)
  endif()
  target_link_options(epochbench_options INTERFACE -fsanitize=${EPOCHBENCH_SANITIZE})
  # The presets' sanitizer builds are not optimized, which halves their build time; loops over elements are, a little.
  set(epochbench_loop_options -O1)
endif()

# epochbench_library(NAME [TOGETHER] [BRIEF] SOURCES ... LIBRARIES ...): a static library of this folder. TOGETHER: a unity build,
# which takes a third of the time; the files must not define the same local names. BRIEF: the code runs only for moments and is
# never timed, so a release optimizes it less, which takes two thirds of the time.
function(epochbench_library name)
  cmake_parse_arguments(ARG "TOGETHER;BRIEF" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_TOGETHER)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${EPOCHBENCH_UNITY_BUILD})
  endif()
  if(ARG_BRIEF AND NOT EPOCHBENCH_SANITIZE)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    # The same pictures and answers on every machine: fused multiply-adds, which x86-64 lacks, round differently.
    target_compile_options(${name} PRIVATE -ffp-contract=off)
  endif()
  target_link_libraries(${name} PUBLIC epochbench_options ${ARG_LIBRARIES})
endfunction()

# epochbench_test(FOLDER/NAME LABEL unit|parity|gpu|slow LIBRARIES ...): the program NAME of tests/FOLDER/NAME.cpp, one ctest per
# TEST(). ALONE names those, by a pattern, beside which no other test may run.
function(epochbench_test path)
  get_filename_component(name ${path} NAME)
  epochbench_tests(${name} TESTS ${path} ${ARGN})
endfunction()

# epochbench_tests(NAME LABEL ... LIBRARIES ... TESTS FOLDER/NAME ...): the program NAME of several such files, compiled TOGETHER.
function(epochbench_tests name)
  cmake_parse_arguments(ARG "" "LABEL;ALONE" "LIBRARIES;TESTS" ${ARGN})
  list(LENGTH ARG_TESTS count)
  list(TRANSFORM ARG_TESTS PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  list(TRANSFORM ARG_TESTS APPEND .cpp)
  add_executable(${name} ${ARG_TESTS})
  if(count GREATER 1)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${EPOCHBENCH_UNITY_BUILD})
  endif()
  target_link_libraries(${name} PRIVATE epochbench_options ${ARG_LIBRARIES} epochbench_test_support GTest::gmock_main)
  target_compile_options(${name} PRIVATE ${epochbench_test_options})
  if(TARGET epochbench_test_headers)
    target_precompile_headers(${name} REUSE_FROM epochbench_test_headers)
  endif()
  # Teams exceed the number of cores, and several tests run at once: spinning threads would occupy the others' cores.
  set(properties LABELS ${ARG_LABEL} ENVIRONMENT OMP_WAIT_POLICY=passive)
  if(ARG_ALONE)
    gtest_discover_tests(${name} TEST_FILTER ${ARG_ALONE} TEST_LIST ${name}_alone PROPERTIES ${properties} RUN_SERIAL TRUE
                         DISCOVERY_TIMEOUT 60)
    set(others TEST_FILTER -${ARG_ALONE})
  endif()
  gtest_discover_tests(${name} ${others} PROPERTIES ${properties} DISCOVERY_TIMEOUT 60)
endfunction()

# epochbench_embed(TARGET NAMESPACE FILES ...): embeds files in the binary, which finds them by name.
include(EpochbenchEmbed)
