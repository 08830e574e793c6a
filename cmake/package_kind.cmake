# CPack reads this once for each kind of package. Packages belong to /usr; a .tar.gz is unpacked anywhere.
if(CPACK_GENERATOR MATCHES "^(DEB|RPM)$")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
