# DLB_PORTABLE: what scripts/bundle builds. On Debian 12 two libraries need glibc 2.36, both for arc4random: libarchive, to write
# formats that dlbench does not, and libstdc++, for std::random_device. Linked in, with what nobody calls left out, neither is
# needed, and 2.35 is enough. A later libarchive that needs more of its own libraries fails to link.

function(dlb_portable program)
  if(NOT DLB_PORTABLE)
    return()
  endif()
  target_link_options(${program} PRIVATE -static-libstdc++ LINKER:--gc-sections LINKER:--as-needed)
  if(TARGET PkgConfig::DLB_LIBARCHIVE AND DLB_WITH_LIBARCHIVE)
    find_library(DLB_LIBARCHIVE_A libarchive.a REQUIRED)
    set_target_properties(PkgConfig::DLB_LIBARCHIVE PROPERTIES INTERFACE_LINK_LIBRARIES "${DLB_LIBARCHIVE_A};nettle;z;zstd")
    target_compile_definitions(dlb_cli PRIVATE DLB_LINKED_IN="libarchive ${DLB_LIBARCHIVE_VERSION}")
  endif()
endfunction()
