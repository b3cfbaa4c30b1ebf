# The library for others: libfhd.so with recon and the checks of its results, for find_package(fhd) and pkg-config. Who links
# it needs no other library and no CUDA toolkit. Its names are those of headers alone; app/docs/cpp.md describes them.
add_library(libfhd SHARED $<TARGET_OBJECTS:recon> $<TARGET_OBJECTS:checks>)
add_dependencies(fhd libfhd)  # what builds the program can be installed
target_link_libraries(libfhd PRIVATE $<TARGET_PROPERTY:recon,LINK_LIBRARIES> fmt::fmt)
target_compile_features(libfhd INTERFACE cxx_std_20)
target_compile_definitions(libfhd INTERFACE FHD_HAS_CUDA=$<BOOL:${FHD_HAS_CUDA}>)
target_include_directories(libfhd INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(FHD_SANITIZE)
  target_link_options(libfhd INTERFACE -fsanitize=address,undefined)
else()
  target_link_options(libfhd PRIVATE LINKER:--no-undefined)
endif()
set_target_properties(libfhd PROPERTIES OUTPUT_NAME fhd EXPORT_NAME fhd LINKER_LANGUAGE CXX FHD_SHARED_LIBRARIES ON
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/fhd)
write_basic_package_version_file(fhdConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH includes /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/fhd.pc CONTENT "Name: fhd
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I\${pcfiledir}/${includes} -DFHD_HAS_CUDA=$<BOOL:${FHD_HAS_CUDA}>
Libs: -L\${pcfiledir}/.. -lfhd$<$<BOOL:${FHD_SANITIZE}>: -fsanitize=address,undefined>
")
install(TARGETS libfhd EXPORT fhd LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT fhd NAMESPACE fhd:: FILE fhdConfig.cmake DESTINATION ${package} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fhdConfigVersion.cmake DESTINATION ${package} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fhd.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# <fhd/fhd.hpp> and what it includes: below fhd/, so that "recon/" of others stays theirs, and without warnings for them.
set(headers recon/error.hpp)
foreach(name IN ITEMS array complex device execution memory trace work)
  list(APPEND headers recon/array/${name}.hpp)
endforeach()
foreach(name IN ITEMS geometry message report scan settings trajectory_cache)
  list(APPEND headers recon/domain/${name}.hpp)
endforeach()
list(APPEND headers recon/pipeline/context.hpp recon/pipeline/frame_layout.hpp recon/pipeline/reconstruct.hpp
  recon/transform/transform.hpp)
install(CODE "
  foreach(header validation/fhd.hpp ${headers})
    file(READ \"${PROJECT_SOURCE_DIR}/\${header}\" text)
    string(REPLACE \"#include \\\"recon/\" \"#include \\\"fhd/recon/\" text \"\${text}\")
    string(REPLACE \"#pragma once\" \"#pragma once\n#pragma GCC system_header\" text \"\${text}\")
    string(REPLACE \"validation/\" \"\" header \"\${header}\")
    file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/fhd/\${header}\" \"\${text}\")
  endforeach()" COMPONENT development)
