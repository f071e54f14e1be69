# What `cmake --install` installs, and find_package(lossscaler) and pkg-config
# find. Targets are exported by component, each in a file of its own, so that a
# user needs the dependencies of what is asked for and no others:
#
#   core          lossscaler::core and ::sync
#   client        lossscaler::client and what it is made of; needs gRPC
#   client_mocks  lossscaler::client_mocks; needs GTest as well

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(LOSSSCALER_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/lossscaler")
set(LOSSSCALER_PROTO_DIR "${CMAKE_INSTALL_DATADIR}/lossscaler/proto")

# lossscaler_public_headers(TARGET PUBLIC|INTERFACE DIR [EXCEPT header...])
#
# The headers in DIR are what TARGET offers, included by their path from here.
# With CMAKE_VERIFY_INTERFACE_HEADER_SETS, all_verify_interface_header_sets
# compiles each by itself.
function(lossscaler_public_headers target scope dir)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" EXCEPT)
  file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.h")
  foreach(header ${arg_EXCEPT})
    list(REMOVE_ITEM headers "${CMAKE_CURRENT_SOURCE_DIR}/${dir}/${header}")
  endforeach()
  target_sources(${target} ${scope}
                 FILE_SET HEADERS
                 BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}"
                 FILES ${headers})
  target_compile_features(${target} ${scope} cxx_std_20)
endfunction()

# lossscaler_export(COMPONENT target...)
#
# Installs the targets, lossscaler_NAME, and exports them as lossscaler::NAME.
function(lossscaler_export component)
  if(NOT component STREQUAL "core" AND NOT LOSSSCALER_RPC)
    return()
  endif()
  foreach(target ${ARGN})
    string(REGEX REPLACE "^lossscaler_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  # A CMake before 3.23 does not read file sets and needs the folder by itself.
  install(TARGETS ${ARGN} EXPORT lossscaler-${component} FILE_SET HEADERS
          INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endfunction()

# lossscaler_install_package()
#
# The files that describe what has been installed. Nothing in them depends on
# where that is, unless a folder of GNUInstallDirs was set to an absolute path.
function(lossscaler_install_package)
  set(components core)
  set(pkgconfigs lossscaler-core)
  if(LOSSSCALER_RPC)
    list(APPEND components client client_mocks)
    list(APPEND pkgconfigs lossscaler-client)
  endif()
  foreach(component ${components})
    install(
      EXPORT lossscaler-${component}
      NAMESPACE lossscaler::
      FILE lossscaler-${component}.cmake
      DESTINATION "${LOSSSCALER_CMAKE_DIR}")
  endforeach()

  set(config "${PROJECT_BINARY_DIR}/package/lossscalerConfig.cmake")
  set(version "${PROJECT_BINARY_DIR}/package/lossscalerConfigVersion.cmake")
  configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/lossscalerConfig.cmake.in" "${config}"
    INSTALL_DESTINATION "${LOSSSCALER_CMAKE_DIR}"
    PATH_VARS LOSSSCALER_PROTO_DIR)
  # Until 1.0 a minor version may change the interface.
  write_basic_package_version_file("${version}" COMPATIBILITY SameMinorVersion)
  install(FILES "${config}" "${version}" DESTINATION "${LOSSSCALER_CMAKE_DIR}")

  # pkg-config finds the prefix from where its file lies.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
             BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
             OUTPUT_VARIABLE up)
  set(pc_prefix "\${pcfiledir}/${up}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  endif()
  foreach(dir INCLUDEDIR LIBDIR)
    set(pc_${dir} "\${prefix}")
    cmake_path(APPEND pc_${dir} "${CMAKE_INSTALL_${dir}}")
  endforeach()
  foreach(name ${pkgconfigs})
    configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in"
                   "${PROJECT_BINARY_DIR}/package/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/package/${name}.pc"
            DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  endforeach()

  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endfunction()
