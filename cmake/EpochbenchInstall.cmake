# cmake --install: the binary, which contains all its data; the schema, for readers of results; the suites, documents and license;
# completion for bash, zsh and fish, and the man page.
include(GNUInstallDirs)
install(TARGETS epochbench RUNTIME)
install(FILES ${PROJECT_SOURCE_DIR}/results/schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/epochbench)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/suites DESTINATION ${CMAKE_INSTALL_DATADIR}/epochbench FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/epochbench.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME epochbench)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/_epochbench DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/epochbench.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/epochbench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
