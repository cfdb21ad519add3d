# As in Cargo: before 1.0 a new minor version may be incompatible, afterwards a new major version.
set(PACKAGE_VERSION "@VERSION@")
string(REGEX MATCH "^(0\\.[0-9]+|[0-9]+)" _simple_markers_series "${PACKAGE_VERSION}")
string(REGEX MATCH "^(0\\.[0-9]+|[0-9]+)" _simple_markers_wanted "${PACKAGE_FIND_VERSION}")

if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
# "0" asks for any version before 1.0.
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION
   AND (_simple_markers_wanted STREQUAL _simple_markers_series OR (PACKAGE_FIND_VERSION STREQUAL "0" AND PACKAGE_VERSION VERSION_LESS 1)))
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
else()
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()

# The library is for processors of 64 bits.
if(CMAKE_SIZEOF_VOID_P AND NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
unset(_simple_markers_wanted)
unset(_simple_markers_series)
