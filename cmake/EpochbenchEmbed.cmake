# epochbench_embed(TARGET FILES relative/path ... ELSEWHERE name=/path ...): the files become part of the static library TARGET,
# which defines epochbench::embedded_file("relative/path") and epochbench::embedded_files(prefix) of
# include/epochbench/embedded.h. Files outside the repository have the name given with them.
# The assembler's .incbin embeds the bytes, so a changed file changes one object, without a generator script. The file is one to
# preprocess (.S), because for others clang warns that dependency options are unused.
enable_language(ASM)
function(epochbench_embed target)
  cmake_parse_arguments(ARG "" "" "FILES;ELSEWHERE" ${ARGN})
  set(asm "${CMAKE_CURRENT_BINARY_DIR}/${target}.S")
  set(cpp "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  set(asm_text "        .section .rodata\n")
  set(declarations "")
  set(rows "")
  set(index 0)
  set(paths "")
  foreach(file IN LISTS ARG_FILES ARG_ELSEWHERE)
    set(path "${PROJECT_SOURCE_DIR}/${file}")
    if(file IN_LIST ARG_ELSEWHERE)
      string(REGEX MATCH "^([^=]*)=(.*)$" path "${file}")
      set(file "${CMAKE_MATCH_1}")
      set(path "${CMAKE_MATCH_2}")
    endif()
    list(APPEND paths "${path}")
    string(APPEND asm_text "        .globl eb_embedded_${index}\n        .globl eb_embedded_${index}_end\n        .balign 16\n"
           "eb_embedded_${index}:\n        .incbin \"${path}\"\neb_embedded_${index}_end:\n        .byte 0\n")
    string(APPEND declarations "extern const char eb_embedded_${index}[], eb_embedded_${index}_end[];\n")
    string(APPEND rows "    {\"${file}\", eb_embedded_${index}, eb_embedded_${index}_end},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND asm_text "        .section .note.GNU-stack,\"\",%progbits\n")
  file(CONFIGURE OUTPUT "${asm}" CONTENT "${asm_text}" @ONLY)
  file(CONFIGURE OUTPUT "${cpp}" CONTENT "#include \"epochbench/embedded.h\"
extern \"C\" {
${declarations}}
namespace {
struct Row { const char* path; const char* begin; const char* end; };
const Row kRows[] = {
${rows}};
}
namespace epochbench {
std::optional<std::string_view> embedded_file(std::string_view path) {
  for (const Row& row : kRows)
    if (path == row.path) return std::string_view(row.begin, static_cast<std::size_t>(row.end - row.begin));
  return std::nullopt;
}
std::vector<std::string_view> embedded_files(std::string_view prefix) {
  std::vector<std::string_view> found;
  for (const Row& row : kRows)
    if (std::string_view(row.path).substr(0, prefix.size()) == prefix) found.push_back(row.path);
  return found;
}
}
" @ONLY)
  set_source_files_properties("${asm}" PROPERTIES OBJECT_DEPENDS "${paths}")
  add_library(${target} STATIC "${asm}" "${cpp}")
  target_link_libraries(${target} PUBLIC epochbench_options)
endfunction()
