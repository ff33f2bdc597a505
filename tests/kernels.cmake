epochbench_test(gemm_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(conv2d_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(activation_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(batch_norm_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(cross_entropy_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(optimizer_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(pool_test LABEL parity LIBRARIES epochbench_kernels_cpu epochbench_kernels_reference)
epochbench_test(reference_test LABEL unit LIBRARIES epochbench_kernels_reference)

# Optimised code only: otherwise the compiler keeps copies of what it could inline.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND CMAKE_BUILD_TYPE MATCHES "Release|RelWithDebInfo" AND NOT EPOCHBENCH_SANITIZE)
  foreach(isa avx2 avx512)
    if(TARGET epochbench_kernels_cpu_${isa})
      add_test(NAME KernelSymbols.${isa} COMMAND_EXPAND_LISTS
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/kernel_symbols.py ${CMAKE_NM} epochbench::cpu::${isa}
                $<TARGET_OBJECTS:epochbench_kernels_cpu_${isa}>)
      set_tests_properties(KernelSymbols.${isa} PROPERTIES LABELS unit)
    endif()
  endforeach()
endif()
