# Files as bytes in the program, so that they are wherever it is: a table of struct dlb_embedded (core/base/embedded.h).
#
# dlb_embed(out table FILE...): the C source that defines `table`. A file's name in it is without ".toml".
# As a script: cmake -DOUT=table.c -DTABLE=name -DFILES=a.py,b.py -P embed.cmake
function(dlb_embed out table)
  set(source ${CMAKE_BINARY_DIR}/generated/${table}.c)
  list(JOIN ARGN "," files)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} -DTABLE=${table} -DFILES=${files} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  set(${out} ${source} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "," ";" files "${FILES}")
  set(text "#include \"core/base/embedded.h\"\n\n")
  set(rows "")
  set(n 0)
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME)
    string(REGEX REPLACE "\\.toml$" "" name ${name})
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND text "static const unsigned char file_${n}[] = {${bytes}};\n")
    string(APPEND rows "    {\"${name}\", (const char *)file_${n}, sizeof(file_${n})},\n")
    math(EXPR n "${n} + 1")
  endforeach()
  file(WRITE ${OUT} "${text}\nconst struct dlb_embedded ${TABLE}[] = {\n${rows}    {0}};\n")
endif()
