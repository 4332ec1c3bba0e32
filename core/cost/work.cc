#include "core/cost/work.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "core/kernels/attention.h"
#include "core/ops/op.h"

namespace quotient::cost {
namespace {

using kernels::KernelSpec;
using kernels::Operand;

double Product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  double product = 1;
  for (size_t i = begin; i < end; ++i) product *= static_cast<double>(dims[i]);
  return product;
}

bool IsThere(const Operand& operand) { return operand.type.dtype != model::DType::kUndefined; }

double Bytes(const Operand& operand) { return static_cast<double>(operand.type.bytes()); }

// Conv: one product per group. Rows are output pixels.
void DescribeConv(const KernelSpec& spec, Work& work) {
  const std::vector<int64_t> weights = spec.inputs[1].type.dims();
  const std::vector<int64_t> out = spec.outputs[0].type.dims();
  work.batch = static_cast<double>(spec.attributes.GetInt("group", 1));
  work.m = static_cast<double>(out[0]) * Product(out, 2, out.size());
  work.n = static_cast<double>(weights[0]) / work.batch;
  work.k = Product(weights, 1, weights.size());
}

// ConvTranspose: one product per group. Rows are input pixels, columns are all outputs that a pixel
// contributes to.
void DescribeConvTranspose(const KernelSpec& spec, Work& work) {
  const std::vector<int64_t> weights = spec.inputs[1].type.dims();
  const std::vector<int64_t> in = spec.inputs[0].type.dims();
  work.batch = static_cast<double>(spec.attributes.GetInt("group", 1));
  work.m = static_cast<double>(in[0]) * Product(in, 2, in.size());
  work.n = Product(weights, 1, weights.size());
  work.k = static_cast<double>(weights[0]) / work.batch;
}

void DescribeMatMul(const KernelSpec& spec, Work& work) {
  const std::vector<int64_t> a = spec.inputs[0].type.dims();
  const std::vector<int64_t> b = spec.inputs[1].type.dims();
  work.k = static_cast<double>(a.back());
  work.n = b.size() > 1 ? static_cast<double>(b.back()) : 1;
  const double outputs = static_cast<double>(spec.outputs[0].type.elements());
  const bool one_matrix = Product(b, 0, b.size() > 2 ? b.size() - 2 : 0) == 1;
  const double rows = a.size() > 1 ? static_cast<double>(a[a.size() - 2]) : 1;
  work.m = one_matrix ? outputs / work.n : rows;
  work.batch = one_matrix ? 1 : outputs / std::max(1.0, work.m * work.n);
}

void DescribeGemm(const KernelSpec& spec, Work& work) {
  const std::vector<int64_t> a = spec.inputs[0].type.dims();
  const std::vector<int64_t> out = spec.outputs[0].type.dims();
  work.batch = 1;
  work.m = static_cast<double>(out[0]);
  work.n = static_cast<double>(out[1]);
  work.k = static_cast<double>(a[spec.attributes.GetInt("transA", 0) != 0 ? 0 : 1]);
}

// Treats both products of attention as one, with k the sum of the depths of both: that of the
// scores and that of the values.
void DescribeAttention(const KernelSpec& spec, Work& work) {
  const kernels::AttentionTensors tensors = kernels::TensorsOfAttention(spec);
  work.batch = Product(tensors.q.dims, 0, 2);
  work.m = static_cast<double>(tensors.q.dims[2]);
  work.n = static_cast<double>(tensors.k.dims[2]);
  work.k = static_cast<double>(tensors.q.dims[3] + tensors.v.dims[3]);
  work.operations = work.batch * work.m * work.n;
}

// Whether the kernel may read less than all of its first input: slices of it, or rows gathered from
// it.
bool ReadsPart(const KernelSpec& spec) {
  const ops::OpDef* op = ops::FindOp(spec.op);
  return op != nullptr && op->op_class == ops::OpClass::kMove && spec.op != "Concat";
}

void CountBytes(const KernelSpec& spec, Work& work) {
  double written = 0;
  for (const Operand& output : spec.outputs) {
    if (IsThere(output)) written += Bytes(output);
  }
  work.activation_bytes = written;
  const std::vector<Operand> operands = kernels::AllOperands(spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!IsThere(operands[i])) continue;
    double bytes = Bytes(operands[i]);
    if (i == 0 && ReadsPart(spec)) bytes = std::min(bytes, written);
    (operands[i].constant ? work.constant_bytes : work.activation_bytes) += bytes;
  }
}

}  // namespace

Work WorkOf(const KernelSpec& spec) {
  Work work;
  CountBytes(spec, work);
  double outputs = 0;
  for (const Operand& output : spec.outputs) {
    if (IsThere(output)) outputs += static_cast<double>(output.type.elements());
  }
  if (!spec.outputs.empty() && IsThere(spec.outputs[0])) {
    work.element_bytes = model::DTypeBits(spec.outputs[0].type.dtype) / 8;
  }
  if (spec.op == "Conv") DescribeConv(spec, work);
  if (spec.op == "ConvTranspose") DescribeConvTranspose(spec, work);
  if (spec.op == "MatMul") DescribeMatMul(spec, work);
  if (spec.op == "Gemm") DescribeGemm(spec, work);
  if (spec.op == kernels::kAttentionOp) DescribeAttention(spec, work);
  double inputs = 0;
  for (const Operand& input : spec.inputs) {
    if (IsThere(input) && !input.constant) inputs += static_cast<double>(input.type.elements());
  }
  const double main = work.k > 0 ? 0 : std::max(outputs, inputs);
  work.operations += main + outputs * static_cast<double>(spec.epilogue.size());
  return work;
}

}  // namespace quotient::cost
