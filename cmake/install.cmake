# The files of `cmake --install`, and the documents that the program prints about itself: a man page, one for each of its
# commands (tests/check_install.sh compares them with `splatsmith --help`), and the completion.

set(splatsmith_table ${CMAKE_SOURCE_DIR}/src/program/line/commands.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${splatsmith_table})
file(STRINGS ${splatsmith_table} splatsmith_rows REGEX "^COMMAND\\([A-Z]")
list(FILTER splatsmith_rows EXCLUDE REGEX "HIDDEN")
foreach(row ${splatsmith_rows})
  string(REGEX REPLACE "^[^\"]*\"([a-z-]+)\".*$" "\\1" command ${row})
  list(APPEND splatsmith_commands ${command})
endforeach()
set(splatsmith_man ${CMAKE_BINARY_DIR}/man/splatsmith.1)
set(splatsmith_print_pages COMMAND splatsmith man > ${splatsmith_man})
foreach(command ${splatsmith_commands})
  set(page ${CMAKE_BINARY_DIR}/man/splatsmith-${command}.1)
  list(APPEND splatsmith_man ${page})
  list(APPEND splatsmith_print_pages COMMAND splatsmith man ${command} > ${page})
endforeach()
set(splatsmith_completion ${CMAKE_BINARY_DIR}/splatsmith.bash)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/man)
add_custom_command(OUTPUT ${splatsmith_man} ${splatsmith_completion}
  ${splatsmith_print_pages}
  COMMAND splatsmith completion bash > ${splatsmith_completion}
  DEPENDS splatsmith
  COMMENT "Printing the man pages and the bash completion"
  VERBATIM)
add_custom_target(splatsmith_documents ALL DEPENDS ${splatsmith_man} ${splatsmith_completion})

# The needs of the static libraries, for those who link them.
set(splatsmith_civetweb "")
if(CIVETWEB_FOUND)
  set(splatsmith_civetweb "-lcivetweb") # Debian's has no .pc file
endif()
set(splatsmith_expat "")
if(EXPAT_FOUND)
  set(splatsmith_expat "expat")
endif()
set(splatsmith_zstd "")
if(ZSTD_FOUND)
  set(splatsmith_zstd "libzstd")
endif()
set(splatsmith_webp "")
if(WEBP_FOUND)
  set(splatsmith_webp "libwebp")
endif()
# the .pc file finds its prefix from where it lies, whatever --prefix was
file(RELATIVE_PATH splatsmith_pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(name splatsmith splatsmith-program)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
endforeach()

# The same for find_package(splatsmith).
include(CMakePackageConfigHelpers)
set(splatsmith_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/splatsmith)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/splatsmith-config.cmake.in
  ${CMAKE_BINARY_DIR}/splatsmith-config.cmake INSTALL_DESTINATION ${splatsmith_cmake_folder}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/splatsmith-config-version.cmake COMPATIBILITY SameMinorVersion)

# Everything that is installed and nothing else: tests and samples are not compiled for it.
add_custom_target(installed DEPENDS splatsmith_program splatsmith-lpips-convert splatsmith_shared splatsmith_lib
  splatsmith_program_shared splatsmith_program_lib splatsmith_documents splatsmith_modules)

# Components are Debian's packages; see cmake/packages.cmake.
install(TARGETS splatsmith_program splatsmith-lpips-convert RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  COMPONENT splatsmith)
install(TARGETS splatsmith_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsplatsmith0
  NAMELINK_COMPONENT libsplatsmith-dev)
install(TARGETS splatsmith_program_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsplatsmith-program0
  NAMELINK_COMPONENT libsplatsmith-dev)
install(TARGETS splatsmith_lib splatsmith_program_lib ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsplatsmith-dev)
foreach(module cuda mpi)
  if(TARGET splatsmith_${module}) # where src/engine/base/module.c looks
    install(TARGETS splatsmith_${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/splatsmith
      COMPONENT splatsmith-${module})
  endif()
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libsplatsmith-dev
  FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/splatsmith.pc ${CMAKE_BINARY_DIR}/splatsmith-program.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libsplatsmith-dev)
install(FILES ${CMAKE_BINARY_DIR}/splatsmith-config.cmake ${CMAKE_BINARY_DIR}/splatsmith-config-version.cmake
  DESTINATION ${splatsmith_cmake_folder} COMPONENT libsplatsmith-dev)
install(FILES ${splatsmith_man} ${CMAKE_SOURCE_DIR}/tools/splatsmith-lpips-convert.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT splatsmith)
install(FILES ${splatsmith_completion}
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME splatsmith COMPONENT splatsmith)
# The licence, and the documents that messages and headers name.
file(GLOB splatsmith_texts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT splatsmith)
install(FILES ${splatsmith_texts} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT splatsmith)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/lab
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT splatsmith)
