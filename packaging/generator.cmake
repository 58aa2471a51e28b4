# Read by cpack for each kind of package: Debian's lie under /usr, the archive is one folder.
if(CPACK_GENERATOR STREQUAL DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
