// What is fuzzed: every reader of what users and others write, one function each.
//
// A target takes bytes as a file or a call may hold them, whatever they are, and returns when they were read, or refused as
// the reader's header promises. Anything else ends the process: another exception, a crash, a promise that does not hold.
#pragma once

#include <array>
#include <string_view>

namespace epochbench::fuzz {

void result(std::string_view bytes);        // a result file, and what the answers make of it
void turns(std::string_view bytes);         // a document of interleaved turns, likewise
void suite(std::string_view bytes);         // a suite file, and its cases
void safetensors(std::string_view bytes);   // a file of weights
void idx(std::string_view bytes);           // 2 bytes, little-endian: the length of the images' file; then both, plain or gzip
void cifar10(std::string_view bytes);       // a file of CIFAR-10's binary version
void text(std::string_view bytes);          // a byte that chooses the sequence; then a text, plain or gzip
void command_line(std::string_view bytes);  // the arguments, a line each

struct Target {
  const char* name;
  void (*run)(std::string_view bytes);
};
inline constexpr std::array kTargets{
    Target{"result", result}, Target{"turns", turns},     Target{"suite", suite}, Target{"safetensors", safetensors},
    Target{"idx", idx},       Target{"cifar10", cifar10}, Target{"text", text},   Target{"command_line", command_line},
};

// Ends the process where a promise is broken.
void require(bool holds, const char* promise);
// What is said of bad input: something, and never the whole input again.
void require_message(std::string_view message);

}  // namespace epochbench::fuzz
