# Our CUDA kernels with one fault each, for cuda_mutants_test: running them on the CPU must find every fault.

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

set(layer_mutants kernels_cuda/cuda_layer_mutants_test)
if(EPOCHBENCH_SANITIZE)  # all of them give wrong numbers
  set(layer_mutants "")
endif()
epochbench_tests(cuda_mutants_test LABEL parity LIBRARIES epochbench_cuda_kernel_sweep epochbench_kernels_cuda_on_cpu
                 epochbench_kernels_reference TESTS ${layer_mutants} kernels_cuda/cuda_mutants_test kernels_cuda/cuda_step_mutants_test)
if(EPOCHBENCH_SANITIZE MATCHES undefined)
  target_compile_definitions(cuda_mutants_test PRIVATE EPOCHBENCH_UBSAN=1)
endif()

if(NOT EPOCHBENCH_SANITIZE MATCHES address)  # which leaves out mutants that need other means
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
  epochbench_cuda_mutant(divergent_barrier device_code.cuh 1 "__syncthreads()" "if (threadIdx.x != 7) __syncthreads()"
                         layer_norm.cu)

  epochbench_cuda_mutant(half_a_warp_summed device_code.cuh 1 "kWarp / 2" "kWarp / 4" layer_norm.cu)
  epochbench_cuda_mutant(half_a_warp_named device_code.cuh 1 "= 0xffffffffu" "= 0xffffu" layer_norm.cu)
  epochbench_cuda_mutant(shuffle_of_half_width batch_norm.cu 1 "static_cast<unsigned>(offset))"
                         "static_cast<unsigned>(offset), 16)")
endif()

if(NOT EPOCHBENCH_SANITIZE)  # wrong numbers alone, which no sanitizer finds sooner
  epochbench_cuda_mutant(mask_of_the_next_elements philox.cuh 1 "(first + i) / 4" "(first + i) / 4 + 1" add_layer_norm.cu)
  epochbench_cuda_mutant(no_mask_in_the_gradient add_layer_norm.cu 2 "dropout.threshold > 0" "false")
  epochbench_cuda_mutant(three_times_the_query attention_heads.cu 1 "one_of(tensors.from, blockIdx.y)" "one_of(tensors.from, 0)")
  epochbench_cuda_mutant(rows_without_key_and_value attention_heads.cu 1 "input_stride(s)" "row_stride(s)")
  epochbench_cuda_mutant(channel_of_the_first_turn decode_pixels.cu 1 "channel += advance" "static_cast<void>(advance)")
  epochbench_cuda_mutant(rest_in_the_first_channel decode_pixels.cu 1 "last % channels" "0")
  epochbench_cuda_mutant(sums_about_zero batch_norm.cu 1 "{pivot[c], offset" "{0, offset")
  epochbench_cuda_mutant(squares_about_the_pivot batch_norm.cu 1 "sums[channels + c] - sums[c] * offset" "sums[channels + c]")
  epochbench_cuda_mutant(products_not_normalized batch_norm_grad.cu 1 "warp_sum(product) * inv_std[c]" "warp_sum(product)")
  epochbench_cuda_mutant(copies_of_the_other_type optimizer.cu 1 "copy_element == Element::bf16" "copy_element != Element::bf16")
  epochbench_cuda_mutant(copies_without_the_rest optimizer.cu 1 "!Update::kCopies" "kSize == 1")
  epochbench_cuda_mutant(logits_in_shorter_rows cross_entropy.cu 1 "logits + r * row_elements" "logits + r * (row_elements - 4)")
  epochbench_cuda_mutant(gradients_in_shorter_rows cross_entropy.cu 1 "dlogits + r * row_elements"
                         "dlogits + r * (row_elements - 4)")
  epochbench_cuda_mutant(gradients_over_padding cross_entropy.cu 1 "(n - head) / kSize" "(n - head + kSize - 1) / kSize")
  epochbench_cuda_mutant(gelu_of_the_product bias_gelu.cu 1 "Form{}(out, sum, sum" "Form{}(out, product, product")
  epochbench_cuda_mutant(sum_over_the_next_pack bias_gelu.cu 1 "store_registers(x + first" "store_registers(x + first + kCount")
  epochbench_cuda_mutant(rms_about_the_mean layer_norm.cuh 1 "kCentered ? warp_sum(sum) / n : 0" "warp_sum(sum) / n" layer_norm.cu)
  epochbench_cuda_mutant(columns_beyond_the_row rotary.cu 1 "if (column + 1 < s.columns) store" "store")
  epochbench_cuda_mutant(gates_of_the_first_row swiglu.cu 1 "at / s.columns * s.between" "0 * s.between")
  epochbench_cuda_mutant(taps_not_flipped depthwise_conv2d.cu 1 "kFlip ? kKernel - 1 - ky : ky" "ky")
  epochbench_cuda_mutant(share_of_the_mean_added scale_channels.cu 1 "element(mean, i) * share" "element(mean, i) + share")
  epochbench_cuda_mutant(padding_counted average_pool.cu 1 "zeros ? window" "!zeros ? window")
  epochbench_cuda_mutant(cell_before_the_first_step lstm.cu 1 "s.step == 0 ? 0 : gate[1]" "gate[1]")
endif()

epochbench_cuda_mutant(sum_of_the_next_elements add_layer_norm.cu 1 "store_registers(sum + i" "store_registers(sum + i + kSize")
epochbench_cuda_mutant(copies_of_the_next_elements optimizer.cu 1 "static_cast<T*>(copy) + at" "static_cast<T*>(copy) + at + kSize")
epochbench_cuda_mutant(store_beyond_the_end elementwise.cuh 1 "last < n" "last <= n" activation.cu)
epochbench_cuda_mutant(load_beyond_the_end elementwise.cuh 1 "at >= packs" "at > packs" activation.cu)
epochbench_cuda_mutant(shared_array_too_small activation.cu 1 "kStripThreads*(kSize + 1)" "kStripThreads * (kSize + 1) - 2")
epochbench_cuda_mutant(misaligned_load elementwise.cuh 1 "load_registers<kCount>(a + " "load_registers<kCount>(a + 1 + "
                       activation.cu)
