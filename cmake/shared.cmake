# The shared library, from the same objects as the static one, and the programs that are installed, which are linked with
# it. The program of the build folder, and the tests, are linked with the static library. All of it lies in shared/ as it
# is installed, and finds itself by relative paths.

set(splatsmith_exports ${CMAKE_BINARY_DIR}/generated/libsplatsmith.map)
file(GLOB public_headers CONFIGURE_DEPENDS include/*.h include/splatsmith/*.h)
add_custom_command(OUTPUT ${splatsmith_exports}
  COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/public_functions.sh ${CMAKE_C_COMPILER} ${PROJECT_VERSION} > ${splatsmith_exports}
  DEPENDS ${public_headers} scripts/public_functions.sh
  VERBATIM)
add_custom_target(splatsmith_exports DEPENDS ${splatsmith_exports})

# Libraries that need themselves by DT_RPATH, so that it also holds for what they need in turn.
function(splatsmith_relocatable target rpath folder)
  target_link_options(${target} PRIVATE LINKER:--as-needed LINKER:--disable-new-dtags)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH ${rpath}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/shared/${folder} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/shared/${folder})
endfunction()

add_library(splatsmith_shared SHARED ${splatsmith_objects})
add_dependencies(splatsmith_shared splatsmith_exports)
target_link_libraries(splatsmith_shared PRIVATE splat_flags)
target_include_directories(splatsmith_shared INTERFACE ${CMAKE_SOURCE_DIR}/include)
target_link_options(splatsmith_shared PRIVATE LINKER:--version-script=${splatsmith_exports} LINKER:-Bsymbolic-functions
  $<$<NOT:$<BOOL:${SPLATSMITH_SANITIZE}>>:LINKER:--no-undefined>)
set_target_properties(splatsmith_shared PROPERTIES OUTPUT_NAME splatsmith VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${splatsmith_exports})
splatsmith_relocatable(splatsmith_shared "$ORIGIN" ${CMAKE_INSTALL_LIBDIR})

add_executable(splatsmith_program $<TARGET_OBJECTS:splatsmith_cli_objects>)
set_target_properties(splatsmith_program PROPERTIES OUTPUT_NAME splatsmith)
add_executable(splatsmith-lpips-convert tools/lpips_convert.c)
file(RELATIVE_PATH splatsmith_bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
foreach(program splatsmith_program splatsmith-lpips-convert)
  target_link_libraries(${program} PRIVATE splatsmith_lib splat_flags)
  splatsmith_relocatable(${program} "$ORIGIN/${splatsmith_bin_to_lib}" ${CMAKE_INSTALL_BINDIR})
endforeach()
