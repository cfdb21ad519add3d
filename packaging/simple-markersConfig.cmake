# find_package(simple-markers) defines
#
#   simple-markers::simple-markers  the headers: markers, ghosts and probes
#   simple-markers::recorder        also records probes inside the program. Link it to all
#                                   targets of a program, or to none.
get_filename_component(_simple_markers_folder "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_simple_markers_prefix "${_simple_markers_folder}/@UP@" ABSOLUTE)

if(NOT TARGET simple-markers::simple-markers)
  add_library(simple-markers::simple-markers INTERFACE IMPORTED)
  set_target_properties(simple-markers::simple-markers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_simple_markers_prefix}/include")

  add_library(simple-markers::recorder STATIC IMPORTED)
  set_target_properties(simple-markers::recorder PROPERTIES
    IMPORTED_LOCATION "${_simple_markers_prefix}/@LIBDIR@/libsimple_marker.a"
    INTERFACE_COMPILE_DEFINITIONS SIMPLE_MARKER_RECORDER
    INTERFACE_LINK_LIBRARIES "simple-markers::simple-markers;pthread;${CMAKE_DL_LIBS}")
endif()

unset(_simple_markers_prefix)
unset(_simple_markers_folder)
