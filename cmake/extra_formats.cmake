# Formats that lie outside of formats/: in the folders that DLB_EXTRA_FORMATS names. Each folder has a formats.def with its X(name)
# lines, a fmt_NAME.c for each line, and the sources that these share.
#
# dlb_extra_formats(out): their sources. Their lines go to generated/formats/extra_formats.def, which formats/format.c includes after
# formats/formats.def.
function(dlb_extra_formats out)
  set(sources)
  set(lines)
  foreach(folder IN LISTS DLB_EXTRA_FORMATS)
    get_filename_component(folder ${folder} ABSOLUTE)
    if(NOT EXISTS ${folder}/formats.def)
      message(FATAL_ERROR "DLB_EXTRA_FORMATS: ${folder} has no formats.def")
    endif()
    dlb_modules(modules ${folder}/formats.def fmt_)
    file(GLOB_RECURSE shared CONFIGURE_DEPENDS ${folder}/*.c)
    list(FILTER shared EXCLUDE REGEX "/fmt_[a-z0-9_]+\\.c$")
    list(APPEND sources ${modules} ${shared})
    file(STRINGS ${folder}/formats.def listed REGEX "^X\\(")
    list(APPEND lines ${listed})
  endforeach()
  list(JOIN lines "\n" text)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/formats/extra_formats.def
    CONTENT "/* From the formats.def of each folder in DLB_EXTRA_FORMATS. */\n${text}\n" @ONLY)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
