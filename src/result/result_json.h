// The result document as JSON text, schema version 1 (results/schema.json), and back.
#pragma once

#include <string>
#include <string_view>

#include "src/base/json.h"
#include "src/result/result.h"

namespace epochbench {

Json cpu_to_json(const CpuInfo& cpu);
Json gpu_to_json(const GpuInfo& gpu);
Json context_to_json(const Context& context);
Json run_to_json(const Run& run);
std::string result_to_text(const Result& result);

bool is_result(const Json& document);  // it says that it is one: there is a schema_version

// `source` names the text in messages. Further keys are ignored. Errors: FormatError for text that is not a result, and for
// a newer schema version.
Result parse_result(std::string_view text, const std::string& source);
Result result_from_json(const Json& document, const std::string& source);
Result read_result(const std::string& path);
Context read_context(const JsonFields& fields);   // errors: FormatError
RunStatus read_status(const JsonFields& fields);  // its key `status`; errors likewise

}  // namespace epochbench
