# The shared libraries, from the same objects as the static ones, and the programs that are installed, which are linked
# with them. The program of the build folder, and the tests, are linked with the static libraries. All of it lies in
# shared/ as it is installed, and finds itself by relative paths.

# splatsmith_exports(NAME ARCHIVE USER...): generated/NAME.map, the linker's script of the library made of ARCHIVE's
# objects, of which the users (targets of objects) take private functions besides.
file(GLOB public_headers CONFIGURE_DEPENDS include/*.h include/splatsmith/*.h)
function(splatsmith_exports name archive)
  set(users "")
  foreach(user ${ARGN})
    list(APPEND users $<TARGET_OBJECTS:${user}>)
  endforeach()
  set(map ${CMAKE_BINARY_DIR}/generated/${name}.map)
  add_custom_command(OUTPUT ${map}
    COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/library_exports.sh ${CMAKE_C_COMPILER} ${PROJECT_VERSION}
      $<TARGET_FILE:${archive}> ${users} > ${map}.new
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${map}.new ${map}
    DEPENDS ${public_headers} scripts/public_functions.sh scripts/library_exports.sh ${archive} ${users}
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name}_exports DEPENDS ${map})
endfunction()

# Libraries that need themselves by DT_RPATH, so that it also holds for what they need in turn.
function(splatsmith_relocatable target rpath folder)
  target_link_options(${target} PRIVATE LINKER:--as-needed LINKER:--disable-new-dtags)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH ${rpath}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/shared/${folder} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/shared/${folder})
endfunction()

# splatsmith_shared_library(TARGET NAME ARCHIVE OBJECTS USER...): libNAME.so
function(splatsmith_shared_library target name archive objects)
  splatsmith_exports(lib${name} ${archive} ${ARGN})
  set(map ${CMAKE_BINARY_DIR}/generated/lib${name}.map)
  add_library(${target} SHARED ${objects})
  add_dependencies(${target} lib${name}_exports)
  target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR}/include)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map} LINKER:-Bsymbolic-functions
    $<$<NOT:$<BOOL:${SPLATSMITH_SANITIZE}>>:LINKER:--no-undefined>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map})
  splatsmith_relocatable(${target} "$ORIGIN" ${CMAKE_INSTALL_LIBDIR})
endfunction()

add_library(splatsmith_lpips_objects OBJECT tools/lpips_convert.c)
target_link_libraries(splatsmith_lpips_objects PRIVATE splat_flags)
splatsmith_shared_library(splatsmith_shared splatsmith splatsmith_lib "${engine_objects}"
  splatsmith_program_objects splatsmith_lpips_objects splatsmith_cli_objects)
target_link_libraries(splatsmith_shared PRIVATE splat_flags)
splatsmith_shared_library(splatsmith_program_shared splatsmith-program splatsmith_program_lib "${program_objects}"
  splatsmith_cli_objects)
target_link_libraries(splatsmith_program_shared PUBLIC splatsmith_shared PRIVATE splat_program_flags)

add_executable(splatsmith_program $<TARGET_OBJECTS:splatsmith_cli_objects>)
set_target_properties(splatsmith_program PROPERTIES OUTPUT_NAME splatsmith)
target_link_libraries(splatsmith_program PRIVATE splatsmith_program_shared splat_flags)
add_executable(splatsmith-lpips-convert $<TARGET_OBJECTS:splatsmith_lpips_objects>)
target_link_libraries(splatsmith-lpips-convert PRIVATE splatsmith_shared splat_flags)
file(RELATIVE_PATH splatsmith_bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
foreach(program splatsmith_program splatsmith-lpips-convert)
  splatsmith_relocatable(${program} "$ORIGIN/${splatsmith_bin_to_lib}" ${CMAKE_INSTALL_BINDIR})
endforeach()
