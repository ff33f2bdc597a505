#include "src/worker/protocol.h"

#include "src/base/text.h"

namespace epochbench {

Json parse_message(const std::string& line, const char* kind) {
  Json message = Json::parse(line, nullptr, false);
  if (!message.is_object() || !message.contains(kind) || !message[kind].is_string())
    throw ProtocolError("not a message of the protocol: \"" + visible(line.substr(0, 60)) + "\"");
  make_visible(message);
  return message;
}

void require_version(const Json& message) {
  const auto version = from_message<std::int64_t>(message, "protocol");
  if (version != kProtocolVersion)
    throw ProtocolError("version " + std::to_string(version) + " of the protocol instead of " +
                        std::to_string(kProtocolVersion) + "; both sides must come from one build");
}

void LineBuffer::append(const char* data, std::size_t size) {
  pending_.append(data, size);
  if (pending_.size() > kLongestLine && pending_.find('\n') == std::string::npos) throw ProtocolError("a line without an end");
}

std::optional<std::string> LineBuffer::pop() {
  const std::size_t end = pending_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

}  // namespace epochbench
