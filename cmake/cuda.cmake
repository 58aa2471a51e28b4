# Decides whether the CUDA backend is compiled and says so in one line. Sets SPLATSMITH_HAS_CUDA.

# A GPU or its driver: the driver's devices (Linux, WSL) or its tool.
set(splatsmith_sees_gpu OFF)
find_program(SPLATSMITH_NVIDIA_SMI nvidia-smi)
mark_as_advanced(SPLATSMITH_NVIDIA_SMI)
if(EXISTS /dev/nvidiactl OR EXISTS /proc/driver/nvidia/version OR EXISTS /usr/lib/wsl/lib/libcuda.so.1
   OR SPLATSMITH_NVIDIA_SMI)
  set(splatsmith_sees_gpu ON)
endif()

# Line numbers hold the path of the sources: packages, which are the same bytes wherever they are built, lack them.
option(SPLATSMITH_CUDA_LINES "Keep the line numbers of CUDA kernels, for profilers; they name the folder of the sources" OFF)
set(SPLATSMITH_HAS_CUDA OFF)
set(splatsmith_why_cuda "a GPU or its driver is here")
if(NOT SPLATSMITH_CUDA STREQUAL "AUTO")
  set(splatsmith_why_cuda "SPLATSMITH_CUDA is ${SPLATSMITH_CUDA}")
elseif(NOT splatsmith_sees_gpu)
  set(splatsmith_why_cuda "SPLATSMITH_CUDA_ARCHITECTURES names them")
endif()
if(NOT SPLATSMITH_CUDA)
  set(splatsmith_no_cuda "SPLATSMITH_CUDA is OFF")
elseif(SPLATSMITH_CUDA STREQUAL "AUTO" AND NOT splatsmith_sees_gpu AND SPLATSMITH_CUDA_ARCHITECTURES STREQUAL "default")
  set(splatsmith_no_cuda "no NVIDIA GPU or driver is here; -DSPLATSMITH_CUDA=ON compiles it all the same")
else()
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(SPLATSMITH_CUDA_ARCHITECTURES STREQUAL "default")
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE capability
        ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE smi_failed)
      string(REGEX MATCH "^[0-9]+\\.[0-9]+" capability "${capability}")
      string(REPLACE "." "" capability "${capability}")
      if(smi_failed OR NOT capability)
        set(capability 90)
      endif()
      set(CMAKE_CUDA_ARCHITECTURES ${capability})
    else()
      set(CMAKE_CUDA_ARCHITECTURES ${SPLATSMITH_CUDA_ARCHITECTURES})
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    set(CMAKE_CUDA_FLAGS_RELEASE "-O3")
    if(SPLATSMITH_CUDA_LINES)
      string(APPEND CMAKE_CUDA_FLAGS_RELEASE " -lineinfo")
    endif()
    enable_language(CUDA)
    set(SPLATSMITH_HAS_CUDA ON)
    message(STATUS "CUDA backend: yes (${splatsmith_why_cuda}; nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures "
      "${CMAKE_CUDA_ARCHITECTURES})")
  else()
    set(splatsmith_no_cuda "nvcc is neither in the PATH nor in /usr/local/cuda/bin")
  endif()
endif()
if(NOT SPLATSMITH_HAS_CUDA)
  message(STATUS "CUDA backend: no (${splatsmith_no_cuda}); the CPU backend is complete")
endif()

# The module libsplatsmith-cuda.so: all that nvcc compiles, the CUDA runtime, so that it opens on a machine without a driver
# or toolkit and says what is missing, and of the static library the few plain functions that it calls.
function(splatsmith_cuda_module target)
  file(GLOB cuda_sources CONFIGURE_DEPENDS src/engine/backend/*.cu src/engine/ops/*/*.cu)
  set(exports ${CMAKE_SOURCE_DIR}/cmake/cuda_module.map)
  # The names that nvcc makes follow the file's place in the sources, not the moment, nor where the sources lie: nvcc tells
  # its front end the whole path, of two of which the last counts.
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
    include(CheckCompilerFlag)
    check_compiler_flag(CUDA -Xcudafe=--orig_src_path_name=name SPLATSMITH_CUDA_PATH_NAME)
    foreach(source ${cuda_sources})
      file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "--frandom-seed=${name};$<$<BOOL:${SPLATSMITH_CUDA_PATH_NAME}>:-Xcudafe=--orig_src_path_name=${name}>")
    endforeach()
  endif()
  # The host's bits: a*b+c stays two roundings.
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/engine/ops/agree/agree_cuda.cu
    ${CMAKE_SOURCE_DIR}/src/engine/ops/mesh_raster/mesh_raster_cuda.cu APPEND PROPERTY COMPILE_OPTIONS --fmad=false)
  add_library(${target} MODULE ${cuda_sources})
  target_link_libraries(${target} PRIVATE splatsmith_lib splat_flags)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wno-psabi
    -Xcompiler=-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. --expt-relaxed-constexpr -Xptxas=-v>)
  set_property(TARGET ${target} PROPERTY RULE_LAUNCH_COMPILE
    "\"${CMAKE_SOURCE_DIR}/cmake/keep_usage.sh\" <OBJECT>")
  target_link_options(${target} PRIVATE LINKER:--version-script=${exports} LINKER:--no-undefined LINKER:--as-needed
    $<$<NOT:$<BOOL:${SPLATSMITH_CUDA_LINES}>>:LINKER:-s>) # nvcc names its temporary files in symbols
  set_target_properties(${target} PROPERTIES OUTPUT_NAME splatsmith-cuda LINK_DEPENDS ${exports}
    LIBRARY_OUTPUT_DIRECTORY ${splatsmith_modules_folder}
    CUDA_RUNTIME_LIBRARY Static CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
endfunction()
