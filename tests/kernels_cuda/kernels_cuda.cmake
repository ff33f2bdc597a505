# Our own CUDA kernels, compiled for the CPU by the C++ compiler, and their tests; see support/cuda_on_cpu.h. They need CUDA's
# headers, but no GPU and no nvcc.
find_path(EPOCHBENCH_CUDA_HEADERS cuda_runtime.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include
  PATHS /usr/local/cuda/include /opt/cuda/include
  DOC "Where CUDA's headers are")
if(NOT EPOCHBENCH_CUDA_HEADERS)
  message(STATUS "CUDA headers not found: skipping the tests of the CUDA kernels. Set CUDA_HOME to the folder of the toolkit.")
  return()
endif()

file(GLOB cuda_kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu)
# Kernels load up to several rows and use only what they loaded, which the compiler cannot prove. Constants of launches are used by
# nvcc's syntax alone.
set(cuda_on_cpu_options
  -x c++ -include ${CMAKE_CURRENT_SOURCE_DIR}/support/cuda_on_cpu.h -Wno-unknown-pragmas -Wno-uninitialized
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:Clang>:-Wno-unused-const-variable>)
# Properties of source files apply in this folder only: the CUDA build in kernels/ does not see them.
set_source_files_properties(${cuda_kernel_sources} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${cuda_on_cpu_options}")
# The threads of a block are announced to ThreadSanitizer explicitly; it must not see the stack switches themselves.
set(cuda_on_cpu_sources
  support/cuda_clock.cpp
  support/cuda_on_cpu.cpp
  support/cuda_on_cpu_block.cpp
  support/cuda_on_cpu_check.cpp
  support/cuda_on_cpu_fiber.cpp
  support/cuda_on_cpu_warp.cpp)
set_source_files_properties(${cuda_on_cpu_sources} PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)

add_library(epochbench_cuda_on_cpu STATIC ${cuda_on_cpu_sources})
target_link_libraries(epochbench_cuda_on_cpu PUBLIC epochbench_options)
target_compile_options(epochbench_cuda_on_cpu PRIVATE ${epochbench_loop_options})
target_include_directories(epochbench_cuda_on_cpu SYSTEM PUBLIC ${EPOCHBENCH_CUDA_HEADERS})
string(FIND "${EPOCHBENCH_SANITIZE}" thread at)
set(cuda_on_cpu_definitions $<$<NOT:$<EQUAL:${at},-1>>:EPOCHBENCH_TSAN=1>)
target_compile_definitions(epochbench_cuda_on_cpu PUBLIC ${cuda_on_cpu_definitions})

add_library(epochbench_kernels_cuda_on_cpu STATIC ${cuda_kernel_sources} ${PROJECT_SOURCE_DIR}/kernels/cuda/specs.cpp)
target_link_libraries(epochbench_kernels_cuda_on_cpu PUBLIC epochbench_cuda_on_cpu)
target_compile_options(epochbench_kernels_cuda_on_cpu PRIVATE ${epochbench_loop_options})
set_target_properties(epochbench_kernels_cuda_on_cpu PROPERTIES EPOCHBENCH_ALIGNED ON)

add_library(epochbench_cuda_kernel_sweep STATIC support/op_tensor.cpp support/cuda_kernel_sweep_cpu.cpp)
target_link_libraries(epochbench_cuda_kernel_sweep PUBLIC epochbench_options GTest::gtest)

add_library(epochbench_cuda_device_pointers OBJECT support/cuda_device_pointers.cpp)
target_link_libraries(epochbench_cuda_device_pointers PRIVATE epochbench_cuda_kernel_sweep)
if(EPOCHBENCH_HAS_CUDA)
  add_library(epochbench_cuda_kernel_sweep_gpu STATIC support/op_tensor.cpp support/cuda_kernel_sweep_gpu.cpp)
  target_link_libraries(epochbench_cuda_kernel_sweep_gpu PUBLIC epochbench_options CUDA::cudart_static GTest::gtest)
endif()

# epochbench_gpu_kernel_tests(NAME TESTS FOLDER/NAME ... [LIBRARIES ...]): the tests with the kernels of the GPU, in the program
# NAME_gpu. What the program NAME has compiled is linked, where there is one.
function(epochbench_gpu_kernel_tests name)
  cmake_parse_arguments(ARG "" "" "TESTS;LIBRARIES" ${ARGN})
  list(TRANSFORM ARG_TESTS APPEND .cpp OUTPUT_VARIABLE tests)
  if(TARGET ${name})
    set(tests $<TARGET_OBJECTS:${name}>)
  endif()
  add_executable(${name}_gpu ${tests})
  set_target_properties(${name}_gpu PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name}_gpu PRIVATE epochbench_options ${ARG_LIBRARIES} epochbench_kernels_cuda epochbench_kernels_reference
                        epochbench_test_support epochbench_cuda_kernel_sweep_gpu GTest::gmock_main)
  gtest_discover_tests(${name}_gpu TEST_PREFIX gpu. PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "no GPU: "
                       DISCOVERY_TIMEOUT 60)
