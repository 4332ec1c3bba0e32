// Rules about pools: Pads become part of them, one behind another becomes one, what does not care
// moves behind them, and averages become Convs, which add up with others.

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "core/ops/window.h"
#include "core/rules/concat_split.h"
#include "core/rules/conv_window.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# MaxPool(Pad(x)) = MaxPool(x) with these pads, of -infinity, or of zeros where x is not negative
pool-of-pad: MaxPool[?m](Pad[?p](?x)) => pool_of_pad(?m, ?p, ?x) if pads_lowest(?p)
pool-of-pad: MaxPool[?m](Pad[?p](?x)) => pool_of_pad(?m, ?p, ?x)
  if pads_zeros(?p) and nonnegative(?x)
# AveragePool(Pad(x)) = AveragePool(x) with these pads, which count; zeros
pool-of-pad: AveragePool[?m](Pad[?p](?x)) => pool_of_pad(?m, ?p, ?x) if pads_zeros(?p)
# MaxPool(MaxPool(x)) = MaxPool(x), its window that of the two; the first skips nothing
pool-chain: MaxPool[?m](MaxPool[?n](?x)) => pool_chain(?m, ?n, ?x, MaxPool[?n](?x))
# MaxPool(Relu(x)) = Relu(MaxPool(x)), which has fewer elements
pool-of-relu: MaxPool[?m](Relu(?x)) => Relu(MaxPool[?m](?x)) if always_reads(?m, ?x)
# MaxPool(f(x)) = f(MaxPool(x)), f rising: Clip, LeakyRelu, Sigmoid, Tanh
pool-of-rising: MaxPool[?m](Clip[?c](?x)) => Clip[?c](MaxPool[?m](?x))
  if float(?x) and always_reads(?m, ?x)
pool-of-rising: MaxPool[?m](LeakyRelu[?l](?x)) => LeakyRelu[?l](MaxPool[?m](?x))
  if float(?x) and rises(?l) and always_reads(?m, ?x)
pool-of-rising: ?z = MaxPool[?m](Sigmoid(?x)) => Sigmoid(MaxPool[?m](?x))
  if float(?x) and always_reads(?m, ?x) and smooth(?z)
pool-of-rising: ?z = MaxPool[?m](Tanh(?x)) => Tanh(MaxPool[?m](?x))
  if float(?x) and always_reads(?m, ?x) and smooth(?z)
pool-of-rising: GlobalMaxPool(Relu(?x)) => Relu(GlobalMaxPool(?x)) if float(?x) and has_pixels(?x)
pool-of-rising: GlobalMaxPool(Clip[?c](?x)) => Clip[?c](GlobalMaxPool(?x))
  if float(?x) and has_pixels(?x)
pool-of-rising: GlobalMaxPool(LeakyRelu[?l](?x)) => LeakyRelu[?l](GlobalMaxPool(?x))
  if float(?x) and rises(?l) and has_pixels(?x)
# MaxPool(Concat(x, y, ..)) = Concat(MaxPool(x), MaxPool(y), ..), if less is concatenated then
pool-of-concat: MaxPool[?m](Concat[?c](?xs...)) => pooled_parts(?m, ?c, ?xs)
pool-of-concat: AveragePool[?m](Concat[?c](?xs...)) => pooled_parts(?m, ?c, ?xs)
# AveragePool(Conv(x, w)) = Conv(AveragePool(x), w), w 1x1, and the other way round: a stride leaves
# fewer elements to multiply, and without it siblings of the Conv read what is not pooled
average-of-conv: ?z = AveragePool[?m](Conv[?c](?x, ?w, ?b...)) => conv_of_average(?m, ?c, ?x, ?w, ?b)
  if weight(?w) and reaches_far(?x) and smooth(?z)
average-of-conv: ?z = Conv[?c](AveragePool[?m](?x), ?w, ?b...) => average_of_conv(?m, ?c, ?x, ?w, ?b)
  if weight(?w) and activation(?x) and reaches_far(?x) and has_pixels(?x) and smooth(?z)
