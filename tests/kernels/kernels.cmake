# The AMX kernels on a model of its instructions, for tests that run the kernels of every instruction set.
if(TARGET epochbench_kernels_cpu_amx_model)
  add_library(epochbench_amx_model OBJECT support/amx_model.cpp)
  target_link_libraries(epochbench_amx_model PUBLIC epochbench_options)
  target_compile_options(epochbench_amx_model PRIVATE -O2 -mfma)
  add_library(epochbench_kernels_cpu_with_model INTERFACE)
  target_sources(epochbench_kernels_cpu_with_model INTERFACE
    $<TARGET_OBJECTS:epochbench_kernels_cpu_amx_model> $<TARGET_OBJECTS:epochbench_kernels_cpu_amx_int8_model>
    $<TARGET_OBJECTS:epochbench_amx_model>)
  target_link_libraries(epochbench_kernels_cpu_with_model INTERFACE epochbench_kernels_cpu)
  epochbench_test(kernels/amx_model_test LABEL unit LIBRARIES epochbench_kernels_cpu_with_model)
  epochbench_test(kernels/amx_tiles_test LABEL unit LIBRARIES epochbench_kernels_cpu_with_model epochbench_kernels_reference)
else()
  add_library(epochbench_kernels_cpu_with_model ALIAS epochbench_kernels_cpu)
endif()

epochbench_test(kernels/gemm_test LABEL parity LIBRARIES epochbench_kernels_cpu_with_model epochbench_kernels_reference)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_library(epochbench_avx512_plan OBJECT support/avx512_plan.cpp)
  target_link_libraries(epochbench_avx512_plan PUBLIC epochbench_options)
  target_compile_definitions(epochbench_avx512_plan PRIVATE EPOCHBENCH_ISA=avx512_plan EPOCHBENCH_BF16=0 EPOCHBENCH_AMX=0)
  target_compile_options(epochbench_avx512_plan PRIVATE -march=x86-64-v4)
  add_library(epochbench_gemm_plan INTERFACE)
  target_sources(epochbench_gemm_plan INTERFACE $<TARGET_OBJECTS:epochbench_avx512_plan>)
  target_link_libraries(epochbench_gemm_plan INTERFACE epochbench_kernels_cpu)
  epochbench_test(kernels/gemm_plan_test LABEL unit LIBRARIES epochbench_gemm_plan)
  add_library(epochbench_amx_int8_plan OBJECT support/amx_int8_plan.cpp)
  target_link_libraries(epochbench_amx_int8_plan PUBLIC epochbench_options)
  target_compile_definitions(epochbench_amx_int8_plan PRIVATE EPOCHBENCH_ISA=amx_int8_plan EPOCHBENCH_BF16=0 EPOCHBENCH_AMX=1
    EPOCHBENCH_INT8=1 EPOCHBENCH_AMX_MODEL=1)
  target_compile_options(epochbench_amx_int8_plan PRIVATE -march=x86-64-v4 -mavx512vnni)
  add_library(epochbench_int8_plan INTERFACE)
  target_sources(epochbench_int8_plan INTERFACE $<TARGET_OBJECTS:epochbench_amx_int8_plan>)
  target_link_libraries(epochbench_int8_plan INTERFACE epochbench_kernels_cpu)
  epochbench_test(kernels/amx_int8_plan_test LABEL unit LIBRARIES epochbench_int8_plan)
endif()
epochbench_test(kernels/conv2d_test LABEL parity LIBRARIES epochbench_kernels_cpu_with_model epochbench_kernels_reference)
epochbench_test(kernels/conv2d_winograd_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(kernels/depthwise_stores_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_tests(int8_tests LABEL parity LIBRARIES epochbench_kernels_cpu_with_model epochbench_kernels_reference TESTS
  kernels/int8_test kernels/int8_codes_test)
epochbench_test(kernels/gelu_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(kernels/reference_test LABEL unit LIBRARIES epochbench_kernels_reference)
epochbench_test(kernels/shares_test LABEL unit)

# Optimized code only: otherwise the compiler keeps copies of inline functions.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND CMAKE_BUILD_TYPE MATCHES "Release|RelWithDebInfo" AND NOT EPOCHBENCH_SANITIZE)
  foreach(isa avx2 avx2_widened avx2_int8 avx_vnni avx512 avx512_widened avx512_bf16 amx_bf16 avx512_vnni amx_int8 neon neon_widened neon_bf16)
    if(TARGET epochbench_kernels_cpu_${isa})
      add_test(NAME KernelSymbols.${isa} COMMAND_EXPAND_LISTS
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/kernel_symbols.py ${CMAKE_NM} epochbench::cpu::${isa}
                $<FILTER:$<TARGET_OBJECTS:epochbench_kernels_cpu_${isa}>,INCLUDE,o$>)  # without a precompiled header
      set_tests_properties(KernelSymbols.${isa} PROPERTIES LABELS unit)
    endif()
  endforeach()
endif()
