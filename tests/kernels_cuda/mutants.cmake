# Our CUDA kernels with one fault each, for cuda_mutants_test: running them on the CPU under a sanitizer must find every fault.

# epochbench_cuda_mutant(NAME FILE NTH FIND REPLACE [KERNELS]): kernels/cuda/FILE with the NTH occurrence of FIND replaced.
# Its kernels, or KERNELS that include it, lie in namespace epochbench::NAME instead of epochbench::cuda.
function(epochbench_cuda_mutant name file nth find replace)
  set(original ${PROJECT_SOURCE_DIR}/kernels/cuda/${file})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
  set(mutated ${folder}/kernels/cuda/${file})
  add_custom_command(OUTPUT ${mutated}
    COMMAND ${CMAKE_COMMAND} -DFILE=${original} -DOUTPUT=${mutated} -DFIND=${find} -DREPLACE=${replace} -DNTH=${nth}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.cmake
    DEPENDS ${original} support/mutate.cmake VERBATIM)
  if(ARGN)
    set(kernels ${PROJECT_SOURCE_DIR}/kernels/cuda/${ARGN})
  else()
    set(kernels ${mutated})
    set_source_files_properties(${mutated} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${cuda_on_cpu_options}")
  endif()
  add_library(epochbench_cuda_mutant_${name} OBJECT ${kernels} ${mutated})
  target_link_libraries(epochbench_cuda_mutant_${name} PRIVATE epochbench_cuda_on_cpu)
  target_include_directories(epochbench_cuda_mutant_${name} BEFORE PRIVATE ${folder})
  target_compile_definitions(epochbench_cuda_mutant_${name} PRIVATE cuda=${name})
  target_compile_options(epochbench_cuda_mutant_${name} PRIVATE -O1)  # many to compile, and they run briefly
  set_target_properties(epochbench_cuda_mutant_${name} PROPERTIES EPOCHBENCH_ALIGNED ON)
  target_sources(cuda_mutants_test PRIVATE $<TARGET_OBJECTS:epochbench_cuda_mutant_${name}>)
endfunction()

epochbench_tests(cuda_mutants_test LABEL parity INSTRUMENTED LIBRARIES epochbench_cuda_kernel_sweep epochbench_kernels_cuda_on_cpu
                 epochbench_kernels_reference TESTS kernels_cuda/cuda_mutants_test kernels_cuda/cuda_step_mutants_test)

if(EPOCHBENCH_SANITIZE MATCHES thread)
  set(no_barrier "static_cast<void>(0)")
  epochbench_cuda_mutant(no_barrier_in_tree activation.cu 1 "__syncthreads()" ${no_barrier})
  epochbench_cuda_mutant(no_barrier_in_last_sum sum_partials.cuh 1 "__syncthreads()" ${no_barrier} activation.cu)
  epochbench_cuda_mutant(no_barrier_in_moments batch_norm.cu 1 "__syncthreads()" ${no_barrier})
  epochbench_cuda_mutant(no_barrier_in_gradient_sums batch_norm_grad.cu 1 "__syncthreads()" ${no_barrier})
  epochbench_cuda_mutant(no_barrier_before_reuse device_code.cuh 1 "__syncthreads()" ${no_barrier} layer_norm.cu)
  epochbench_cuda_mutant(no_barrier_before_reading device_code.cuh 2 "__syncthreads()" ${no_barrier} layer_norm.cu)
  epochbench_cuda_mutant(no_barrier_between_warps layer_norm.cuh 1 "if (turn > 0) __syncthreads()" ${no_barrier}
                         add_layer_norm.cu)
  epochbench_cuda_mutant(no_barrier_before_partials layer_norm.cuh 2 "__syncthreads()" ${no_barrier} add_layer_norm.cu)
  epochbench_cuda_mutant(no_barrier_between_taps depthwise_conv2d_grad_weight.cu 1 "if (tap > 0) __syncthreads()" ${no_barrier})
  epochbench_cuda_mutant(no_barrier_in_pixels decode_pixels.cu 1 "__syncthreads()" ${no_barrier})
  epochbench_cuda_mutant(no_barrier_in_softmax attention.cu 1 "__syncthreads()" ${no_barrier})
  epochbench_cuda_mutant(no_barrier_in_log_sum cross_entropy.cu 1 "__syncthreads()" ${no_barrier})
else()
  epochbench_cuda_mutant(sum_of_the_next_elements add_layer_norm.cu 1 "store_registers(sum + i" "store_registers(sum + i + kSize")
  epochbench_cuda_mutant(copies_of_the_next_elements optimizer.cu 1 "static_cast<T*>(copy) + at" "static_cast<T*>(copy) + at + kSize")
  epochbench_cuda_mutant(store_beyond_the_end elementwise.cuh 1 "last < n" "last <= n" activation.cu)
  epochbench_cuda_mutant(load_beyond_the_end elementwise.cuh 1 "at >= packs" "at > packs" activation.cu)
  epochbench_cuda_mutant(shared_array_too_small activation.cu 1 "kStripThreads*(kSize + 1)" "kStripThreads * (kSize + 1) - 2")
  epochbench_cuda_mutant(misaligned_load elementwise.cuh 1 "load_registers<kCount>(a + " "load_registers<kCount>(a + 1 + "
                         activation.cu)
endif()
