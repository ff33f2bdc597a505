# Tests of kernels that the CPU and CUDA both have, against the reference. Each is described once and run on every device.
#
# epochbench_op_tests(NAME TEST ... [AMX]): with the kernels of the CPU in the program NAME, where CUDA's headers are with those of
# CUDA compiled for the CPU in cuda_NAME, and where CUDA is built with those of a GPU in cuda_NAME_gpu. AMX: also with the AMX kernels
# on a model of its instructions, for ops that multiply matrices.
if(NOT EPOCHBENCH_TESTS STREQUAL "GPU")
  add_library(epochbench_cpu_op_devices STATIC support/cpu_op_devices.cpp support/op_tensor.cpp)
  target_link_libraries(epochbench_cpu_op_devices PUBLIC epochbench_kernels_cpu epochbench_kernels_reference GTest::gtest)
endif()
if(TARGET epochbench_cuda_kernel_sweep)
  add_library(epochbench_cuda_op_devices STATIC support/cuda_op_devices.cpp support/cuda_composed_ops.cpp)
  target_link_libraries(epochbench_cuda_op_devices PUBLIC epochbench_options GTest::gtest)
endif()

function(epochbench_op_tests name)
  cmake_parse_arguments(ARG "AMX" "" "" ${ARGN})
  set(tests ${ARG_UNPARSED_ARGUMENTS})
  if(NOT EPOCHBENCH_TESTS STREQUAL "GPU")
    set(amx)
    if(ARG_AMX)
      set(amx epochbench_kernels_cpu_with_model)
    endif()
    epochbench_tests(${name} LABEL parity LIBRARIES epochbench_cpu_op_devices ${amx} TESTS ${tests})
    if(TARGET epochbench_cuda_op_devices)
      epochbench_tests(cuda_${name} LABEL parity PREFIX cuda. TESTS ${tests} LIBRARIES epochbench_cuda_op_devices
                       epochbench_cuda_kernel_sweep epochbench_kernels_cuda_on_cpu epochbench_kernels_reference
                       epochbench_cuda_device_pointers)
    endif()
  endif()
  if(EPOCHBENCH_HAS_CUDA)
    epochbench_gpu_kernel_tests(cuda_${name} LIBRARIES epochbench_cuda_op_devices TESTS ${tests})
  endif()
endfunction()

epochbench_op_tests(elementwise_tests kernels/elementwise_test kernels/bias_test)
epochbench_op_tests(dropout_test kernels/dropout_test)
epochbench_op_tests(image_gate_tests kernels/concatenate_test kernels/depthwise_conv2d_test kernels/gates_test)
epochbench_op_tests(pool_test kernels/pool_test)
epochbench_op_tests(llama_kernel_tests kernels/rms_norm_test kernels/rotary_test)
epochbench_op_tests(batch_norm_test kernels/batch_norm_test)
epochbench_op_tests(layer_norm_test kernels/layer_norm_test)
epochbench_op_tests(add_layer_norm_test kernels/add_layer_norm_test)
epochbench_op_tests(integer_input_tests kernels/cross_entropy_test kernels/embedding_test)
epochbench_op_tests(attention_test kernels/attention_test AMX)
epochbench_op_tests(lstm_test kernels/lstm_test AMX)
epochbench_op_tests(optimizer_test kernels/optimizer_test)
epochbench_op_tests(cast_test kernels/cast_test)
