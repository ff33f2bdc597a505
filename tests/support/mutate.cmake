# Writes OUTPUT: FILE with the NTH place that reads FIND replaced by REPLACE. It is an error if there is none, so that a mutant
# cannot silently become the original.
#
#     cmake -DFILE=... -DOUTPUT=... -DFIND=... -DREPLACE=... -DNTH=1 -P mutate.cmake
file(READ "${FILE}" rest)
string(LENGTH "${FIND}" length)
set(before "")
foreach(place RANGE 1 ${NTH})
  string(FIND "${rest}" "${FIND}" at)
  if(at LESS 0)
    message(FATAL_ERROR "${FILE} has no ${NTH} places that read: ${FIND}")
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
