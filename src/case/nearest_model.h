// For a model that this program does not have, the built-in one whose work is most like it.
#pragma once

#include <string>
#include <string_view>

namespace epochbench {

// "resnet50" for "convnext-tiny", whatever the case of its letters; "" if no kind of model that is known occurs in the name.
std::string nearest_model(std::string_view name);

}  // namespace epochbench
