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

lingon_kernel_objects(lingon_kernel_registry 0 ${CMAKE_CURRENT_LIST_DIR}/registry.cpp)
lingon_kernel_objects(lingon_kernels_base 0 ${LINGON_KERNEL_SOURCES})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  lingon_kernel_objects(lingon_kernels_v3 3 ${LINGON_KERNEL_SOURCES})
  target_compile_options(lingon_kernels_v3 PRIVATE -march=haswell)
  lingon_kernel_objects(lingon_kernels_v4 4 ${LINGON_KERNEL_SOURCES})
  target_compile_options(lingon_kernels_v4 PRIVATE -march=skylake-avx512 -mprefer-vector-width=512)
endif()
