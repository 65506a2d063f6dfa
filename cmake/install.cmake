# Install rules: the headers, the licence, and the package that find_package(seqpar) reads.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/seqpar") # not lib/: a header-only package suits every architecture

install(DIRECTORY include/seqpar DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(TARGETS seqpar EXPORT seqpar-targets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT seqpar-targets NAMESPACE seqpar:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/seqpar-config.cmake.in "${PROJECT_BINARY_DIR}/seqpar-config.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/seqpar-config-version.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  "${PROJECT_BINARY_DIR}/seqpar-config.cmake"
  "${PROJECT_BINARY_DIR}/seqpar-config-version.cmake"
  cmake/seqpar-dependencies.cmake
  DESTINATION "${package_dir}")
