// Convolutions on a CUDA device: a cuDNN plan, or im2col and a matrix product over as many images as the scratch holds. A
// window of 1x1 at stride 1 is a product of the tensors themselves.
#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/cuda/specs.h"
#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {
namespace {

using cuda::ConvolutionPass;

ConvolutionPass pass_of(Op op) {
  if (op == Op::conv2d_grad_input) return ConvolutionPass::grad_input;
  if (op == Op::conv2d_grad_weight) return ConvolutionPass::grad_weight;
  return ConvolutionPass::forward;
}

Element element_of_node(const Graph& graph, const Node& node) { return element_of(graph.desc(node.inputs[0]).dtype); }

// How im2col divides a convolution: columns [rows_of_image * images, width]. Whole: x is the columns, and nothing is divided.
struct Division {
  Conv2dShape shape;
  ConvolutionPass pass;
  Element element;
  std::int64_t rows_of_image, width, images;
  bool whole() const { return shape.kernel_height == 1 && shape.kernel_width == 1 && shape.stride == 1 && shape.padding == 0; }
  // Partial weight gradients of several chunks are summed in float.
  bool float_sum() const { return pass == ConvolutionPass::grad_weight && images < shape.batch && element != Element::f32; }
  std::size_t weights() const { return static_cast<std::size_t>(shape.out_channels * width); }
  std::size_t column_bytes() const { return whole() ? 0 : bytes_of_images(images); }
  std::size_t bytes_of_images(std::int64_t count) const {
    return static_cast<std::size_t>(count * rows_of_image * width) * element_bytes(element);
  }
};

Division divide(const Graph& graph, const Node& node) {
  constexpr std::size_t kColumnBytes = cuda::kConvolutionWorkspaceBytes - cuda::kProductWorkspaceBytes;
  Division d{conv2d_shape(graph, node), pass_of(node.op), element_of_node(graph, node), 0, 0, 1};
  d.rows_of_image = d.shape.out_height * d.shape.out_width;
  d.width = d.shape.kernel_height * d.shape.kernel_width * d.shape.channels;
  if (d.whole()) {
    d.images = d.shape.batch;
    return d;
  }
  d.images = std::clamp<std::int64_t>(static_cast<std::int64_t>(kColumnBytes / d.bytes_of_images(1)), 1, d.shape.batch);
  // Every chunk of y has the alignment of the first, for which its product is chosen.
  constexpr std::int64_t kAligned = 64;
  const auto image_bytes = d.rows_of_image * d.shape.out_channels * static_cast<std::int64_t>(element_bytes(d.element));
  const std::int64_t together = kAligned / std::gcd(kAligned, image_bytes);
  if (d.images < d.shape.batch && d.images > together) d.images -= d.images % together;
  return d;
}

struct Im2colScratch {
  void* workspace;
  void* columns;
  float* sum;  // of the weight gradient
  std::size_t bytes;
};
Im2colScratch lay_out(const Division& d, void* workspace) {
  ScratchPieces pieces(workspace);
  Im2colScratch scratch{};
  scratch.workspace = pieces.take(cuda::kProductWorkspaceBytes);
  scratch.columns = pieces.take(d.column_bytes());
  scratch.sum = pieces.take<float>(d.float_sum() ? d.weights() * sizeof(float) : 0);
  scratch.bytes = pieces.used();
  return scratch;
}

cuda::ProductSpec product_spec(const Division& d, std::int64_t images, cuda::Math math) {
  const std::int64_t rows = images * d.rows_of_image, out = d.shape.out_channels;
  cuda::ProductSpec spec;
  spec.element = spec.out = d.element;
  spec.math = math;
  switch (d.pass) {
    case ConvolutionPass::forward:  // y = columns weight^T
      spec.shape = {rows, out, d.width, false, true};
      break;
    case ConvolutionPass::grad_input:  // columns = dy weight
      spec.shape = {rows, d.width, out, false, false};
      break;
    case ConvolutionPass::grad_weight:  // dweight = dy^T columns
      spec.shape = {out, d.width, rows, true, false};
      if (d.float_sum()) spec.out = Element::f32;
      break;
  }
  return spec;
}

// A convolution as products over chunks of images; the last chunk may be smaller and has its own product.
class ByProducts {
 public:
  ByProducts(const CudaNodeSource& source, const Division& d, bool bias, bool relu)
      : d_(d), scratch_(lay_out(d, source.context.workspace)), libraries_(source.libraries) {
    const NodeOperands<void> o = source.operands();
    auto product = [&](std::int64_t images, bool accumulate) -> ChosenProduct {
      cuda::ProductSpec spec = product_spec(d, images, source.math());
      spec.bias = bias;
      spec.relu = relu;
      spec.accumulate = accumulate;
      const auto columns = [&](void* x) { return d.whole() ? x : scratch_.columns; };
      cuda::ProductOperands at{o.y(0), columns(o.x(0)), o.x(1), o.x_if(bias, 2)};
      if (d.pass == ConvolutionPass::grad_input) at = {columns(o.y(0)), o.x(0), o.x(1), nullptr};
      if (d.pass == ConvolutionPass::grad_weight) at = {d.float_sum() ? scratch_.sum : at.c, o.x(0), columns(o.x(1)), nullptr};
      return source.product(spec, at, scratch_.workspace);
    };
    const bool sums = d.pass == ConvolutionPass::grad_weight;
    const std::int64_t rest = d.shape.batch % d.images;
    const ChosenProduct first = product(d.images, false);
    implementation_ = (d.whole() ? "" : "im2col + ") + first.implementation;
    first_ = first.plan;
    next_ = sums && d.images < d.shape.batch ? product(d.images, true).plan : first_;
    last_ = rest > 0 ? product(rest, sums).plan : next_;
    if (d.float_sum()) {
      const cuda::CastTensor tensor{o.y(0), scratch_.sum, static_cast<std::int64_t>(d.weights()), d.element, Element::f32};
      tensor_ = source.context.tables.upload(std::vector{tensor});
      chunks_ = upload_chunks(source.context.tables, {tensor.n});
    }
  }