endfunction()

# epochbench_cuda_kernel_test(NAME): tests/kernels_cuda/NAME.cpp with the kernels on the CPU and the
# reference; where CUDA is built, also NAME_gpu with those of the GPU.
function(epochbench_cuda_kernel_test name)
  if(NOT EPOCHBENCH_TESTS STREQUAL "GPU")
    epochbench_test(kernels_cuda/${name} LABEL parity LIBRARIES epochbench_cuda_kernel_sweep epochbench_kernels_cuda_on_cpu
                    epochbench_kernels_reference epochbench_cuda_device_pointers)
  endif()
  if(EPOCHBENCH_HAS_CUDA)
    epochbench_gpu_kernel_tests(${name} TESTS kernels_cuda/${name})
  endif()
endfunction()

epochbench_test(kernels_cuda/cuda_on_cpu_test LABEL unit INSTRUMENTED LIBRARIES epochbench_cuda_kernel_sweep epochbench_cuda_on_cpu)
# The same machine with the stack switch for processors other than x86-64.
if(NOT EPOCHBENCH_SANITIZE)
  add_library(epochbench_cuda_on_cpu_ucontext STATIC ${cuda_on_cpu_sources})
  target_link_libraries(epochbench_cuda_on_cpu_ucontext PUBLIC epochbench_options)
  target_include_directories(epochbench_cuda_on_cpu_ucontext SYSTEM PUBLIC ${EPOCHBENCH_CUDA_HEADERS})
  target_compile_definitions(epochbench_cuda_on_cpu_ucontext PUBLIC EPOCHBENCH_UCONTEXT=1)
  add_executable(cuda_on_cpu_ucontext_test kernels_cuda/cuda_on_cpu_test.cpp)
  target_link_libraries(cuda_on_cpu_ucontext_test PRIVATE
    epochbench_cuda_kernel_sweep epochbench_cuda_on_cpu_ucontext epochbench_test_support GTest::gmock_main)
  gtest_discover_tests(cuda_on_cpu_ucontext_test TEST_PREFIX ucontext. PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
endif()

epochbench_cuda_kernel_test(cuda_activation_test)
epochbench_cuda_kernel_test(cuda_attention_parts_test)
epochbench_cuda_kernel_test(cuda_batch_norm_sums_test)
epochbench_cuda_kernel_test(cuda_cross_entropy_test)
epochbench_cuda_kernel_test(cuda_decode_pixels_test)
epochbench_cuda_kernel_test(cuda_embedding_test)
epochbench_cuda_kernel_test(cuda_im2col_test)
epochbench_cuda_kernel_test(cuda_loss_scaling_test)
epochbench_cuda_kernel_test(cuda_transpose_test)
epochbench_test(kernels_cuda/cuda_grids_test LABEL parity LIBRARIES epochbench_cuda_kernel_sweep epochbench_kernels_cuda_on_cpu
                epochbench_kernels_reference)
if(EPOCHBENCH_SANITIZE)
  include(kernels_cuda/mutants.cmake)
endif()
if(EPOCHBENCH_SANITIZE MATCHES thread)
  epochbench_test(kernels_cuda/cuda_race_test LABEL parity LIBRARIES epochbench_cuda_kernel_sweep epochbench_kernels_cuda_on_cpu)
endif()
