# Builds runtime/kernels/*.cpp into object libraries. Sets LINGON_KERNEL_OBJECTS, to be added to
# the sources of the runtime module. Adding a kernel file needs no change here.
file(GLOB LINGON_KERNEL_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
list(FILTER LINGON_KERNEL_SOURCES EXCLUDE REGEX "registry\\.cpp$")
set(LINGON_KERNEL_OBJECTS)

function(lingon_kernel_objects name level)
  add_library(${name} OBJECT ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_17)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${name} PRIVATE -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast
    -fno-exceptions -fno-rtti)
  target_compile_definitions(${name} PRIVATE LINGON_KERNEL_LEVEL=${level})
  set(LINGON_KERNEL_OBJECTS ${LINGON_KERNEL_OBJECTS} $<TARGET_OBJECTS:${name}> PARENT_SCOPE)
endfunction()

# Instruction set levels to build (see LINGON_KERNEL_LEVEL in kernel.h). Packages carry all, so that one
# binary suits every machine; a build for this machine alone takes the one that it runs.
# -DLINGON_KERNEL_LEVELS=... overrides.
if(DEFINED LINGON_KERNEL_LEVELS)
  message(STATUS "Kernels for the instruction set levels ${LINGON_KERNEL_LEVELS}")
elseif(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(LINGON_KERNEL_LEVELS 0)
else()
  set(LINGON_KERNEL_LEVELS 0 3 4)
  if(LINGON_SANITIZE)
    set(LINGON_KERNEL_LEVELS 0)
  elseif(LINGON_INPLACE AND EXISTS /proc/cpuinfo)
    set(LINGON_KERNEL_LEVELS 0)
    file(STRINGS /proc/cpuinfo LINGON_CPU_FLAGS REGEX "^flags" LIMIT_COUNT 1)
    if(LINGON_CPU_FLAGS MATCHES " avx2" AND LINGON_CPU_FLAGS MATCHES " fma" AND
       LINGON_CPU_FLAGS MATCHES " bmi2")
      set(LINGON_KERNEL_LEVELS 3)
      if(LINGON_CPU_FLAGS MATCHES " avx512f" AND LINGON_CPU_FLAGS MATCHES " avx512bw" AND
         LINGON_CPU_FLAGS MATCHES " avx512dq" AND LINGON_CPU_FLAGS MATCHES " avx512vl" AND
         LINGON_CPU_FLAGS MATCHES " avx512cd")
        set(LINGON_KERNEL_LEVELS 4)
      endif()
    endif()
  endif()
endif()

lingon_kernel_objects(lingon_kernel_registry 0 ${CMAKE_CURRENT_LIST_DIR}/registry.cpp)
set(LINGON_KERNEL_FLAGS_3 -march=haswell)
set(LINGON_KERNEL_FLAGS_4 -march=skylake-avx512 -mprefer-vector-width=512)
foreach(level IN LISTS LINGON_KERNEL_LEVELS)
  lingon_kernel_objects(lingon_kernels_v${level} ${level} ${LINGON_KERNEL_SOURCES})
  if(LINGON_KERNEL_FLAGS_${level})
    target_compile_options(lingon_kernels_v${level} PRIVATE ${LINGON_KERNEL_FLAGS_${level}})
  endif()
endforeach()