# AveragePool(x) + AveragePool(y) = AveragePool(x + y)
sum-of-pools: ?z = Add(AveragePool[?m](?x), AveragePool[?m](?y)) => AveragePool[?m](Add(?x, ?y))
  if same(?x, ?y) and distinct(?x, ?y) and reaches_far(?x) and smooth(?z)
# AveragePool(x) = Conv(x, 1 / n), depthwise, n the elements of the window
pool-average: ?z = AveragePool[?m](?x) => average_conv(?m, ?x) if reaches_far(?x) and smooth(?z)
)";

// The window of a pool with explicit pads and no rounding up: those of a window that rounding adds
// would not be the same behind a Pad.
std::optional<ops::Window> ReadPool(const OpWord& word, const TensorType& x) {
  const Ints* kernel = word.attributes.FindInts("kernel_shape");
  if (kernel == nullptr || !x.has_rank() || x.rank() < 3 ||
      word.attributes.GetInt("ceil_mode", 0) != 0 || word.attributes.Has("auto_pad")) {
    return std::nullopt;
  }
  const auto window = ops::ReadWindow(word.attributes, *kernel, ops::SpatialDims(*x.shape));
  if (!window.ok() || !window->pads_known) return std::nullopt;
  return *window;
}

bool AlwaysReads(const ops::Window& window, const TensorType& x) {
  return ops::AlwaysReads(window, ops::SpatialDims(*x.shape));
}

bool AreAll(const Ints& numbers, int64_t wanted) {
  return std::ranges::all_of(numbers, [=](int64_t number) { return number == wanted; });
}

bool HasPads(const ops::Window& window) {
  return !AreAll(window.pads_begin, 0) || !AreAll(window.pads_end, 0);
}

// Whether every element in the padding counts as one of the window.
bool CountsPads(const OpWord& word) { return word.attributes.GetInt("count_include_pad", 0) != 0; }

// The pool of `word` with another window. Returns an invalid class if it might see padding alone,
// since its result would then be none of x, and if ONNX Runtime refuses it: pads must be smaller
// than the kernel without its holes.
ClassId MakePool(Terms& terms, const OpWord& word, const ops::Window& window, ClassId x) {
  if (!AlwaysReads(window, terms.type(x))) return ClassId();
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    if (std::max(window.pads_begin[axis], window.pads_end[axis]) >= window.kernel[axis]) {
      return ClassId();
    }
  }
  AttributeMap attributes = word.attributes;
  attributes.Set("kernel_shape", window.kernel);
  for (const char* name : {"pads", "strides", "dilations"}) attributes.Erase(name);
  ops::WriteWindow(window, attributes);
  return terms.Op(word.name, {x}, std::move(attributes));
}

// args: m, p, x
ClassId PoolOfPad(Terms& terms, std::span<const Binding> args) {
  const OpWord& pool = terms.word(args[0].op);
  const OpWord& pad = terms.word(args[1].op);
  const ClassId x = args[2].id;
  const std::optional<ops::Window> own = ReadPool(pool, terms.type(x));
  std::optional<ops::Window> window = own;
  const Ints* pads = pad.attributes.FindInts("pads");
  if (!window || pads == nullptr || pad.attributes.Has("axes")) return ClassId();
  const auto rank = static_cast<size_t>(terms.type(x).rank());
  if (pads->size() != 2 * rank || std::ranges::any_of(*pads, [](int64_t n) { return n < 0; })) {
    return ClassId();
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t begin = (*pads)[axis], end = (*pads)[rank + axis];
    if (axis < 2) {
      if (begin != 0 || end != 0) return ClassId();
      continue;
    }
    window->pads_begin[axis - 2] += begin;
    window->pads_end[axis - 2] += end;
  }
  if (pool.name != "AveragePool") return MakePool(terms, pool, *window, x);
  // Its own pads must count like those of the Pad.
  if (HasPads(*own) && !CountsPads(pool)) return ClassId();
  OpWord counting = pool;
  counting.attributes.Set("count_include_pad", int64_t{1});
  return MakePool(terms, counting, *window, x);
}

