# What `cmake --install` puts where, relocatable. cmake/package.cmake: what `cpack` makes of it.
include(GNUInstallDirs)
set(data "${CMAKE_INSTALL_DATADIR}/dlbench")
install(TARGETS dlbench RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES python/dlbench.py DESTINATION "${data}/python")
install(DIRECTORY configs DESTINATION "${data}")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# The licences of what is in the program itself. Libraries that it is linked with stay packages of their own.
set(DLB_CUDA_COPYRIGHT "")
if(DLB_CUDA_MAJOR)
  set(DLB_CUDA_COPYRIGHT "
Files: CUDA runtime
Copyright: NVIDIA Corporation
License: CUDA-EULA
 https://docs.nvidia.com/cuda/eula/
Comment: Linked into the program.
")
endif()
set(DLB_CHARTS_COPYRIGHT "")
if(DLB_WITH_CHARTS AND DLB_CHART_JS)
  set(DLB_CHARTS_COPYRIGHT "
Files: Chart.js
Copyright: 2014-2022 Chart.js Contributors
License: Expat
Comment: In the program, which puts it into the pages of results.
")
endif()
configure_file(cmake/copyright.in installed/copyright @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/installed/copyright" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(FILES reports/summary.schema.json reports/watch.schema.json DESTINATION "${data}")

# What the program prints of itself: name of the file, its folder, the program's arguments.
set(made "${CMAKE_BINARY_DIR}/installed")
install(CODE "file(MAKE_DIRECTORY \"${made}\")")
function(dlb_install_printed name folder)
  list(JOIN ARGN "\" \"" arguments)
  install(CODE "execute_process(COMMAND \"$<TARGET_FILE:dlbench>\" \"${arguments}\" OUTPUT_FILE \"${made}/${name}\"
                                COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES "${made}/${name}" DESTINATION "${folder}")
endfunction()
dlb_install_printed(dlbench.1 "${CMAKE_INSTALL_MANDIR}/man1" man)
dlb_install_printed(dlbench.schema.json "${data}" schema)
dlb_install_printed(dlbench "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" completion bash)
dlb_install_printed(_dlbench "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" completion zsh)
dlb_install_printed(dlbench.fish "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" completion fish)

include(cmake/package.cmake)
