# `cpack` makes a .deb and a .tar.gz, `cpack -G RPM` an .rpm with its spec. dpkg-shlibdeps and rpmbuild find the libraries' packages.
if(NOT CPACK_PACKAGE_CONTACT) # who makes packages for others gives -DCPACK_PACKAGE_CONTACT="Name <address>"
  set(CPACK_PACKAGE_CONTACT "the dlbench authors <dlbench@invalid>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures how fast training data can be loaded")
set(text
  "dlbench loads a data set as training programs do, hands the batches to a GPU"
  "or an emulated accelerator, and says which loader settings feed it and what"
  "slows it down. It sweeps settings of PyTorch's DataLoader, measures how many"
  "accelerators a storage feeds, and takes an in-memory loader apart.")
list(JOIN text "\n" CPACK_PACKAGE_DESCRIPTION)
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_PACKAGE_VENDOR "the dlbench authors")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_SOURCE_DIR}/cmake/package_kind.cmake")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/package_files.cmake")

# The program, and a package for each MPI that the build found (cmake/mpi.cmake). A .tar.gz has the program alone.
set(CPACK_COMPONENTS_ALL Unspecified ${DLB_MPI_MODULES})
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME dlbench)
set(CPACK_RPM_MAIN_COMPONENT Unspecified)
foreach(name IN LISTS DLB_MPI_MODULES)
  string(TOUPPER ${name} NAME)
  set(CPACK_COMPONENT_${NAME}_DESCRIPTION "The module with which dlbench measures on many machines, for ${DLB_MPI_${name}_LABEL}.")
  set(CPACK_DEBIAN_${NAME}_PACKAGE_NAME dlbench-${name})
  set(CPACK_DEBIAN_${NAME}_PACKAGE_DEPENDS "dlbench (= ${PROJECT_VERSION})")
  set(CPACK_RPM_${name}_PACKAGE_NAME dlbench-${name})
  set(CPACK_RPM_${name}_PACKAGE_REQUIRES "dlbench = ${PROJECT_VERSION}")
endforeach()
set(CPACK_DEBIAN_OPENMPI_PACKAGE_SUGGESTS openmpi-bin)
set(CPACK_DEBIAN_MPICH_PACKAGE_SUGGESTS mpich)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "fio, python3")

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_SUGGESTS "fio, python3")
# Folders of other packages.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/bash-completion
  /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions /usr/share/fish
  /usr/share/fish/vendor_completions.d /usr/share/doc)

# The date of the change log's entry.
set(DLB_COMMIT_DATE "")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} log -1 --format=%cD
    OUTPUT_VARIABLE DLB_COMMIT_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT DLB_COMMIT_DATE)
  set(DLB_COMMIT_DATE "Thu, 01 Jan 2026 00:00:00 +0000")
endif()
# CPack hands only what begins with CPACK_ to its scripts.
set(CPACK_DLB_COMMIT_DATE "${DLB_COMMIT_DATE}")
include(CPack)
