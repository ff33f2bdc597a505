# cmake --install: the binary, which contains all its data; the schema, for readers of results; the suites, documents and license;
# completion for bash, zsh and fish, and the man page. CPack makes Debian packages and a tarball of the same files, by scripts/package.
include(GNUInstallDirs)
install(TARGETS epochbench RUNTIME)
if(TARGET epochbench-mpi)
  install(TARGETS epochbench-mpi RUNTIME COMPONENT mpi)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/results/schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/epochbench)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/suites DESTINATION ${CMAKE_INSTALL_DATADIR}/epochbench FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/epochbench.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME epochbench)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/_epochbench DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/epochbench.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/epochbench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
if(NOT EPOCHBENCH_PACKAGE)
  return()
endif()

if(NOT TARGET epochbench-mpi)
  message(FATAL_ERROR "a package has epochbench-mpi too, and CMake finds no MPI; install libopenmpi-dev")
endif()

# The map lists the archives from which the linker took something, for the SBOM (scripts/lib/make_sbom.py).
foreach(program epochbench epochbench-mpi)
  target_link_options(${program} PRIVATE -Wl,-Map=${PROJECT_BINARY_DIR}/${program}.map)
endforeach()

# The licenses of what is inside the binary ask to be passed on with it.
foreach(package libcli11-dev libgcc-12-dev libjs-d3 libpcre2-dev libpng-dev libturbojpeg0-dev libutf8proc-dev libxxhash-dev nlohmann-json3-dev
        zlib1g-dev)
  set(terms /usr/share/doc/${package}/copyright)
  if(NOT EXISTS ${terms})
    message(FATAL_ERROR "there is no ${terms}, which a package has to contain; build packages on Debian 12")
  endif()
  get_filename_component(terms ${terms} REALPATH)
  install(FILES ${terms} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME ${package})
endforeach()

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME epochbench)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "epochbench maintainers <maintainers@epochbench.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmark of deep learning training on CPUs and NVIDIA GPUs")
set(CPACK_PACKAGE_DESCRIPTION "Trains real networks with identical work on every device, and reports throughput,
epoch time, cost and energy with intervals. NVIDIA GPUs are used where the
driver, cuBLASLt and cuDNN 9 are installed; nothing of them is required.")
set(CPACK_PACKAGE_FILE_NAME epochbench-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Separate Debian packages, so that only the one of epochbench-mpi depends on MPI; the tarball has both programs.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME epochbench)
set(CPACK_DEBIAN_UNSPECIFIED_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME epochbench-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "epochbench (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_MPI_DESCRIPTION "The program that `epochbench run --ranks` starts through Open MPI's launcher, for
several processes that share a batch.")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
