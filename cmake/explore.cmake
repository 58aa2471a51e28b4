# SPLATSMITH_EXPLORE: what draws splats in the viewer's page, as an array in C. explore_inc: its file, empty without.
set(explore_inc "")
if(SPLATSMITH_EXPLORE)
  find_program(SPLATSMITH_NODE node)
  find_program(SPLATSMITH_NPM npm)
  if(CIVETWEB_FOUND AND SPLATSMITH_NODE AND SPLATSMITH_NPM)
    set(explore_inc ${CMAKE_BINARY_DIR}/generated/viewer_explore.inc)
    set(explore_folder ${CMAKE_BINARY_DIR}/explore)
    set(explore_sources ${CMAKE_SOURCE_DIR}/src/program/viewer/explore)
    add_custom_command(OUTPUT ${explore_inc}
      COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/bundle_explore.sh ${explore_folder}
      COMMAND ${CMAKE_COMMAND} -DIN=${explore_folder}/explore.js.gz -DOUT=${explore_inc} -DNAME=viewer_explore
        -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
      DEPENDS ${explore_sources}/explore.js ${explore_sources}/package.json ${explore_sources}/package-lock.json
        scripts/bundle_explore.sh cmake/embed.cmake
      COMMENT "Fetching and bundling what draws splats in the viewer's page")
  else()
    message(STATUS "Without npm, node or civetweb: SPLATSMITH_EXPLORE is off, and the viewer's page draws no splats itself")
  endif()
endif()
