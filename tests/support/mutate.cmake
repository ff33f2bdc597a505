# Writes OUTPUT: FILE with the NTH occurrence of FIND replaced by REPLACE. A missing occurrence is an error, so that a mutant
# cannot silently equal the original.
#
#     cmake -DFILE=... -DOUTPUT=... -DFIND=... -DREPLACE=... -DNTH=1 -P mutate.cmake
file(READ "${FILE}" rest)
string(LENGTH "${FIND}" length)
set(before "")
foreach(place RANGE 1 ${NTH})
  string(FIND "${rest}" "${FIND}" at)
  if(at LESS 0)
    message(FATAL_ERROR "${FILE} contains fewer than ${NTH} occurrences of: ${FIND}")
  endif()
  string(SUBSTRING "${rest}" 0 ${at} skipped)
  math(EXPR after "${at} + ${length}")
  string(SUBSTRING "${rest}" ${after} -1 rest)
  if(place EQUAL NTH)
    string(APPEND before "${skipped}")
  else()
    string(APPEND before "${skipped}${FIND}")
  endif()
endforeach()
file(WRITE "${OUTPUT}" "${before}${REPLACE}${rest}")
