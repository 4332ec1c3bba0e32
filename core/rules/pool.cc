// Rules about pools: Pads become part of them, one behind another becomes one, and averages become
// Convs, which add up with others.

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "core/ops/window.h"
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

// Whether the window has a place in x, however large the symbols of x are. ONNX Runtime runs a pool
// whose window is larger than its input, but no such Conv.
bool HasPlaces(const ops::Window& window, const TensorType& x) {
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const int64_t least = NumberAt(x, static_cast<int>(axis) + 2).value_or(0);
    if (least + window.Padding(axis) < window.Extent(axis)) return false;
  }
  return true;
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

// The number that a Pad fills with; nullopt for other modes.
std::optional<double> Filling(const OpWord& pad) {
  if (pad.attributes.GetString("mode", "constant") != "constant") return std::nullopt;
  return pad.attributes.GetFloat("constant_value", 0);
}

void AddWords(Words& words) {
  words.Guard("always_reads", "oc", [](const View& view, auto args) {
    const TensorType& x = view.type(args[1].id);
    const auto window = ReadPool(view.word(args[0].op), x);
    return window && AlwaysReads(*window, x);
  });
  words.Guard("pads_zeros", "o",
              [](const View& view, auto args) { return Filling(view.word(args[0].op)) == 0.0; });
  words.Guard("pads_lowest", "o", [](const View& view, auto args) {
    return Filling(view.word(args[0].op)) == -std::numeric_limits<double>::infinity();
  });
  words.Term("pool_of_pad", "ooc", PoolOfPad);
  words.Term("pool_chain", "oocc", PoolChain);
  words.Term("average_conv", "oc", AverageConv);
}

}  // namespace

Family PoolFamily() { return {"pool", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