  // As cuda::Convolution::run.
  void run(void* out, const void* a, const void* b, const void* bias, cuda::Stream stream) const {
    if (d_.whole()) return run_whole(out, a, b, bias, stream);
    const std::size_t size = element_bytes(d_.element);
    for (std::int64_t first = 0; first < d_.shape.batch; first += d_.images) {
      const std::int64_t images = std::min(d_.images, d_.shape.batch - first);
      cuda::Product& product = *(images < d_.images ? last_ : first == 0 ? first_ : next_);
      const std::size_t of_y = static_cast<std::size_t>(first * d_.rows_of_image * d_.shape.out_channels) * size;
      switch (d_.pass) {
        case ConvolutionPass::forward:
          cuda::im2col(scratch_.columns, a, d_.shape, first, images, d_.element, stream);
          product.run(static_cast<std::byte*>(out) + of_y, scratch_.columns, b, const_cast<void*>(bias), scratch_.workspace,
                      stream);
          break;
        case ConvolutionPass::grad_input:
          product.run(scratch_.columns, static_cast<const std::byte*>(a) + of_y, b, nullptr, scratch_.workspace, stream);
          cuda::col2im(out, scratch_.columns, d_.shape, first, images, d_.element, stream);
          break;
        case ConvolutionPass::grad_weight:
          cuda::im2col(scratch_.columns, b, d_.shape, first, images, d_.element, stream);
          product.run(d_.float_sum() ? scratch_.sum : out, static_cast<const std::byte*>(a) + of_y, scratch_.columns, nullptr,
                      scratch_.workspace, stream);
          break;
      }
    }
    if (d_.float_sum()) cuda::cast(tensor_, chunks_.chunks, chunks_.count, stream);
  }

  const std::string& implementation() const { return implementation_; }

 private:
  void run_whole(void* out, const void* a, const void* b, const void* bias, cuda::Stream stream) const {
    first_->run(out, a, b, const_cast<void*>(bias), scratch_.workspace, stream);
  }

