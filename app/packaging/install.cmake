# What `cmake --install` puts where, in components: the program, the library for developers, and the module for mpirun.
# Paths lead from the program to the rest, so that what is installed can be moved as a whole.
include(GNUInstallDirs)
include(packaging/library.cmake)
install(TARGETS fhd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(TARGETS fhd_reader RUNTIME DESTINATION lib/fhd COMPONENT program)  # where io/files/installed_file.hpp looks
# Their run path is for the build folder alone.
foreach(program ${CMAKE_INSTALL_BINDIR}/fhd lib/fhd/fhd-reader)
  install(CODE "file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${program}\")" COMPONENT program)
endforeach()
if(TARGET fhd_mpi)
  install(TARGETS fhd_mpi LIBRARY DESTINATION lib/fhd COMPONENT mpi)  # where app/terminal/processes.cpp looks
endif()

if(TARGET fhd_dicom)
  install(TARGETS fhd_dicom LIBRARY DESTINATION lib/fhd COMPONENT dicom)  # where io/result/dicom.cpp looks
endif()

# Manual pages and completions, made from the options of the program whenever it is linked.
set(share ${CMAKE_CURRENT_BINARY_DIR}/share)
add_custom_command(TARGET fhd POST_BUILD COMMAND fhd options --folder ${share} VERBATIM)
install(DIRECTORY ${share}/ DESTINATION share COMPONENT program)

# The licence of the program and, of a binary, what FFTW makes of it.
file(READ ${CMAKE_CURRENT_LIST_DIR}/copyright copyright)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/copyright "${copyright}${license}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/copyright)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/app/docs/cluster.md
              ${PROJECT_SOURCE_DIR}/app/docs/batch.md
  DESTINATION share/doc/fhd COMPONENT program)
set(package_development libfhd-dev)
set(package_mpi fhd-mpi)
set(package_dicom fhd-dicom)
set(package_python python3-fhd)
foreach(component IN ITEMS mpi dicom python development)
  if((component STREQUAL development OR TARGET fhd_${component}) AND NOT SKBUILD)  # of a wheel: pyproject.toml
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright DESTINATION share/doc/${package_${component}}
      COMPONENT ${component})
  endif()
endforeach()

# --- Debian packages: cpack --config BUILD/CPackConfig.cmake -B FOLDER
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fhd)
set(CPACK_PACKAGE_VENDOR "the fhd authors")
set(CPACK_PACKAGE_CONTACT "the fhd authors <fhd@localhost>" CACHE STRING "Maintainer of Debian packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "From a scanner's trajectory and k-space data to an image, by direct sums over all voxels and samples.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME fhd)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS libopenblas0)  # opened at run time: no tool sees that
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "fhd-dicom, fhd-mpi")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The C++ library of fhd with its headers, for find_package(fhd) of CMake and for pkg-config.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfhd-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS libopenblas0)
find_program(dpkg_shlibdeps dpkg-shlibdeps)
if(dpkg_shlibdeps)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
endif()
if(TARGET fhd_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_COMPONENT_MPI_DESCRIPTION "What 'mpirun fhd recon' needs to share a scan out over processes.")
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME fhd-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "fhd (= ${PROJECT_VERSION}), openmpi-bin")
endif()
if(TARGET fhd_dicom)
  list(APPEND CPACK_COMPONENTS_ALL dicom)
  set(CPACK_COMPONENT_DICOM_DESCRIPTION "What 'fhd recon --dicom' needs to write DICOM series.")
  set(CPACK_DEBIAN_DICOM_PACKAGE_NAME fhd-dicom)
  set(CPACK_DEBIAN_DICOM_PACKAGE_SHLIBDEPS ${CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS})
  set(CPACK_DEBIAN_DICOM_PACKAGE_DEPENDS "fhd (= ${PROJECT_VERSION})")
endif()
if(TARGET fhd_python)  # of the Python that it was built with: Debian's own, for a package
  find_package(Python COMPONENTS Interpreter)
  math(EXPR next "${Python_VERSION_MINOR} + 1")
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The Python package fhd: reconstruction and exact operators on arrays.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-fhd)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ${CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS})
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy, libopenblas0")
endif()
include(CPack)
