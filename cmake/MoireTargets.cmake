# Each folder becomes one library, and its *_test.cpp become one test program.
#
#   moire_library(config DEPS yaml-cpp fmt::fmt)   in sim/config/CMakeLists.txt
#
# makes the static library moire_config (alias moire::config) from the folder's *.cpp and the test program
# moire_config_test from its *_test.cpp. A *_bench.cpp becomes a Google Benchmark program (target benchmarks).
# SOURCES_FROM adds sub-folders. TEST_DEPS lists libraries that only the tests need. TEST_COST is the time of the
# longest test in seconds, so that ctest starts long tests first. The preset `test` compiles the files of a folder as
# one file, which halves the time of a full build, and does not optimise test files (MOIRE_TEST_FLAGS), which saves a
# third of the time to compile them. ALONE lists files that cannot be compiled together with the other files of the
# folder, because they define the same local names.

include(MoireFloors)

add_library(moire_options INTERFACE)
# Results must have the same bits on every machine, so there are no fused multiply-adds, which only some processors
# have.
target_compile_options(moire_options INTERFACE -ffp-contract=off)
# -Wrestrict is off, because in g++ 12 it warns about correct std::string concatenations (GCC bug 105329). -Wshadow is
# off in unity builds, where all files of a folder are compiled as one, and a local name may hide a name of another
# file.
target_compile_options(moire_options INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion
  $<$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wshadow> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(MOIRE_WERROR)
  target_compile_options(moire_options INTERFACE -Werror)
endif()
if(MOIRE_SANITIZE)
  target_compile_options(moire_options INTERFACE -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(moire_options INTERFACE -fsanitize=address,undefined,float-cast-overflow)
endif()
if(MOIRE_FUZZ)
  target_compile_options(moire_options INTERFACE -fsanitize=fuzzer-no-link
                         -fsanitize-coverage-ignorelist=${CMAKE_SOURCE_DIR}/tests/fuzz/uncovered.txt)
endif()
if(MOIRE_COVERAGE)
  target_compile_options(moire_options INTERFACE --coverage -O0)
  target_link_options(moire_options INTERFACE --coverage)
endif()

# lld is used if it is installed, because the default linker takes much longer.
find_program(MOIRE_LLD ld.lld)
if(MOIRE_LLD)
  target_link_options(moire_options INTERFACE -fuse-ld=lld)
endif()

add_custom_target(benchmarks)

# Gives a folder an include root of its own: build/roots/<name> contains only a symbolic link to the folder, under the
# folder's path. A library that links moire::<name> can include this folder and the folders that moire::<name> can
# include, and no others. moire::<name>_headers gives access to the include root alone.
function(moire_include_root name)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(root ${CMAKE_BINARY_DIR}/roots/${name})
  moire_record_folder(${name} ${folder})
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${folder} SYMBOLIC)
  add_library(moire_${name}_headers INTERFACE)
  target_include_directories(moire_${name}_headers INTERFACE ${root})
  add_library(moire::${name}_headers ALIAS moire_${name}_headers)
endfunction()

function(moire_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Registers the tests of a GoogleTest program: each test in a process of its own or, with MOIRE_TEST_PROGRAMS, all tests
# in one process, which is faster, because loading the libraries of a program takes longer than most tests.
function(moire_tests program)
  cmake_parse_arguments(ARG "" "PREFIX;COST" "" ${ARGN})
  if(NOT DEFINED ARG_COST)
    set(ARG_COST 0)
  endif()
  if(MOIRE_TEST_PROGRAMS)
    add_test(NAME ${program} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${program} PROPERTIES COST ${ARG_COST})
  else()
    gtest_discover_tests(${program} TEST_PREFIX "${ARG_PREFIX}" NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES COST ${ARG_COST})
  endif()
endfunction()

# Makes the library and the test program of a folder (see the top of this file). Mistyped arguments are errors here.
# Without these errors, a sub-folder could be left out, or only the linker would notice that a library is missing.
function(moire_library name)
  cmake_parse_arguments(ARG "" "TEST_COST" "DEPS;SOURCES_FROM;TEST_DEPS;ALONE" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "moire_library(${name}): unknown words '${ARG_UNPARSED_ARGUMENTS}'; write DEPS, SOURCES_FROM, TEST_DEPS or ALONE before them")
  endif()
  foreach(library IN LISTS ARG_DEPS ARG_TEST_DEPS)
    if(NOT library MATCHES "::" AND NOT TARGET ${library})  # for names with :: CMake reports this by itself
      message(FATAL_ERROR "moire_library(${name}): there is no library '${library}'")
    endif()
  endforeach()
  set(patterns *.cpp)
  foreach(folder IN LISTS ARG_SOURCES_FROM)
    if(NOT IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
      message(FATAL_ERROR "moire_library(${name}): there is no folder '${folder}' in ${CMAKE_CURRENT_SOURCE_DIR}")
    endif()
    list(APPEND patterns ${folder}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  foreach(file IN LISTS ARG_ALONE)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
      message(FATAL_ERROR "moire_library(${name}): there is no file '${file}' in ${CMAKE_CURRENT_SOURCE_DIR}")
    endif()
  endforeach()
  if(ARG_ALONE)
    moire_alone(${ARG_ALONE})
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  moire_include_root(${name})
  moire_record_deps(${name} DEPS ${ARG_DEPS})
  moire_record_deps(${name} TEST_DEPS ${ARG_TEST_DEPS})
  if(sources)
    add_library(moire_${name} STATIC ${sources})
    target_link_libraries(moire_${name} PUBLIC moire_options moire_${name}_headers ${ARG_DEPS})
    target_precompile_headers(moire_${name} REUSE_FROM moire_precompiled)
  else()
    add_library(moire_${name} INTERFACE)
    target_link_libraries(moire_${name} INTERFACE moire_options moire_${name}_headers ${ARG_DEPS})
  endif()
  add_library(moire::${name} ALIAS moire_${name})
  file(GLOB benches CONFIGURE_DEPENDS *_bench.cpp)
  foreach(bench IN LISTS benches)
    get_filename_component(stem ${bench} NAME_WE)
    add_executable(moire_${name}_${stem} EXCLUDE_FROM_ALL ${bench})
    target_link_libraries(moire_${name}_${stem} PRIVATE moire_${name} benchmark::benchmark_main)
    add_dependencies(benchmarks moire_${name}_${stem})
  endforeach()
  if(tests)
    # All tests of a folder are one program, because linking takes most of the time of a small test program.
    add_executable(moire_${name}_test ${tests})
    target_link_libraries(moire_${name}_test PRIVATE moire_${name} ${ARG_TEST_DEPS} moire::test_support GTest::gmock
                                                     GTest::gtest_main)
    target_precompile_headers(moire_${name}_test REUSE_FROM moire_precompiled_test)
    target_compile_options(moire_${name}_test PRIVATE ${MOIRE_TEST_FLAGS})
    moire_tests(moire_${name}_test PREFIX "${name}." COST ${ARG_TEST_COST})
  endif()
endfunction()
