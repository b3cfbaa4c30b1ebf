# fhd_report_page(FILE): a source file that holds the page of `fhd report`, which becomes part of the program. Its scripts run
# in this order: drawing (pieces of a page), viewer (images), verdict (is it right?), result (the rest, and the page).
function(fhd_report_page file)
  set(folder ${PROJECT_SOURCE_DIR}/io/page)
  file(READ ${folder}/report_page.html page)
  set(script "")
  foreach(part IN ITEMS drawing viewer verdict result)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${part}.js)
    file(READ ${folder}/${part}.js text)
    string(APPEND script "${text}")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/report_page.html)
  string(REPLACE "@SCRIPT@" "${script}" page "${page}")
  file(GENERATE OUTPUT ${file} CONTENT
"namespace fhd::io {\nextern const char* const report_page_template;\nconst char* const report_page_template = R\"fhd_page(${page})fhd_page\";\n}  // namespace fhd::io\n")
endfunction()
