// The layout of variables, inputs and intermediates of a program: offsets that do not depend on the device, and addresses.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "epochbench/backend.h"

namespace epochbench {

class ProgramLayout {
 public:
  struct Variable {
    TensorDesc desc;
    std::size_t offset;  // into the memory of all variables
  };

  explicit ProgramLayout(const Program& program);

  std::size_t variable_bytes() const { return variable_bytes_; }
  std::size_t slot_bytes() const { return slot_bytes_; }  // of one batch: the inputs of all entries, each once
  int parts() const { return parts_; }                    // of a batch
  int first_part() const { return first_part_; }          // as of the program
  std::size_t arena_bytes() const { return arena_bytes_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }

  const std::vector<Value>& inputs() const { return inputs_; }
  std::size_t input_offset(int input) const {
    return input_offset_.at(static_cast<std::size_t>(input));
  }                                         // in a slot, of part 0
  std::size_t part_bytes(int input) const;  // from a part's input to the next part's
  int input(std::string_view name) const;

  // Errors: std::invalid_argument for an unknown name; the other two also for elements out of range.
  const Variable& variable(std::string_view name) const;
  const Variable& whole_variable(std::string_view name, std::size_t elements) const;
  const Variable& variable_part(std::string_view name, std::int64_t first, std::size_t elements) const;

 private:
  std::map<std::string, Variable, std::less<>> variables_;
  std::vector<Value> inputs_;
  std::vector<std::size_t> input_offset_;
  std::size_t variable_bytes_ = 0, slot_bytes_ = 0, arena_bytes_ = 0, workspace_bytes_ = 0;
  int parts_ = 1, first_part_ = 0;
};

// The addresses of an entry's values. Inputs move with the slot and the part of its batch, so nodes look up an address each
// time they run.
class ValueMemory {
 public:
  ValueMemory() = default;
  // `slots`: kInputSlots batches, one after the other.
  ValueMemory(const ProgramLayout& layout, const EntryGraph& entry, std::byte* variables, std::byte* slots, std::byte* arena);

  template <typename T = float>
  T* get(ValueId id) const {  // null: no node reads this value, so it has no memory
    return get<T>(id, slot_, part_);
  }
  template <typename T = float>
  T* get(ValueId id, InputSlot slot, int part) const {
    const Place& place = places_[static_cast<std::size_t>(id)];
    return reinterpret_cast<T*>(place.address + static_cast<std::size_t>(slot) * place.slot_stride +
                                static_cast<std::size_t>(part) * place.part_stride);
  }
  InputSlot slot() const { return slot_; }
  int part() const { return part_; }
  int parts() const { return parts_; }
  int part_of_batch() const { return first_part_ + part_; }  // among the parts of all ranks
  void select(InputSlot slot, int part = 0) {
    slot_ = slot;
    part_ = part;
  }

 private:
  struct Place {
    std::byte* address = nullptr;
    std::size_t slot_stride = 0, part_stride = 0;  // bytes; 0: not an input
  };
  std::vector<Place> places_;  // by ValueId
  InputSlot slot_ = 0;
  int part_ = 0, parts_ = 1, first_part_ = 0;
};

}  // namespace epochbench
