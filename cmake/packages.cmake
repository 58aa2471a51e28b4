# `cpack` in the build folder: Debian's packages, one a component of cmake/install.cmake, and a relocatable archive of all
# of them with the libraries that they need. See docs/packaging.md.

set(SPLATSMITH_PACKAGE_CONTACT "Splatsmith maintainers <maintainers@splatsmith.invalid>" CACHE STRING
  "Who makes the packages, as their field Maintainer says")
set(packages splatsmith libsplatsmith0 libsplatsmith-program0 libsplatsmith-dev)
foreach(module cuda mpi)
  if(TARGET splatsmith_${module})
    list(APPEND packages splatsmith-${module})
  endif()
endforeach()

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME splatsmith)
set(CPACK_PACKAGE_CONTACT "${SPLATSMITH_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VENDOR "")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own, below
set(CPACK_COMPONENTS_ALL ${packages})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_THREADS 0)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/prepare.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/finish.cmake)
set(CPACK_SPLATSMITH_SOURCE ${CMAKE_SOURCE_DIR}) # what prepare.cmake reads
set(CPACK_SPLATSMITH_LIBDIR ${CMAKE_INSTALL_LIBDIR})
set(CPACK_SPLATSMITH_STRIP ${CMAKE_STRIP})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)

# the archive: one folder, to be unpacked anywhere
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_SYSTEM_NAME linux-${CMAKE_SYSTEM_PROCESSOR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/shared/${CMAKE_INSTALL_LIBDIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/packaging/generator.cmake)

# debian_package(NAME SECTION DEPENDS DESCRIPTION): the description's first line is the synopsis.
function(debian_package name section depends description)
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
endfunction()

# what splatsmith.pc names for those who link the static library
set(static_needs libturbojpeg0-dev libpng-dev zlib1g-dev libjansson-dev)
foreach(need EXPAT=libexpat1-dev ZSTD=libzstd-dev WEBP=libwebp-dev CIVETWEB=libcivetweb-dev)
  string(REPLACE "=" ";" need ${need})
  list(GET need 0 option)
  if(${option}_FOUND)
    list(APPEND static_needs ${need})
    list(REMOVE_ITEM static_needs ${option})
  endif()
endforeach()
list(JOIN static_needs ", " static_needs)

# Programs that find the cameras of photos and read videos: apt installs them unless it is asked not to.
set(CPACK_DEBIAN_SPLATSMITH_PACKAGE_RECOMMENDS "colmap, ffmpeg")

set(same "(= ${PROJECT_VERSION})")
set(about "Splatsmith trains Gaussian splats (Mip-Splatting) from photos, measures and
renders them, lays them on surfaces, and makes textured meshes (SuGaR).
.
This package has")
debian_package(splatsmith graphics "libsplatsmith-program0 ${same}, libsplatsmith0 ${same}"
"photos in, a Gaussian splat and a textured mesh out
${about} the command-line program.")
debian_package(libsplatsmith0 libs ""
"trainer of Gaussian splats, the library
${about} the shared library, with the backend for the CPU.")
debian_package(libsplatsmith-program0 libs "libsplatsmith0 ${same}"
"trainer of Gaussian splats, the viewer's library
${about} the shared library of the viewer, of the search for cameras
and of the built-in scenes.")
debian_package(libsplatsmith-dev libdevel "libsplatsmith-program0 ${same}, libsplatsmith0 ${same}, ${static_needs}"
"trainer of Gaussian splats, development files
${about} the headers, the static libraries, and what pkg-config and
CMake ask for.")
debian_package(splatsmith-cuda contrib/graphics "libsplatsmith0 ${same}"
"trainer of Gaussian splats, the backend for NVIDIA GPUs
${about} the module that the library opens where there is an NVIDIA
GPU and its driver. The CUDA runtime is part of it.")
debian_package(splatsmith-mpi graphics "libsplatsmith0 ${same}"
"trainer of Gaussian splats, the module for MPI
${about} the module that lets several processes, on one host or
several, train one splat.")

# the control files of the two libraries
math(EXPR next_minor "${PROJECT_VERSION_MINOR} + 1")
foreach(library libsplatsmith libsplatsmith-program)
  set(package ${library}${PROJECT_VERSION_MAJOR})
  string(TOUPPER ${package} upper)
  set(control ${CMAKE_BINARY_DIR}/generated/debian/${package})
  configure_file(${CMAKE_SOURCE_DIR}/packaging/debian/${package}.symbols ${control}/symbols COPYONLY)
  configure_file(${CMAKE_SOURCE_DIR}/packaging/debian/${package}.triggers ${control}/triggers COPYONLY)
  file(WRITE ${control}/shlibs "${library} ${PROJECT_VERSION_MAJOR} ${package} (>= ${PROJECT_VERSION}), \
${package} (<< ${PROJECT_VERSION_MAJOR}.${next_minor}~)\n")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${control}/symbols ${control}/triggers ${control}/shlibs)
  if(CMAKE_INSTALL_LIBDIR MATCHES "-linux-gnu") # CPack knows the field from CMake 3.31 on
    set(CPACK_DEBIAN_${upper}_PACKAGE_MULTIARCH same)
  endif()
endforeach()
if(CMAKE_INSTALL_LIBDIR MATCHES "-linux-gnu")
  set(CPACK_DEBIAN_LIBSPLATSMITH-DEV_PACKAGE_MULTIARCH same)
endif()
include(CPack)
