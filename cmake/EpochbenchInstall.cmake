# cmake --install: the binary, which contains all its data; the schema, for readers of results; the suites, documents and license.
include(GNUInstallDirs)
install(TARGETS epochbench RUNTIME)
install(FILES ${PROJECT_SOURCE_DIR}/results/schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/epochbench)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/suites DESTINATION ${CMAKE_INSTALL_DATADIR}/epochbench FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
