// From a SPEC to a data set. All data sets are listed here.
#include "epochbench/dataset.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "epochbench/embedded.h"
#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/data/dataset_sizes.h"
#include "src/data/image_dataset.h"
#include "src/data/images/decoder.h"
#include "src/data/images/image_file_dataset.h"
#include "src/data/synthetic.h"
#include "src/data/text.h"
#include "src/data/tokenizer.h"

namespace epochbench {
namespace {

constexpr std::string_view kTextPrefix = "text:", kEmbeddedText = "founding-documents";

std::unique_ptr<ByteSource> open_embedded(const char* path) {
  const auto bytes = embedded_file(path);
  if (!bytes) throw std::logic_error(std::string("the binary was built without ") + path);
  return open_memory(in_quotes(path), *bytes);
}

// The handwritten digits embedded in the binary (bench/data/README.md). Sample i belongs to the test split if i mod 5 is 4.
std::pair<ImageSet, ImageSet> read_digits() {
  const auto images = open_embedded("bench/data/digits-images.idx3-ubyte");
  const auto labels = open_embedded("bench/data/digits-labels.idx1-ubyte");
  const ImageSet all = read_idx(*images, *labels);
  const std::int64_t pixels = all.height * all.width;
  ImageSet train{all.source, all.height, all.width, 1, {}, {}};
  ImageSet test = train;
  for (std::int64_t i = 0; i < all.samples(); ++i) {
    ImageSet& set = i % 5 == 4 ? test : train;
    set.pixels.insert(set.pixels.end(), all.pixels.begin() + i * pixels, all.pixels.begin() + (i + 1) * pixels);
    set.labels.push_back(all.labels[static_cast<std::size_t>(i)]);
  }
  return {std::move(train), std::move(test)};
}

std::filesystem::path folder_of(std::string_view spec, std::string_view kind) {
  const std::string_view folder = spec.substr(kind.size());
  std::error_code error;
  if (folder.empty() || folder.find('\0') != std::string_view::npos || !std::filesystem::is_directory(folder, error)) {
    throw DataError("data " + in_quotes(spec) + ": " + in_quotes(folder) +
                    (std::filesystem::is_regular_file(folder, error) ? " is a file: name its folder"
                                                                     : " is not a folder: name the folder with the files") +
                    " (--data " + std::string(kind) + "DIR)");
  }
  return folder;
}

// The file of "text:FILE". Errors: DataError.
std::unique_ptr<ByteSource> open_text(std::string_view spec) {
  const std::string_view file = spec.substr(kTextPrefix.size());
  if (file.empty() || file.find('\0') != std::string_view::npos)
    throw DataError("data " + in_quotes(spec) + " names no file: give its path (--data text:FILE)");
  return open_file(file);
}

// The path of "images:PATH". Errors: DataError.
std::filesystem::path path_of(std::string_view spec) {
  const std::string_view path = spec.substr(kImageFiles.size());
  if (path.empty() || path.find('\0') != std::string_view::npos)
    throw DataError("data " + in_quotes(spec) + " names no path: give that of a folder or archive (--data images:PATH)");
  if (const auto reason = ImageDecoder::unavailable()) throw DataError("data " + in_quotes(spec) + ": " + *reason);
  return path;
}

bool takes(const SampleSpec& sample, Holds holds) {
  switch (holds) {
    case Holds::anything:
      return true;
    case Holds::images:
      return !sample.text();
    case Holds::colored_images:
      return sample.channels == 3;
    case Holds::text:
      return sample.text() && sample.text_classes == 0;
  }
  return false;
}

// Those that the model takes and this build reads.
std::vector<std::string> sources_for(const SampleSpec& sample) {
  std::vector<std::string> sources;
  for (const DataSource& source : kDataSources) {
    const bool unread = std::string_view(source.spec).starts_with(kImageFiles) && ImageDecoder::unavailable();
    if (takes(sample, source.holds) && !unread) sources.emplace_back(source.spec);
  }
  return sources;
}

// Errors: DataError for a model that takes texts.
void check_images(std::string_view spec, const SampleSpec& sample) {
  if (sample.text())
    throw DataError("data set " + in_quotes(spec) + " has images, but the model takes text: use one of " +
                    joined(sources_for(sample)) + " (--data)");
}

struct FolderFormat {
  std::string_view kind;
  ImageSet (*read)(const std::filesystem::path& folder, Split split);
};
constexpr std::array kFolderFormats{FolderFormat{"idx:", read_idx_split}, FolderFormat{"cifar10:", read_cifar10_split}};

// The SPEC that the path of a folder or file without its kind is likely to mean; empty if nothing is there.
std::string likely_spec(std::string_view path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(fs::path(path) / name, error); };
  if (path.find('\0') != std::string_view::npos || !fs::exists(path, error)) return "";
  std::string_view kind = kImageFiles;
  if (fs::is_directory(path, error)) {
    if (has_idx_files(path)) kind = "idx:";
    if (has("data_batch_1.bin")) kind = "cifar10:";
  } else if (fs::path(path).extension() != ".tar") {
    kind = kTextPrefix;
  }
  return std::string(kind) + std::string(path);
}

// "idx:DIR" for "MNIST": the SPEC of a set that people call by its name; empty for other texts.
std::string spec_of_name(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"mnist", "idx:DIR"},          {"emnist", "idx:DIR"},           {"kmnist", "idx:DIR"},
      {"cifar10", "cifar10:DIR"},    {"cifar", "cifar10:DIR"},        {"imagenet", "images:PATH"},
      {"imagenet1k", "images:PATH"}, {"tinyimagenet", "images:PATH"}, {"imagenette", "images:PATH"},
      {"openwebtext", "text:FILE"},  {"wikitext", "text:FILE"},       {"wikitext2", "text:FILE"},
      {"tinystories", "text:FILE"},  {"shakespeare", "text:FILE"},    {"tinyshakespeare", "text:FILE"}};
  for (const auto& [name, source] : kNames)
    if (plain == name) return source;
  return "";
}

