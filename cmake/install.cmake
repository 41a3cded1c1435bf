# What is installed for those who compile against the engine: the static library with its C++ headers, the C interface
# as a shared library, and the package that find_package(renyi) finds. Only headers that are meant for users: two of the
# loss, and what they include.
include(CMakePackageConfigHelpers)

set(public_headers
  fp/certified.hpp
  fp/environment.hpp
  loss/gaussian.hpp
  loss/sampled_gaussian.hpp)
foreach(header ${public_headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES src/renyi/${header} DESTINATION renyi/include/renyi/${folder} COMPONENT python)
endforeach()
install(FILES src/renyi/capi/renyi.h DESTINATION renyi/include COMPONENT python)

target_include_directories(renyi_core INTERFACE $<INSTALL_INTERFACE:renyi/include>)
target_include_directories(renyi_c INTERFACE $<INSTALL_INTERFACE:renyi/include>)
set_target_properties(renyi_core PROPERTIES EXPORT_NAME renyi)
set_target_properties(renyi_c PROPERTIES EXPORT_NAME c)
install(TARGETS renyi_core renyi_c EXPORT renyi_targets
  ARCHIVE DESTINATION renyi/lib COMPONENT python
  LIBRARY DESTINATION renyi/lib COMPONENT python)
set(package_folder renyi/lib/cmake/renyi)
install(EXPORT renyi_targets NAMESPACE renyi:: FILE renyi-targets.cmake DESTINATION ${package_folder} COMPONENT python)
configure_package_config_file(cmake/renyi-config.cmake.in renyi-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(renyi-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/renyi-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/renyi-config-version.cmake
  DESTINATION ${package_folder} COMPONENT python)
