# dlb_page(out template STYLE SCRIPT...): the template with the hashes of what is put into it, so that a browser runs and applies
# that and nothing else. {{style hash}} and {{script hashes}} are Content-Security-Policy sources.
# As a script: cmake -DOUT=page.html -DTEMPLATE=page.html -DSTYLE=page.css -DSCRIPTS=a.js,b.js -P page.cmake
function(dlb_page out template style)
  set(page ${CMAKE_BINARY_DIR}/generated/page.html)
  list(JOIN ARGN "," scripts)
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -DOUT=${page} -DTEMPLATE=${template} -DSTYLE=${style} -DSCRIPTS=${scripts}
            -P ${CMAKE_SOURCE_DIR}/cmake/page.cmake
    DEPENDS ${template} ${style} ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/page.cmake VERBATIM)
  set(${out} ${page} PARENT_SCOPE)
endfunction()

# 'sha256-BASE64' of a file's bytes. A browser hashes the element's text, in which no line ends with a carriage return.
function(dlb_policy_source file out)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "\\1," bytes "${hex}")
  if(bytes MATCHES "0d,")
    message(FATAL_ERROR "${file} has carriage returns: a browser would not take its hash for that of the page's script")
  endif()
  file(SHA256 ${file} hex)
  set(text "'sha256-")
  foreach(at RANGE 0 60 6) # 32 bytes: the last group of three has two
    string(SUBSTRING "${hex}00" ${at} 6 three)
    foreach(shift IN ITEMS 18 12 6 0)
      math(EXPR digit "(0x${three} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${digit} 1 digit)
      string(APPEND text ${digit})
    endforeach()
  endforeach()
  string(REGEX REPLACE "A$" "='" text ${text})
  set(${out} ${text} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  dlb_policy_source(${STYLE} style)
  set(scripts)
  string(REPLACE "," ";" files "${SCRIPTS}")
  foreach(file IN LISTS files)
    dlb_policy_source(${file} source)
    list(APPEND scripts ${source})
  endforeach()
  list(JOIN scripts " " scripts)
  file(READ ${TEMPLATE} text)
  string(REPLACE "{{style hash}}" "${style}" text "${text}")
  string(REPLACE "{{script hashes}}" "${scripts}" text "${text}")
  file(WRITE ${OUT} "${text}")
endif()