// "images:PATH or --data idx:DIR": the sources that have a path.
std::string shown_kinds(std::vector<std::string> sources) {
  std::erase_if(sources, [](const std::string& source) { return source.find(':') == std::string::npos; });
  return joined(sources, " or --data ");
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(std::string_view spec, const SampleSpec& sample, std::int64_t nominal_samples,
                                      std::uint64_t seed, const Tokenizer* tokenizer, const ImageOptions& images) {
  const std::string name(spec);
  const bool is_text = spec == kEmbeddedText || spec.starts_with(kTextPrefix);
  if (tokenizer && !is_text)
    throw DataError("data " + in_quotes(spec) + " are not text to split into tokens: leave out --tokenizer, or name a text " +
                    "(--data text:FILE)");
  if (spec == "synthetic") return make_synthetic(name, sample, nominal_samples, seed);
  if (is_text) {
    const auto source = spec == kEmbeddedText ? open_embedded("bench/data/us-founding-documents.txt") : open_text(spec);
    return std::make_unique<TextDataset>(name, sample, *source, seed, tokenizer);
  }
  if (spec == "digits") {
    check_images(spec, sample);
    auto [train, test] = read_digits();
    return std::make_unique<ImageDataset>(name, sample, std::move(train), std::move(test));
  }
  if (spec.starts_with(kImageFiles)) {
    check_images(spec, sample);
    auto files = open_image_files(path_of(spec));
    if (images.cold) files->read_cold();
    return std::make_unique<ImageFileDataset>(name, sample, std::move(files), images, seed);
  }
  if (spec == kFashionMnist.name) {
    check_images(spec, sample);
    const std::filesystem::path folder = folder_of(kFashionMnist);
    return std::make_unique<ImageDataset>(name, sample, read_idx_split(folder, Split::train),
                                          read_idx_split(folder, Split::test));
  }
  for (const auto& [kind, read] : kFolderFormats) {
    if (!spec.starts_with(kind)) continue;
    check_images(spec, sample);
    const std::filesystem::path folder = folder_of(spec, kind);
    ImageSet train = read(folder, Split::train);
    return std::make_unique<ImageDataset>(name, sample, std::move(train), read(folder, Split::test));
  }
  const std::vector<std::string> known = sources_for(sample);
  if (const std::string name_only = spec_of_name(spec); !name_only.empty() && spec.find('/') == std::string::npos)
    throw DataError(
        "unknown data " + in_quotes(spec) + ": " +
        (contains(known, name_only)
             ? "name where its files are, --data " + name_only
             : "its files are " + name_only + ", which the model does not take; use one of " + joined(known) + " (--data)"));
  const std::string likely = likely_spec(spec);
  const bool fits = std::ranges::any_of(known, [&](const std::string& source) {
    const std::size_t colon = source.find(':');
    return colon != std::string::npos && likely.starts_with(source.substr(0, colon + 1));
  });
  if (fits)
    throw DataError("unknown data " + in_quotes(spec) + ": it is a " +
                    (std::filesystem::is_directory(spec) ? "folder" : "file") +
                    ", whose kind stands before its path: did you mean --data " + shell_word(likely) + "?");
  const std::string_view without_slash = spec.substr(0, spec.find_last_not_of('/') + 1);
  if (spec.find('/') != std::string::npos && spec.find(':') == std::string::npos && !contains(known, without_slash))
    throw DataError("unknown data " + in_quotes(spec) +
                    ": no such file or folder; write its kind and its whole path, such as --data " + shown_kinds(known));
  throw DataError("unknown data " + in_quotes(spec) + ": use one of " + joined(known) + " (--data)" +
                  did_you_mean(without_slash, known));
}

DatasetSize DatasetSizes::of(const std::string& spec, const SampleSpec& sample, std::int64_t nominal_samples,
                             const Tokenizer* tokenizer, const ImageOptions& images) {
  const std::string identity = tokenizer ? tokenizer->identity() : "";
  for (const Known& known : known_)
    if (known.spec == spec && known.sample == sample && known.nominal_samples == nominal_samples &&
        known.tokenizer == identity && known.images == images)
      return known.size;
  constexpr std::uint64_t kAnySeed = 0;  // sizes do not depend on it
  const auto dataset = open_dataset(spec, sample, nominal_samples, kAnySeed, tokenizer, images);
  if (const std::string note = dataset->note(); !note.empty()) print_error("data " + in_quotes(spec) + ": " + note);
  const DatasetSize size{dataset->name(), dataset->samples(Split::train), dataset->samples(Split::test), dataset->synthetic(),
                         dataset->pixel_values()};
  known_.push_back({spec, sample, nominal_samples, identity, images, size});
  return size;
}

}  // namespace epochbench
