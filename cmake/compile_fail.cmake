# One compile-fail test: cmake -DSOURCE=FILE -DCOMPILER=PROGRAM -DFLAGS=LIST -P compile_fail.cmake
#
# FILE holds one or more lines `// expect-error: REGEX` (CMake's regular expressions; without semicolons). It must not
# compile, and each REGEX must match somewhere in what the compiler says.
cmake_minimum_required(VERSION 3.24)

file(STRINGS "${SOURCE}" expected REGEX "// expect-error: ")
list(TRANSFORM expected REPLACE "^.*// expect-error: " "")
if(NOT expected)
  message(FATAL_ERROR "${SOURCE} has no line `// expect-error: REGEX`")
endif()

# To an object: -fsyntax-only may leave templates without their instantiation.
execute_process(COMMAND "${COMPILER}" ${FLAGS} -c "${SOURCE}" -o /dev/null
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, but must not")
endif()
foreach(regex IN LISTS expected)
  if(NOT output MATCHES "${regex}")
    message(FATAL_ERROR "${SOURCE} does not compile, as it must, but nothing matches `${regex}`:\n${output}")
  endif()
endforeach()
