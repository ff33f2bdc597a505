# The file library_checks: what results/*-check.json say of other libraries' kernels, by file, without the rest of these files:
# {"results/X-check.json": {"cpu": "the CPU's name", "kernels": {...}}}
file(GLOB checks RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/results/*-check.json)
set(library_checks ${PROJECT_BINARY_DIR}/generated/library_checks.json)
set(entries "")
foreach(check IN LISTS checks)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${check})
  file(READ ${PROJECT_SOURCE_DIR}/${check} text)
  string(JSON cpu GET "${text}" context cpu model)
  string(JSON kernels GET "${text}" check kernels)
  string(APPEND entries "${separator}\"${check}\": {\"cpu\": \"${cpu}\", \"kernels\": ${kernels}}")
  set(separator ",\n")
endforeach()
file(CONFIGURE OUTPUT ${library_checks} CONTENT "{${entries}}\n" @ONLY)
