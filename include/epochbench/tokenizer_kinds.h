// The kinds of tokenizers of a text. A SPEC is the name of one, then its folder or file.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace epochbench {

enum class TokenizerKind : std::uint8_t { gpt2, wordpiece, cased_wordpiece, uncased_wordpiece };

struct TokenizerKindName {
  std::string_view name;
  TokenizerKind kind;
};
inline constexpr std::array kTokenizerKinds{TokenizerKindName{"gpt2:", TokenizerKind::gpt2},
                                            TokenizerKindName{"wordpiece:", TokenizerKind::wordpiece},
                                            TokenizerKindName{"wordpiece-cased:", TokenizerKind::cased_wordpiece},
                                            TokenizerKindName{"wordpiece-uncased:", TokenizerKind::uncased_wordpiece}};

}  // namespace epochbench