// args: m, n, x, y = MaxPool[n](x). No window of either may see padding alone, because the larger
// one might see more.
ClassId PoolChain(Terms& terms, std::span<const Binding> args) {
  const OpWord& second = terms.word(args[0].op);
  const OpWord& first = terms.word(args[1].op);
  const ClassId x = args[2].id;
  const TensorType& type = terms.type(x);
  std::optional<ops::Window> window = ReadPool(first, type);
  const TensorType& between = terms.type(args[3].id);
  const std::optional<ops::Window> behind = ReadPool(second, between);
  if (!window || !behind || !AreAll(window->strides, 1) || !AreAll(window->dilations, 1) ||
      !AreAll(behind->dilations, 1) || !AlwaysReads(*window, type) ||
      !AlwaysReads(*behind, between)) {
    return ClassId();
  }
  for (size_t axis = 0; axis < window->axes(); ++axis) {
    window->kernel[axis] += behind->kernel[axis] - 1;
    window->pads_begin[axis] += behind->pads_begin[axis];
    window->pads_end[axis] += behind->pads_end[axis];
  }
  window->strides = behind->strides;
  return MakePool(terms, second, *window, x);
}

// Whether the average of a constant is the constant: no padding counts as zeros.
bool AveragesConstants(const OpWord& pool) {
  if (!CountsPads(pool)) return true;
  const Ints* pads = pool.attributes.FindInts("pads");
  return (pads == nullptr || AreAll(*pads, 0)) && !pool.attributes.Has("auto_pad") &&
         pool.attributes.GetInt("ceil_mode", 0) == 0;
}

bool IsPointwise(Terms& terms, const OpWord& conv, ClassId w) {
  const auto read = ReadConvolution(conv, terms.type(w));
  return read && read->IsPointwise();
}

// Whether the window has a place in x, however large the symbols of x are. ONNX Runtime runs a pool
// whose window is larger than its input, but no such Conv.
bool HasPlaces(const ops::Window& window, const TensorType& x) {
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const int64_t least = NumberAt(x, static_cast<int>(axis) + 2).value_or(0);
    if (least + window.Padding(axis) < window.Extent(axis)) return false;
  }
  return true;
}

// Whether each place of a pool has an element of x, so that no average is one of nothing.
bool ReadsEverywhere(const OpWord& pool, const TensorType& x) {
  const std::optional<ops::Window> window = ReadPool(pool, x);
  return window.has_value() && (!HasPads(*window) || AlwaysReads(*window, x));
}

// args: m, c, x, w, b..
ClassId ConvOfAverage(Terms& terms, std::span<const Binding> args) {
  const OpWord& pool = terms.word(args[0].op);
  const OpWord& conv = terms.word(args[1].op);
  const std::optional<ClassId> bias = Optional(args[4].list);
  const TensorType x = terms.type(args[2].id);
  const std::optional<ops::Window> window = ReadPool(pool, x);
  if (!IsPointwise(terms, conv, args[3].id) || !window || !HasPlaces(*window, x) ||
      (bias && (!AveragesConstants(pool) || !ReadsEverywhere(pool, x)))) {
    return ClassId();
  }
  const ClassId average = terms.Op(pool.name, {args[2].id}, pool.attributes);
  return MakeConv(terms, conv.attributes, average, terms.FiniteWeight(args[3].id), bias);
}

// The bias comes behind an average that does not keep it. args: m, c, x, w, b..
ClassId AverageOfConv(Terms& terms, std::span<const Binding> args) {
  const OpWord& pool = terms.word(args[0].op);
  const OpWord& conv = terms.word(args[1].op);
  std::optional<ClassId> bias = Optional(args[4].list);
  if (!IsPointwise(terms, conv, args[3].id) ||
      (bias &&
       (!terms.data(*bias).weight_only || !ReadsEverywhere(pool, terms.type(args[2].id))))) {
    return ClassId();
  }
  std::optional<ClassId> behind;
  if (!AveragesConstants(pool)) std::swap(bias, behind);
  const int rank = terms.type(args[3].id).rank();
  const ClassId product =
      MakeConv(terms, conv.attributes, args[2].id, terms.FiniteWeight(args[3].id), bias);
  const ClassId average = terms.Op(pool.name, {product}, pool.attributes);
  if (!behind) return average;
  Ints shape(static_cast<size_t>(rank) - 1, 1);
  shape[0] = -1;
  return terms.Op("Add", {average, terms.Reshape(*behind, std::move(shape))});
}

