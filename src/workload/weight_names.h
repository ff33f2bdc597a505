// The names that others publish weights under, and the ones here, which are those of torchvision and Hugging Face.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace epochbench {

// The name here of a tensor that a file calls `published`, by the first spelling that is `known`; `published` itself if none
// is.
std::string name_here(const std::string& published, const std::function<bool(const std::string&)>& known);

// The parts that all names of a file begin with: "model." where PyTorch Lightning's module had the network as a member.
std::string shared_prefix(const std::vector<std::string>& names);

// Whether a tensor is not among the weights of the models here: a buffer such as a causal mask, or a head that they lack.
bool is_left_out(const std::string& published);

}  // namespace epochbench
