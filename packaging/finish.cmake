# Read by cpack when a package is written: packs the archive again, because cpack keeps the order of the file system.
if(CPACK_GENERATOR STREQUAL TGZ)
  set(times "")
  if(DEFINED ENV{SOURCE_DATE_EPOCH})
    set(times --mtime=@$ENV{SOURCE_DATE_EPOCH})
  endif()
  get_filename_component(folder ${CPACK_TEMPORARY_DIRECTORY} NAME)
  get_filename_component(above ${CPACK_TEMPORARY_DIRECTORY} DIRECTORY)
  execute_process(
    COMMAND tar -C ${above} --sort=name --format=gnu --owner=root:0 --group=root:0 --mode=go+rX,go-w ${times} -c ${folder}
    COMMAND gzip -9n OUTPUT_FILE ${CPACK_PACKAGE_FILES} COMMAND_ERROR_IS_FATAL ANY)
endif()
