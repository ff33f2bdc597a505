# Options that all targets share, and functions that create targets.

# Set in continuous integration; a user's compiler may know more warnings than ours.
option(EPOCHBENCH_WERROR "Warnings are errors")

add_library(epochbench_options INTERFACE)
target_include_directories(epochbench_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_options(epochbench_options INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic$<$<BOOL:${EPOCHBENCH_WERROR}>:;-Werror>>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ collects garbage from 128 MiB on, a tenth of its time; the largest files need 1 GiB in any case.
  target_compile_options(epochbench_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positives in std::string: of GCC 12 in operator+, and with precompiled headers in insert.
  target_compile_options(epochbench_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  set(epochbench_text_options -Wno-stringop-overflow -Wno-array-bounds)
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

# Code that runs for moments takes longer to optimize than it runs. Graphs of large models are built at -O1, the rest at -Og.
# Headers that most files include are precompiled for each: timed, brief, and with JSON; unless there is a compiler cache, which works
# better without. Like the unity build, they hide missing includes.
set(epochbench_brief_options $<$<CONFIG:Release>:-O1>)
set(epochbench_json_options $<$<CONFIG:Release>:-Og>)
set(EPOCHBENCH_PRECOMPILED_HEADERS OFF)
if(EPOCHBENCH_UNITY_BUILD AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(EPOCHBENCH_PRECOMPILED_HEADERS ON)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/headers.cpp CONTENT "// compiled only for its headers\n")
  foreach(headers epochbench_timed_headers epochbench_brief_headers epochbench_json_headers)
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/generated/headers.cpp)
    target_link_libraries(${headers} PRIVATE epochbench_options)
    target_precompile_headers(${headers} PRIVATE <algorithm> <array> <cmath> <filesystem> <functional> <map> <memory> <optional> <set>
      <span> <stdexcept> <string> <string_view> <utility> <vector>)
  endforeach()
  target_precompile_headers(epochbench_json_headers PRIVATE <nlohmann/json.hpp>)
  target_link_libraries(epochbench_json_headers PRIVATE nlohmann_json::nlohmann_json)
  target_compile_options(epochbench_brief_headers PRIVATE ${epochbench_brief_options})
  target_compile_options(epochbench_json_headers PRIVATE ${epochbench_json_options})
endif()

# A sanitizer's build need not compile what that sanitizer does not check: tests, for AddressSanitizer, and libraries UNCHECKED_BY it.
set(EPOCHBENCH_RELEASE_BUILD "" CACHE PATH "Build folder of an up-to-date release with all kernels, from which a sanitizer's build links these")

# epochbench_of_release(NAME LIBRARIES ...): the library NAME of this folder, as EPOCHBENCH_RELEASE_BUILD has it.
function(epochbench_of_release name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(RELATIVE_PATH folder ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  add_library(${name} STATIC IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${EPOCHBENCH_RELEASE_BUILD}/${folder}/lib${name}.a)
  target_link_libraries(${name} INTERFACE epochbench_options ${ARG_LIBRARIES})
endfunction()

# epochbench_library(NAME [TOGETHER] [TIMED | KERNELS | JSON] [UNCHECKED_BY address thread] SOURCES ... LIBRARIES ...): a static library of
# this folder. TOGETHER: a unity build, which takes a third of the time; the files must not define the same local names. TIMED: the code
# runs within timed steps or over whole data sets, and a release optimizes it fully; other code runs for moments. KERNELS: timed loops
# over numbers, which include little. JSON: most files include src/base/json.h.
function(epochbench_library name)
  cmake_parse_arguments(ARG "TOGETHER;TIMED;KERNELS;JSON" "" "UNCHECKED_BY;SOURCES;LIBRARIES" ${ARGN})
  foreach(sanitizer IN LISTS ARG_UNCHECKED_BY)
    if(EPOCHBENCH_RELEASE_BUILD AND EPOCHBENCH_SANITIZE MATCHES ${sanitizer})
      epochbench_of_release(${name} LIBRARIES ${ARG_LIBRARIES})
      return()
    endif()
  endforeach()
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_TOGETHER)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${EPOCHBENCH_UNITY_BUILD})
    if(ARG_JSON)
      set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
    endif()
  endif()
  set(headers epochbench_timed_headers)
  if(NOT ARG_TIMED AND NOT ARG_KERNELS)
    set(headers epochbench_brief_headers)
    set(options ${epochbench_brief_options})
    if(ARG_JSON)
      set(headers epochbench_json_headers)
      set(options ${epochbench_json_options})
    endif()
    target_compile_options(${name} PRIVATE ${options})
  endif()
  if(NOT ARG_KERNELS)
    target_compile_options(${name} PRIVATE ${epochbench_text_options})
    if(TARGET ${headers})
      target_precompile_headers(${name} REUSE_FROM ${headers})
    endif()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    # The same pictures and answers on every machine: fused multiply-adds, which x86-64 lacks, round differently.
    target_compile_options(${name} PRIVATE -ffp-contract=off)
  endif()
  target_link_libraries(${name} PUBLIC epochbench_options ${ARG_LIBRARIES})
endfunction()

# epochbench_test(FOLDER/NAME LABEL unit|parity|gpu|slow LIBRARIES ...): the program NAME of tests/FOLDER/NAME.cpp, one ctest per
# TEST(). ALONE names those, by a pattern, beside which no other test may run; RELEASE those that only a release needs. INSTRUMENTED:
# AddressSanitizer checks the test's own code, too.
function(epochbench_test path)
  get_filename_component(name ${path} NAME)
  epochbench_tests(${name} TESTS ${path} ${ARGN})
endfunction()

# epochbench_program(NAME SOURCES ... LIBRARIES ...): a program whose own code runs for moments.
function(epochbench_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${epochbench_brief_options} ${epochbench_text_options})
  if(TARGET epochbench_brief_headers)
    target_precompile_headers(${name} REUSE_FROM epochbench_brief_headers)
  endif()
  target_link_libraries(${name} PRIVATE epochbench_options ${ARG_LIBRARIES})
endfunction()

# The objects that EPOCHBENCH_RELEASE_BUILD has made of the tests of the program NAME.
set(epochbench_batch 8)  # files of a unity build that are compiled together
function(epochbench_compiled_tests result name)
  list(LENGTH ARGN count)
  set(objects ${ARGN})
  if(count GREATER 1 AND EPOCHBENCH_UNITY_BUILD)
    math(EXPR last "(${count} - 1) / ${epochbench_batch}")
    set(objects "")
    foreach(index RANGE ${last})
      list(APPEND objects Unity/unity_${index}_cxx.cxx)
    endforeach()
  else()
    list(TRANSFORM objects APPEND .cpp)
  endif()
  list(TRANSFORM objects PREPEND ${EPOCHBENCH_RELEASE_BUILD}/tests/CMakeFiles/${name}.dir/)
  list(TRANSFORM objects APPEND .o)
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

# epochbench_tests(NAME LABEL ... LIBRARIES ... TESTS FOLDER/NAME ...): the program NAME of several such files, compiled TOGETHER.
# PREFIX precedes the names of the tests.
function(epochbench_tests name)
  cmake_parse_arguments(ARG "INSTRUMENTED" "LABEL;PREFIX;ALONE;RELEASE" "LIBRARIES;TESTS" ${ARGN})
  list(LENGTH ARG_TESTS count)
  if(EPOCHBENCH_RELEASE_BUILD AND EPOCHBENCH_SANITIZE MATCHES address AND NOT ARG_INSTRUMENTED)
    epochbench_compiled_tests(sources ${name} ${ARG_TESTS})
  else()
    list(TRANSFORM ARG_TESTS PREPEND ${PROJECT_SOURCE_DIR}/tests/ OUTPUT_VARIABLE sources)
    list(TRANSFORM sources APPEND .cpp)
  endif()
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  if(count GREATER 1)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${EPOCHBENCH_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE ${epochbench_batch})
  endif()
  target_link_libraries(${name} PRIVATE epochbench_options ${ARG_LIBRARIES} epochbench_test_support GTest::gmock_main)
  target_compile_options(${name} PRIVATE ${epochbench_test_options})
  if(NOT ARG_INSTRUMENTED)
    target_compile_options(${name} PRIVATE ${epochbench_plain_options})
  endif()
  if(TARGET epochbench_test_headers AND NOT (ARG_INSTRUMENTED AND epochbench_plain_options))
    target_precompile_headers(${name} REUSE_FROM epochbench_test_headers)
  endif()
  # Teams exceed the number of cores, and several tests run at once: spinning threads would occupy the others' cores.
  set(properties LABELS ${ARG_LABEL} ENVIRONMENT OMP_WAIT_POLICY=passive)
  if(EPOCHBENCH_SANITIZE)  # sanitized programs start slowly, so each is one test
    if(ARG_LABEL MATCHES "slow|gpu")
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    else()
      add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 --gtest_filter=-${slow_under_sanitizers})
      set_tests_properties(${name} PROPERTIES ${properties})
    endif()
    return()
  endif()
  if(ARG_ALONE)
    gtest_discover_tests(${name} TEST_FILTER ${ARG_ALONE} TEST_LIST ${name}_alone PROPERTIES ${properties} RUN_SERIAL TRUE
                         DISCOVERY_TIMEOUT 60)
    set(others TEST_FILTER -${ARG_ALONE})
  elseif(ARG_RELEASE)
    gtest_discover_tests(${name} TEST_FILTER ${ARG_RELEASE} TEST_LIST ${name}_release PROPERTIES ${properties} LABELS release
                         DISCOVERY_TIMEOUT 60)
    set(others TEST_FILTER -${ARG_RELEASE})
  endif()
  gtest_discover_tests(${name} ${others} TEST_PREFIX "${ARG_PREFIX}" PROPERTIES ${properties} DISCOVERY_TIMEOUT 60)
endfunction()

# epochbench_quoted(RESULT LIST): the list as the text of a C++ initializer: "a","b".
function(epochbench_quoted result list)
  list(TRANSFORM list REPLACE "^(.+)$" "\"\\1\"")
  list(JOIN list "," text)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# epochbench_embed(TARGET NAMESPACE FILES ...): embeds files in the binary, which finds them by name.
include(EpochbenchEmbed)
