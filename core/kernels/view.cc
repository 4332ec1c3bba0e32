#include "core/kernels/view.h"

#include <algorithm>

#include "core/kernels/layout.h"
#include "core/kernels/storage.h"
#include "core/ops/op.h"

namespace quotient::kernels {
namespace {

constexpr int64_t kNativeAlignment = 16;

// The axes that are larger than one, slowest first, renamed to the corresponding axes of the input.
std::vector<int> OrderInMemory(const std::vector<int64_t>& dims, Layout layout,
                               const model::Ints& names) {
  std::vector<int> order;
  for (int axis : PhysicalAxes(static_cast<int>(dims.size()), layout)) {
    if (dims[axis] != 1) order.push_back(static_cast<int>(names[axis]));
  }
  return order;
}

model::Ints Iota(int64_t count) {
  model::Ints values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = i;
  return values;
}

bool KeepsOrder(const KernelSpec& spec) {
  const Operand& input = spec.inputs[0];
  const Operand& output = spec.outputs[0];
  const int64_t rank = input.type.rank();
  model::Ints perm = Iota(rank);
  if (spec.op == "Transpose") {
    std::reverse(perm.begin(), perm.end());
    perm = spec.attributes.GetInts("perm", perm);
  }
  return OrderInMemory(input.type.dims(), input.layout, Iota(rank)) ==
         OrderInMemory(output.type.dims(), output.layout, perm);
}

// Whether `to` includes every value of `from`, so that a value stored as a float need not change.
bool WidensInStorage(model::DType from, model::DType to, Storage storage) {
  if (from == to) return true;
  return storage == Storage::kWide && StoredAsFloat(from) && to == model::DType::kFloat32;
}

// The region's offset in elements, if it is contiguous in memory.
std::optional<int64_t> ContiguousOffset(const Operand& input, const Operand& output,
                                        const Region& region) {
  const std::vector<int64_t> from = input.type.dims();
  const std::vector<int64_t> to = output.type.dims();
  if (!SameMemory(output.type, input.layout, output.layout)) return std::nullopt;
  const std::vector<int64_t> strides = StridesOf(from, input.layout);
  int64_t offset = 0;
  bool whole = false;  // Below the first axis larger than one, all must be kept.
  for (int axis : PhysicalAxes(input.type.rank(), input.layout)) {
    if (whole && to[axis] != from[axis]) return std::nullopt;
    if (to[axis] > 1) {
      if (region.steps[axis] != 1) return std::nullopt;
      whole = true;
    }
    offset += region.starts[axis] * strides[axis];
  }
  return offset;
}

std::optional<std::vector<int64_t>> PartsInPlace(const KernelSpec& spec) {
  const std::optional<std::vector<Region>> regions = RegionsOf(spec);
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const Operand& output = spec.outputs[i];
    if (output.type.dtype == model::DType::kUndefined) {
      offsets.push_back(0);
      continue;
    }
    if (!regions || output.type.elements() == 0) return std::nullopt;
    const std::optional<int64_t> offset = ContiguousOffset(spec.inputs[0], output, (*regions)[i]);
    if (!offset) return std::nullopt;
    const int64_t bytes = *offset * StorageBytes(output.type.dtype, spec.storage);
    if (spec.storage == Storage::kNative && bytes % kNativeAlignment != 0) return std::nullopt;
    offsets.push_back(bytes);
  }
  return offsets;
}

bool WholeInPlace(const KernelSpec& spec) {
  const Operand& input = spec.inputs[0];
  const Operand& output = spec.outputs[0];
  if (spec.outputs.size() > 1) return false;
  if (spec.op == "Transpose" || spec.op == kReorderOp) return KeepsOrder(spec);
  const ops::OpDef* const op = ops::FindOp(spec.op);
  if (op == nullptr) return false;
  if (op->movement == ops::Movement::kCopy) return KeepsOrder(spec);
  if (op->movement != ops::Movement::kInOrder) return false;
  // A Cast has the dimensions of its input, a view others.
  if (op->op_class != ops::OpClass::kView) {
    return WidensInStorage(input.type.dtype, output.type.dtype, spec.storage) && KeepsOrder(spec);
  }
  return input.type.dtype == output.type.dtype && IsPlain(input) && IsPlain(output);
}

std::optional<Region> SliceRegion(const KernelSpec& spec) {
  const model::Ints* starts = spec.attributes.FindInts("starts");
  const model::Ints* ends = spec.attributes.FindInts("ends");
  if (starts == nullptr || ends == nullptr) return std::nullopt;
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].type.dtype != model::DType::kUndefined) return std::nullopt;
  }
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const int64_t rank = static_cast<int64_t>(dims.size());
  const model::Ints axes = spec.attributes.GetInts("axes", Iota(starts->size()));
  const model::Ints steps = spec.attributes.GetInts("steps", model::Ints(starts->size(), 1));
  Region region{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    const int64_t dim = dims[axis];
    int64_t start = (*starts)[i] < 0 ? (*starts)[i] + dim : (*starts)[i];
    start =
        steps[i] > 0 ? std::clamp<int64_t>(start, 0, dim) : std::clamp<int64_t>(start, -1, dim - 1);
    region.starts[axis] = start;
    region.steps[axis] = steps[i];
  }
  return region;
}

std::optional<std::vector<Region>> SplitRegions(const KernelSpec& spec) {
  const int64_t rank = spec.inputs[0].type.rank();
  int64_t axis = spec.attributes.GetInt("axis", 0);
  if (axis < 0) axis += rank;
  std::vector<Region> regions;
  Region next{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1)};
  for (const Operand& part : spec.outputs) {
    // A part that nothing reads has an unknown size.
    if (part.type.dtype == model::DType::kUndefined) return std::nullopt;
    regions.push_back(next);
    next.starts[axis] += part.type.dim(static_cast<int>(axis)).number();
  }
  return regions;
}

}  // namespace

std::optional<std::vector<Region>> RegionsOf(const KernelSpec& spec) {
  if (spec.op == "Split") return SplitRegions(spec);
  if (spec.op != "Slice") return std::nullopt;
  const std::optional<Region> region = SliceRegion(spec);
  if (!region) return std::nullopt;
  return std::vector<Region>{*region};
}

std::optional<std::vector<int64_t>> FreeView(const KernelSpec& spec) {
  if (spec.inputs.empty() || spec.inputs[0].constant || !spec.epilogue.empty()) return std::nullopt;
  if (spec.outputs.empty() || spec.outputs[0].type.dtype == model::DType::kUndefined) {
    return std::nullopt;
  }
  if (spec.op == "Slice" || spec.op == "Split") return PartsInPlace(spec);
  if (WholeInPlace(spec)) return std::vector<int64_t>{0};
  return std::nullopt;
}

}  // namespace quotient::kernels
