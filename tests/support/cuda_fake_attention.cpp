// The simulated attention.
#include "tests/support/cuda_fake_attention.h"

#include <cmath>

#include "kernels/reference/kernels.h"
#include "tests/support/cuda_fake_numbers.h"

namespace epochbench::test {
namespace {

struct Layer : FakeAttention {
  struct Rows {  // elements in each, and from one to the next
    std::int64_t row, stride;
  };
  Rows queries() const { return {row_stride(spec.shape), input_stride(spec.shape)}; }
  Rows keys() const { return {key_heads(spec.shape) * spec.shape.width, key_stride(spec.shape)}; }

  std::size_t elements() const { return elements(queries()); }
  std::size_t elements(const Rows& rows) const { return count({spec.shape.batch, spec.shape.sequence, rows.row}); }
  Floats load(const void* from) const { return test::load(from, elements(), spec.element); }
  // Rows of q, k, v or their gradients, which may be parts of wider rows.
  Floats load_rows(const void* from, const Rows& rows) const {
    Floats values;
    for_each_row(rows, [&](std::size_t offset, std::size_t, std::size_t row) {
      const Floats one = test::load(static_cast<const std::byte*>(from) + offset, row, spec.element);
      values.insert(values.end(), one.begin(), one.end());
    });
    return values;
  }
  void store(void* to, const Floats& values) const { test::store(to, values, spec.element); }
  void store_rows(void* to, const Floats& values, const Rows& rows) const {
    for_each_row(rows, [&](std::size_t offset, std::size_t first, std::size_t row) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      test::store(static_cast<std::byte*>(to) + offset, Floats(begin, begin + static_cast<std::ptrdiff_t>(row)), spec.element);
    });
  }
  // Calls function(offset in bytes, index of its first element, elements).
  template <typename Function>
  void for_each_row(const Rows& rows, Function function) const {
    const auto row = static_cast<std::size_t>(rows.row), stride = static_cast<std::size_t>(rows.stride);
    for (std::size_t first = 0, i = 0; first < elements(rows); first += row, ++i)
      function(bytes(i * stride, spec.element), first, row);
  }
  AttentionShape separate() const {
    AttentionShape shape = spec.shape;
    shape.joint = false;
    return shape;
  }
  // Its own masks, like those of a library: determined by the seed only.
  Dropout dropout(const std::int64_t* seed_offset, bool gradient) const {
    if (spec.dropout == 0) return {};
    const double dropped = rounds_dropout ? std::round(spec.dropout * 16) / 16 : spec.dropout;
    return {static_cast<std::uint64_t>(seed_offset[0]), gradient && masks_differ ? 1u : 0u,
            static_cast<std::uint32_t>(std::llround(dropped * 0x1p32)), static_cast<float>(1 / (1 - spec.dropout))};
  }
};

class FakeForward final : public cuda::AttentionForward {
 public:
  explicit FakeForward(const FakeAttention& layer) : layer_{layer} {}

  void run(const Tensors& t, void* workspace, cuda::Stream stream) override {
    const auto compute = [=, layer = layer_] {
      use_workspace(workspace, cuda::attention_workspace_bytes(layer.spec.shape, false));
      if (layer.spec.dropout > 0) layer.seeds.insert(layer.seed_of[t.q] = t.seed_offset[0]);
      const std::int32_t step = 0;
      Floats y(layer.elements());
      reference::attention(y.data(), t.log_sum_exp, layer.load_rows(t.q, layer.queries()).data(),
                           layer.load_rows(t.k, layer.keys()).data(), layer.load_rows(t.v, layer.keys()).data(), &step,
                           layer.separate(), layer.dropout(t.seed_offset, false));
      layer.store(t.y, y);
    };
    layer_.device.enqueue_plan(has_run_, stream, compute, layer_.seconds);
  }
  std::string implementation() const override { return "fake attention"; }

 private:
  Layer layer_;
  bool has_run_ = false;
};

class FakeBackward final : public cuda::AttentionBackward {
 public:
  explicit FakeBackward(const FakeAttention& layer) : layer_{layer} {}

  void run(const Tensors& t, void* workspace, cuda::Stream stream) override {
    const auto compute = [=, layer = layer_] {
      use_workspace(workspace, cuda::attention_workspace_bytes(layer.spec.shape, true));
      if (layer.spec.dropout > 0 && t.seed_offset[0] != layer.seed_of.at(t.q))
        throw cuda::Error("fake attention: the forward pass had another seed");
      const std::int32_t step = 0;
      Floats dq(layer.elements()), dk(layer.elements(layer.keys())), dv(dk);
      reference::attention_grad(dq.data(), dk.data(), dv.data(), layer.load(t.dy).data(),
                                layer.load_rows(t.q, layer.queries()).data(), layer.load_rows(t.k, layer.keys()).data(),
                                layer.load_rows(t.v, layer.keys()).data(), layer.load(t.y).data(), t.log_sum_exp, &step,
                                layer.separate(), layer.dropout(t.seed_offset, true));
      layer.store_rows(t.dq, dq, layer.queries());
      layer.store_rows(t.dk, dk, layer.keys());
      layer.store_rows(t.dv, dv, layer.keys());
    };
    layer_.device.enqueue_plan(has_run_, stream, compute, layer_.seconds);
  }
  std::string implementation() const override { return "fake attention"; }

 private:
  Layer layer_;
  bool has_run_ = false;
};

}  // namespace

std::shared_ptr<cuda::AttentionForward> make_fake_forward(const FakeAttention& layer) {
  return std::make_shared<FakeForward>(layer);
}

std::shared_ptr<cuda::AttentionBackward> make_fake_backward(const FakeAttention& layer) {
  return std::make_shared<FakeBackward>(layer);
}

}  // namespace epochbench::test
