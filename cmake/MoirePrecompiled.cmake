# Precompiles the headers that nearly every file includes. There are three variants: for libraries, for tests (with
# gmock), and position-independent for the libraries that the Python module links. Files must still include what they
# use, because the preset asan builds without precompiled headers.
target_link_libraries(moire_options INTERFACE fmt::fmt)  # users of a precompiled header need the same definitions
target_compile_options(moire_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # ccache needs this option
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "")
function(moire_precompiled name)
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${name} PRIVATE moire_options)
  target_precompile_headers(${name} PRIVATE <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map>
    <memory> <optional> <set> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h> ${ARGN})
endfunction()
moire_precompiled(moire_precompiled)
moire_precompiled(moire_precompiled_pic)
set_target_properties(moire_precompiled_pic PROPERTIES POSITION_INDEPENDENT_CODE ON)
moire_precompiled(moire_precompiled_test <gmock/gmock.h>)
target_link_libraries(moire_precompiled_test PRIVATE GTest::gmock)
target_compile_options(moire_precompiled_test PRIVATE ${MOIRE_TEST_FLAGS})

# Compiles libraries position-independent. Call it with the libraries that the Python module links.
function(moire_position_independent)
  foreach(library IN LISTS ARGN)
    set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                                PRECOMPILE_HEADERS_REUSE_FROM moire_precompiled_pic)
    add_dependencies(${library} moire_precompiled_pic)
  endforeach()
endfunction()
