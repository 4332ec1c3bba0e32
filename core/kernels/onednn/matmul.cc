#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/layout.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/kernels/onednn/primitive_kernel.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::onednn {
namespace {

using dnnl::memory;

// A product as oneDNN sees it: operands of equal rank, with transposes expressed as strides.
struct Product {
  std::vector<int64_t> a_dims, a_strides;
  std::vector<int64_t> b_dims, b_strides;
  std::vector<int64_t> out_dims;
};

struct Matrix {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
};

// Row-major, with leading ones up to `rank`.
Matrix Extended(std::vector<int64_t> dims, size_t rank) {
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return {dims, StridesOf(dims, Layout::kPlain)};
}

// MatMul. If the right factor is a single matrix, the product becomes two-dimensional whatever
// leading axes the left one has: one large product instead of many small ones.
Product DescribeMatMul(const KernelSpec& spec) {
  std::vector<int64_t> a = spec.inputs[0].type.dims();
  std::vector<int64_t> b = spec.inputs[1].type.dims();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const int64_t batches = std::accumulate(b.begin(), b.end() - 2, int64_t{1}, std::multiplies<>());
  if (batches == 1 && a.size() >= b.size()) {
    const int64_t rows = std::accumulate(a.begin(), a.end() - 1, int64_t{1}, std::multiplies<>());
    a = {rows, a.back()};
    b = {b[b.size() - 2], b.back()};
  }
  const size_t rank = std::max(a.size(), b.size());
  const Matrix left = Extended(a, rank), right = Extended(b, rank);
  Product product{left.dims, left.strides, right.dims, right.strides, left.dims};
  for (size_t i = 0; i + 2 < rank; ++i) {
    product.out_dims[i] = std::max(left.dims[i], right.dims[i]);
  }
  product.out_dims[rank - 1] = right.dims[rank - 1];
  return product;
}

Product DescribeGemm(const KernelSpec& spec) {
  Matrix a = Extended(spec.inputs[0].type.dims(), 2), b = Extended(spec.inputs[1].type.dims(), 2);
  for (auto [matrix, name] : {std::pair{&a, "transA"}, std::pair{&b, "transB"}}) {
    if (spec.attributes.GetInt(name, 0) == 0) continue;
    std::swap(matrix->dims[0], matrix->dims[1]);
    std::swap(matrix->strides[0], matrix->strides[1]);
  }
  return {a.dims, a.strides, b.dims, b.strides, {a.dims[0], b.dims[1]}};
}

bool HasAddend(const KernelSpec& spec) {
  return spec.op == "Gemm" && spec.inputs.size() > 2 &&
         spec.inputs[2].type.dtype != model::DType::kUndefined &&
         spec.attributes.GetFloat("beta", 1) != 0;
}

// Adds alpha and beta * C of a Gemm before the epilogue.
void AppendGemm(PrimitiveKernel& kernel, PostOps& post_ops) {
  const KernelSpec& spec = kernel.spec();
  const auto alpha = static_cast<float>(spec.attributes.GetFloat("alpha", 1));
  const auto beta = spec.attributes.GetFloat("beta", 1);
  if (spec.op == "Gemm" && alpha != 1) {
    post_ops.ops.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0);
  }
  if (!HasAddend(spec)) return;
  const std::vector<int64_t> dims = Extended(spec.inputs[2].type.dims(), 2).dims;
  const memory::desc desc = Plain(dims);
  const int name = DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.ops.len()) | DNNL_ARG_SRC_1;
  if (spec.inputs[2].constant && beta != 1) {
    const int64_t count = spec.inputs[2].type.elements();
    const int64_t scaled = kernel.AddDerived(
        {2}, count, [=](std::span<const model::Tensor* const> tensors, float* out) {
          for (int64_t i = 0; i < count; ++i) {
            out[i] = static_cast<float>(beta * tensors[2]->GetDouble(i));
          }
        });
    post_ops.arguments.push_back({name, desc, Argument::Source::kConstant, scaled});
  } else {
    post_ops.arguments.push_back(kernel.Read(name, 2, desc, desc));
  }
  post_ops.ops.append_binary(dnnl::algorithm::binary_add, desc);
}

// The library may choose the order of constants.
memory::desc Wanted(const Operand& operand, const memory::desc& given) {
  return operand.constant ? AnyOrder(given.get_dims()) : given;
}

bool IsOurs(const KernelSpec& spec) {
  if ((spec.op != "MatMul" && spec.op != "Gemm") || spec.outputs.size() != 1) return false;
  for (const Operand& operand : AllOperands(spec)) {
    if (operand.type.dtype == model::DType::kUndefined) continue;
    if (!StoredAsFloat(operand.type.dtype) || operand.type.elements() == 0) return false;
  }
  // Multiplying a non-constant addend by beta would need another pass.
  return !HasAddend(spec) || spec.inputs[2].constant || spec.attributes.GetFloat("beta", 1) == 1;
}

}  // namespace

KernelOrStatus MakeMatMul(const KernelSpec& spec) {
  if (!IsOurs(spec)) return nullptr;
  const Product product = spec.op == "Gemm" ? DescribeGemm(spec) : DescribeMatMul(spec);
  auto kernel = std::make_unique<PrimitiveKernel>(spec);
  const absl::Status status = Guard([&] {
    const memory::desc a = Strided(product.a_dims, product.a_strides);
    const memory::desc b = Strided(product.b_dims, product.b_strides);
    const memory::desc out = Plain(product.out_dims);
    PostOps post_ops;
    AppendGemm(*kernel, post_ops);
    QUOTIENT_RETURN_IF_ERROR(AppendEpilogue(*kernel, product.out_dims, post_ops));
    const dnnl::matmul::primitive_desc desc(Engine(), Wanted(spec.inputs[0], a),
                                            Wanted(spec.inputs[1], b), out,
                                            Attributes(post_ops.ops));
    std::vector<Argument> arguments{kernel->Read(DNNL_ARG_SRC, 0, a, desc.src_desc()),
                                    kernel->Read(DNNL_ARG_WEIGHTS, 1, b, desc.weights_desc()),
                                    PrimitiveKernel::Write(DNNL_ARG_DST, desc.dst_desc())};
    arguments.insert(arguments.end(), post_ops.arguments.begin(), post_ops.arguments.end());
    kernel->AddStage(dnnl::matmul(desc), std::move(arguments), desc.scratchpad_desc());
    return absl::OkStatus();
  });
  QUOTIENT_RETURN_IF_ERROR(status);
  return kernel;
}

}  // namespace quotient::kernels::onednn
