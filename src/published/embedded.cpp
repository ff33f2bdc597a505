#include "epochbench/embedded.h"

#include "src/published/import.h"
#include "src/result/result_json.h"

namespace epochbench {

const std::vector<PublishedDocument>& embedded_published() {
  static const std::vector<PublishedDocument> documents = [] {
    std::vector<PublishedDocument> all;
    for (const std::string_view path : embedded_files("results/published/"))
      if (!path.ends_with("/sources.json"))  // lists where they came from
        all.push_back(parse_published(embedded_file(path).value_or(""), std::string(path)));
    return all;
  }();
  return documents;
}

}  // namespace epochbench