  Division d_;
  Im2colScratch scratch_;
  std::shared_ptr<cuda::Libraries> libraries_;
  std::shared_ptr<cuda::Product> first_, next_, last_;
  std::string implementation_;
  const cuda::CastTensor* tensor_ = nullptr;
  CudaChunks chunks_;
};

// cuDNN's plan for this convolution, and what follows it.
CudaNode planned(const CudaNodeSource& source, const cuda::ConvolutionSpec& spec, const char* then,
                 const std::function<void(cuda::Stream)>& enqueue_then = {}) {
  const NodeOperands<void> o = source.operands();
  const auto engines = source.libraries->convolution(spec);
  const auto run = [=, workspace = source.context.workspace, bias = spec.bias](cuda::Convolution& plan, cuda::Stream stream) {
    plan.run({o.y(0), o.x(0), o.x(1), o.x_if(bias, 2)}, workspace, stream);
  };
  // Only Winograd's transforms need fewer multiplications than a direct sum, and tensor cores are faster.
  const auto least_seconds = [rate = source.choices.device().properties().fp32_flops_per_second,
                              flops = flops(source.graph, source.node),
                              strict = is_strict(spec)](const cuda::Convolution& plan) {
    return strict && rate > 0 && plan.algorithm().empty() ? flops / rate : 0;
  };
  const auto chosen = source.choices.choose<cuda::Convolution>(
      source.layer, *engines, {run, source.float_inputs(), source.context.stream, least_seconds});
  return {[=, plan = chosen.plan, keep = source.libraries](cuda::Stream stream) {
            run(*plan, stream);
            if (enqueue_then) enqueue_then(stream);
          },
          chosen.plan->implementation() + chosen.how + (chosen.refused.empty() ? "" : " (" + chosen.refused + ")") + then,
          chosen.plan->algorithm()};
}

}  // namespace

cuda::ConvolutionSpec cuda_convolution_spec(const Graph& graph, const Node& node, bool winograd) {
  const bool with_bias = node.op == Op::conv2d_bias;
  cuda::ConvolutionSpec spec{conv2d_shape(graph, node),
                             pass_of(node.op),
                             element_of_node(graph, node),
                             math_of(node),
                             with_bias,
                             with_bias && attributes<Conv2dBiasAttributes>(node).relu};
  spec.shape.winograd = winograd;
  return spec;
}

std::string cuda_convolution_layer(const Graph& graph, const Node& node, bool winograd) {
  return describe(cuda_convolution_spec(graph, node, winograd));
}

std::size_t cuda_convolution_workspace_bytes(const Graph& graph, const Node& node) {
  return std::max(cuda::convolution_workspace_bytes(cuda_convolution_spec(graph, node, true)),
                  lay_out(divide(graph, node), nullptr).bytes);
}

CudaNode cuda_convolution(const CudaNodeSource& source) {
  const NodeOperands<void> o = source.operands();
  const cuda::ConvolutionSpec spec = cuda_convolution_spec(source.graph, source.node, source.winograd);
  const Division division = divide(source.graph, source.node);
  const auto apart = [&] {
    cuda::ConvolutionSpec plain = spec;
    plain.bias = plain.relu = false;
    const RowsChannels size = rows_channels(source.graph.desc(o.out[0]));
    return std::make_shared<CudaNode>(
        planned(source, plain, spec.relu ? " + cuda bias_add + cuda relu" : " + cuda bias_add", [=](cuda::Stream stream) {
          void* const y = o.y(0);
          cuda::bias_add(y, y, o.x(2), size.rows, size.channels, size.channels, spec.element, stream);
          if (spec.relu) cuda::relu(y, y, size.rows * size.channels, spec.element, stream);
        }));
  };
  const auto by_product = [&] {
    auto products = std::make_shared<const ByProducts>(source, division, spec.bias, spec.relu);
    const auto run = [=, bias = spec.bias](cuda::Stream stream) {
      products->run(o.y(0), o.x(0), o.x(1), o.x_if(bias, 2), stream);
    };
    return std::make_shared<CudaNode>(CudaNode{run, products->implementation()});
  };
  const bool half = spec.element != Element::f32;
  std::vector<Listed<CudaNode>::Algorithm> algorithms{
      {"cuDNN", [&] { return std::make_shared<CudaNode>(planned(source, spec, "")); }}};
  // In 16 bits, y is rounded before its bias is added, and columns of dx before they are summed.
  if (spec.bias) algorithms.push_back({"cuDNN and kernels", apart, half});
  if (division.whole())
    algorithms.insert(algorithms.begin(), {"product", by_product});
  else
    algorithms.push_back({"im2col and product", by_product, half && spec.pass == ConvolutionPass::grad_input});
  Listed<CudaNode> listed(way_problem(source.layer), std::move(algorithms));
  return source.choose(listed, source.float_inputs());
}

}  // namespace epochbench