// args: m, x
ClassId AverageConv(Terms& terms, std::span<const Binding> args) {
  const OpWord& pool = terms.word(args[0].op);
  const TensorType& x = terms.type(args[1].id);
  const std::optional<ops::Window> window = ReadPool(pool, x);
  const std::optional<int64_t> channels = NumberAt(x, 1);
  if (!window || !channels || *channels < 1 || !HasPlaces(*window, x) ||
      !AreAll(window->dilations, 1) || (HasPads(*window) && !CountsPads(pool))) {
    return ClassId();
  }
  const int64_t taps = std::accumulate(window->kernel.begin(), window->kernel.end(), int64_t{1},
                                       std::multiplies<>());
  Convolution conv{.group = *channels,
                   .kernel = window->kernel,
                   .strides = window->strides,
                   .dilations = window->dilations,
                   .pads = window->pads_begin,
                   .out_channels = *channels,
                   .in_channels_per_group = 1};
  conv.pads.insert(conv.pads.end(), window->pads_end.begin(), window->pads_end.end());
  Ints dims = {*channels, 1};
  dims.insert(dims.end(), conv.kernel.begin(), conv.kernel.end());
  const ClassId weight = terms.Filled(x.dtype, std::move(dims), 1.0 / static_cast<double>(taps));
  return MakeConv(terms, ConvolutionAttributes(conv), args[1].id, weight, std::nullopt);
}

// The pools of the parts, if strides make them smaller. ONNX Runtime has no pool without channels.
// args: m, c, parts
ClassId PooledParts(Terms& terms, std::span<const Binding> args) {
  constexpr size_t kMostParts = 8;
  const OpWord& pool = terms.word(args[0].op);
  const std::span<const ClassId> parts = args[2].list;
  const Ints* strides = pool.attributes.FindInts("strides");
  if (parts.size() < 2 || parts.size() > kMostParts || strides == nullptr || AreAll(*strides, 1)) {
    return ClassId();
  }
  const int64_t axis = ConcatAxis(terms.word(args[1].op), terms.type(parts[0]));
  if (axis != 0 && axis != 1) return ClassId();
  std::vector<ClassId> pooled;
  for (const ClassId part : parts) {
    if (axis == 1 && NumberAt(terms.type(part), 1).value_or(0) < 1) return ClassId();
    pooled.push_back(terms.Op(pool.name, {part}, pool.attributes));
  }
  return terms.Concat(pooled, axis);
}

// The number that a Pad fills with; nullopt for other modes.
std::optional<double> Filling(const OpWord& pad) {
  if (pad.attributes.GetString("mode", "constant") != "constant") return std::nullopt;
  return pad.attributes.GetFloat("constant_value", 0);
}

void AddWords(Words& words) {
  words.Guard("always_reads", "oc", Purpose::kEquation, [](const View& view, auto args) {
    const TensorType& x = view.type(args[1].id);
    const auto window = ReadPool(view.word(args[0].op), x);
    return window && AlwaysReads(*window, x);
  });
  words.Guard("pads_lowest", "o", Purpose::kEquation, [](const View& view, auto args) {
    return Filling(view.word(args[0].op)) == -std::numeric_limits<double>::infinity();
  });
  words.Term("pooled_parts", "ool", PooledParts);
  words.Term("conv_of_average", "ooccl", ConvOfAverage);
  words.Term("average_of_conv", "ooccl", AverageOfConv);
  words.Term("pool_of_pad", "ooc", PoolOfPad);
  words.Term("pool_chain", "oocc", PoolChain);
  words.Term("average_conv", "oc", AverageConv);
}

}  // namespace

Family PoolFamily() { return {"pool", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
