# CPack runs this after it has installed the files of a package and before it packs them: what Debian's policy and RPM's folders want
# otherwise than `cmake --install` has it.
set(usr "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr")
if(NOT EXISTS "${usr}/share") # the packages of components lie below their names
  set(usr "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/Unspecified/usr")
endif()
if(CPACK_GENERATOR STREQUAL "DEB")
  find_program(GZIP gzip REQUIRED)
  set(log "${usr}/share/doc/dlbench/changelog")
  file(WRITE "${log}" "dlbench (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * CHANGELOG.md has the changes.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${CPACK_DLB_COMMIT_DATE}\n")
  execute_process(COMMAND "${GZIP}" -9nf "${log}" "${usr}/share/man/man1/dlbench.1" COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE "${usr}/share/doc/dlbench/LICENSE") # its text is in copyright
elseif(CPACK_GENERATOR STREQUAL "RPM")
  file(MAKE_DIRECTORY "${usr}/share/zsh")
  file(RENAME "${usr}/share/zsh/vendor-completions" "${usr}/share/zsh/site-functions")
endif()
