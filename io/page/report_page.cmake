# fhd_report_page(FILE): a source file that holds the page of `fhd report`, which becomes part of the program.
function(fhd_report_page file)
  set(page_file ${PROJECT_SOURCE_DIR}/io/page/report_page.html)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_file})
  file(READ ${page_file} page)
  file(GENERATE OUTPUT ${file} CONTENT
"namespace fhd::io {\nextern const char* const report_page_template;\nconst char* const report_page_template = R\"fhd_page(${page})fhd_page\";\n}  // namespace fhd::io\n")
endfunction()
