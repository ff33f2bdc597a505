// The fuzz targets: one function per reader of files or calls that users and others write.
//
// A target takes arbitrary bytes as a file or a call, and returns when they were read, or refused as the reader's header
// promises. Anything else ends the process: another exception, a crash, a broken promise.
#pragma once

#include <array>
#include <string_view>

namespace epochbench::fuzz {

void result(std::string_view bytes);         // a result file and the answers from it
void turns(std::string_view bytes);          // a document of interleaved turns, likewise
void dawnbench(std::string_view bytes);      // an entry, an empty line and its table of epochs
void mlperf(std::string_view bytes);         // the files of a result, with an empty line between them
void suite(std::string_view bytes);          // a suite file, and its cases
void claim_catalog(std::string_view bytes);  // a catalog of claims, and its answers without results
void price_file(std::string_view bytes);     // a user's prices, as CSV
void safetensors(std::string_view bytes);    // a weight file
void idx(std::string_view bytes);            // 2 bytes, little-endian: the length of the images' file; then both, plain or gzip
void cifar10(std::string_view bytes);        // a file of CIFAR-10's binary version
void jpeg(std::string_view bytes);           // an image file, of either format
void png(std::string_view bytes);            // likewise
void image_archive(std::string_view bytes);  // a tar archive of images
void text(std::string_view bytes);           // a byte that selects the sequence length; then a text, plain or gzip
void tokenizer(std::string_view bytes);  // a vocabulary, its merges and a text, with two empty lines after the first and second
void word_pieces(std::string_view bytes);   // a vocabulary of word pieces and a text, with two empty lines between them
void command_line(std::string_view bytes);  // the arguments, one per line

struct Target {
  const char* name;
  void (*run)(std::string_view bytes);
};
inline constexpr std::array kTargets{
    Target{"result", result},
    Target{"turns", turns},
    Target{"dawnbench", dawnbench},
    Target{"mlperf", mlperf},
    Target{"suite", suite},
    Target{"claim_catalog", claim_catalog},
    Target{"price_file", price_file},
    Target{"safetensors", safetensors},
    Target{"idx", idx},
    Target{"cifar10", cifar10},
    Target{"jpeg", jpeg},
    Target{"png", png},
    Target{"image_archive", image_archive},
    Target{"text", text},
    Target{"tokenizer", tokenizer},
    Target{"word_pieces", word_pieces},
    Target{"command_line", command_line},
};

// Ends the process if a promise is broken.
void require(bool holds, const char* promise);
// An error message is not empty and never repeats the whole input.
void require_message(std::string_view message);

}  // namespace epochbench::fuzz
