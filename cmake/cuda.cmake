# Looks for nvcc (CUDACXX, PATH, CUDA_PATH, /usr/local/cuda) and the static runtime beside it. Where both are there,
# DLB_CUDA_MAJOR is set, and dlb_cuda(floor kernels.cu) adds kernels and runtime to a floor and defines DLB_HAVE_CUDA.

set(DLB_CUDA_MAJOR "")
if(DLB_WITH_CUDA)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(DLB_NVCC nvcc HINTS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
    if(DLB_NVCC)
      set(CMAKE_CUDA_COMPILER ${DLB_NVCC})
    endif()
  endif()
  # What nvcc compiles is host code for the common ABI: the system's gcc does, whatever compiles the rest. Architectures are
  # named below, once nvcc's release is known.
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    if(TARGET CUDA::cudart_static)
      string(REGEX MATCH "^[0-9]+" DLB_CUDA_MAJOR "${CMAKE_CUDA_COMPILER_VERSION}")
      if(DLB_CUDA_MAJOR LESS 12) # cudaGraphExecUpdate has other arguments there
        set(DLB_CUDA_MAJOR "")
      endif()
    endif()
  endif()
endif()

# Machine code for Turing, Ampere, Hopper and both kinds of Blackwell (from CUDA 12.8 on), as far as the toolkit knows them. For all
# others there is code that the driver compiles on the spot.
function(dlb_cuda_architectures out)
  set(real 75-real 80-real)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
    list(APPEND real 90-real 100 120-real)
  else()
    list(APPEND real 90)
  endif()
  set(${out} ${real} PARENT_SCOPE)
endfunction()

function(dlb_cuda floor kernels)
  if(NOT DLB_CUDA_MAJOR)
    if(CMAKE_CUDA_COMPILER AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
      message(STATUS "built without CUDA: nvcc ${CMAKE_CUDA_COMPILER_VERSION} is older than 12")
    else()
      message(STATUS "built without CUDA")
    endif()
    return()
  endif()
  message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}")
  dlb_cuda_architectures(architectures)
  # A library of its own: nvcc does not know gcc's flags, nor the sanitizers'.
  add_library(${floor}_kernels OBJECT ${kernels})
  target_include_directories(${floor}_kernels PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${floor}_kernels PRIVATE -lineinfo -Xcompiler=-Wall,-Wextra,-fno-omit-frame-pointer
    $<$<BOOL:${DLB_WERROR}>:-Werror=all-warnings>)
  set_target_properties(${floor}_kernels PROPERTIES CUDA_ARCHITECTURES "${architectures}" CUDA_STANDARD 17
    CUDA_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
  target_sources(${floor} PRIVATE $<TARGET_OBJECTS:${floor}_kernels>)
  target_link_libraries(${floor} PRIVATE CUDA::cudart_static)
  target_compile_definitions(${floor} PRIVATE DLB_HAVE_CUDA)
endfunction()
