# Writes which commit is built, each time that something is: cmake -DGIT= -DSOURCE= -DPROJECT_VERSION= -DTARGET= -P commit.cmake
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12
    OUTPUT_VARIABLE DLB_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT DLB_COMMIT AND EXISTS ${TARGET})
  return() # git does not answer everyone who may build: an install as another user, say
elseif(NOT DLB_COMMIT)
  set(DLB_COMMIT unknown)
endif()
configure_file(${SOURCE}/bench/cli/version.h.in ${TARGET} @ONLY) # a file that says the same stays as it is
