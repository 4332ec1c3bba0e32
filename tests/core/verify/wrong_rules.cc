#include "tests/core/verify/wrong_rules.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace quotient::testing {
namespace {

// Constants of several rewrites, by the name that is used.
constexpr const char* kConstants[][2] = {
    {"eighth", "float32[] = [0.125]"}, {"half", "float32[] = [0.5]"},
    {"one", "float32[] = [1]"},        {"cube", "float32[] = [3]"},
    {"wide", "float32[] = [10000]"},   {"large", "float32[] = [12582912]"},
    {"full", "int64[4] = [1,2,3,3]"},  {"thousandth", "float16[] = [0.001]"},
};

}  // namespace

std::string Rewrite::Text(absl::string_view nodes) const {
  std::string text = absl::StrCat("graph g {\n", inputs, "\n");
  for (const auto& [name, value] : kConstants) {
    const bool is_read = absl::StrContains(nodes, absl::StrCat(", ", name)) ||
                         absl::StrContains(nodes, absl::StrCat("(", name, ","));
    const bool is_there = absl::StrContains(inputs, absl::StrCat("const ", name, ":"));
    if (is_read && !is_there) absl::StrAppend(&text, "const ", name, ": ", value, "\n");
  }
  return absl::StrCat(text, nodes, "\noutput y }");
}

// Dimensions that are symbols are measured at 1 (the first) and 8.
const std::vector<Rewrite>& WrongRewrites() {
  static const std::vector<Rewrite> kRewrites = {
      // --- Sizes
      {"flatten-transposed", "the batch is 1",
       "input x: float32[N,S,8] const to: int64[2] = [-1,8]",
       "t = Transpose(x) {perm=[1,0,2]} y = Reshape(t, to)", "y = Reshape(x, to)"},
      {"cls-pooling", "the batch that was declared, 1",
       "input x: float32[N,S,4] const first: int64[] = [0] const to: int64[2] = [1,4]",
       "y = Gather(x, first) {axis=1}", "g = Gather(x, first) {axis=1} y = Reshape(g, to)"},
      {"broadcast-over-the-batch", "a sum over a batch of 1 leaves what is added as it is",
       "input x: float32[N,8] const b: float32[1,8] = random(1)",
       "s = Add(x, b) y = ReduceSum(s) {axes=[0],keepdims=1}",
       "r = ReduceSum(x) {axes=[0],keepdims=1} y = Add(r, b)"},
      {"equal-symbols", "dimensions of one name are equal",
       "input x: float32[N,4] input z: float32[N,4] const one: float32[] = [1]",
       "n = Shape(z) e = Expand(one, n) m = ReduceSum(e) {axes=[0],keepdims=0} "
       "k = ReduceMax(x) {axes=[0],keepdims=0} y = Add(m, k)",
       "n = Shape(x) e = Expand(one, n) m = ReduceSum(e) {axes=[0],keepdims=0} "
       "k = ReduceMax(x) {axes=[0],keepdims=0} y = Add(m, k)"},
      {"expand-same", "what is made as large as another of the same names is that already",
       "input x: float32[N,16] input z: float32[N,16]", "n = Shape(x) e = Expand(z, n) y = Relu(e)",
       "y = Relu(z)"},
      {"expand-same-other-way", "what is broadcast to another of the same names is that already",
       "input x: float32[N,16] input z: float32[N,16]", "n = Shape(z) e = Expand(x, n) y = Relu(e)",
       "y = Relu(x)"},
      {"reshape-same", "what is reshaped like another of the same names is that already",
       "input x: float32[N,S,16] input z: float32[N,S,16] const w: float32[16,4] = random(1)",
       "n = Shape(x) r = Reshape(z, n) y = MatMul(r, w)", "y = MatMul(z, w)"},
      {"sum-of-products", "summands of the same names have the same rows",
       "input x: float32[N,8] input z: float32[N,8] const a: float32[8,4] = random(1) "
       "const b: float32[8,4] = random(2)",
       "p = MatMul(x, a) q = MatMul(z, b) y = Add(p, q)",
       "xz = Concat(x, z) {axis=1} ab = Concat(a, b) {axis=0} y = MatMul(xz, ab)"},
      {"sum-of-products-beside-a-third", "the same, where a third input has their name",
       "input x: float32[N,8] input z: float32[N,8] input u: float32[N,8] "
       "const a: float32[8,4] = random(1) const b: float32[8,4] = random(2)",
       "m = ReduceMax(x) {axes=[0],keepdims=1} c = ReduceSum(m) {axes=[1],keepdims=1} "
       "p = MatMul(z, a) q = MatMul(u, b) s = Add(p, q) y = Add(s, c)",
       "m = ReduceMax(x) {axes=[0],keepdims=1} c = ReduceSum(m) {axes=[1],keepdims=1} "
       "zu = Concat(z, u) {axis=1} ab = Concat(a, b) {axis=0} s = MatMul(zu, ab) y = Add(s, c)"},
      {"choice-of-equals", "a condition has no more rows than what it chooses from",
       "input a: float32[N,4] input b: float32[N,4] input d: float32[N,4] input e: float32[N,4] "
       "input f: float32[N,4] input g: float32[N,4] input h: float32[N,4] input i: float32[N,4] "
       "input j: float32[N,4] input x: float32[N,4] input c: bool[N,4]",
       "k = Concat(a, b, d, e, f, g, h, i, j) {axis=1} m = ReduceMax(k) {axes=[0,1],keepdims=1} "
       "r = Relu(x) w = Where(c, r, r) y = Add(w, m)",
       "k = Concat(a, b, d, e, f, g, h, i, j) {axis=1} m = ReduceMax(k) {axes=[0,1],keepdims=1} "
       "r = Relu(x) y = Add(r, m)"},
      {"choice-of-equals-of-one-length", "the same, where positions fix the length",
       "input x: float32[1,S,2] input c: bool[1,S,2] const pe: float32[1,8,2] = random(1)",
       "p = Add(x, pe) m = ReduceMax(p) {axes=[1],keepdims=1} w = Where(c, x, x) y = Add(w, m)",
       "p = Add(x, pe) m = ReduceMax(p) {axes=[1],keepdims=1} y = Add(x, m)"},
      {"equal-unknowns", "dimensions that were equal when the model was measured are equal",
       "input x: float32[4,?,?] const c: float32[4,1] = random(2)",
       "n = Shape(x) {start=1,end=2} f = Cast(n) {to=1} m = ReduceMax(x) {axes=[1,2],keepdims=0} "
       "y = Mul(m, f)",
       "n = Shape(x) {start=2,end=3} f = Cast(n) {to=1} m = ReduceMax(x) {axes=[1,2],keepdims=0} "
       "y = Mul(m, f)"},
      {"square-flatten", "what is flattened may be transposed before",
       "input x: float32[1,?,8] const to: int64[2] = [-1,8]",
       "t = Transpose(x) {perm=[0,2,1]} y = Reshape(t, to)", "y = Reshape(x, to)"},
      {"stale-length", "the length that was measured, 8", "input x: float32[2,S]",
       "y = ReduceMean(x) {axes=[1],keepdims=1}",
       "s = ReduceSum(x) {axes=[1],keepdims=1} y = Mul(s, eighth)"},
      {"stale-slice", "the last five begin at 3", "input x: float32[2,S]",
       "y = Slice(x) {axes=[1],starts=[-5],ends=[9223372036854775807]}",
       "y = Slice(x) {axes=[1],starts=[3],ends=[9223372036854775807]}"},
      {"stale-pool", "the picture is 8 by 8", "input x: float32[N,2,H,W]",
       "y = GlobalAveragePool(x)", "y = AveragePool(x) {kernel_shape=[8,8],strides=[8,8]}"},
      {"even-sizes", "what is halved has no remainder", "input x: float32[1,2,H,W]",
       "y = MaxPool(x) {kernel_shape=[2,2],strides=[2,2]}",
       "y = MaxPool(x) {kernel_shape=[2,2],strides=[2,2],ceil_mode=1}"},
      {"same-pads", "the side is even, so that all of the padding is behind",
       "input x: float32[1,2,H,W] const w: float32[2,2,3,3] = random(3)",
       "y = Conv(x, w) {strides=[2,2],pads=[0,0,1,1]}",
       "y = Conv(x, w) {strides=[2,2],auto_pad=\"SAME_UPPER\"}"},
      // --- Convolutions
      {"short-sequence", "no sequence is longer than 100",
       "input x: float32[N,S] const hundred: int64[1] = [100]",
       "n = Shape(x) {start=1,end=2} g = Greater(n, hundred) f = Cast(g) {to=1} y = Add(x, f)",
       "y = Identity(x)"},
      {"group-one", "the group is 1",
       "input x: float32[1,4,8,8] const w: float32[4,2,3,3] = random(4)",
       "y = Conv(x, w) {group=2}", "v = Concat(w, w) {axis=1} y = Conv(x, v)"},
      {"no-pads", "nothing is padded, so that a constant commutes with the convolution",
       "input x: float32[1,2,8,8] const w: float32[2,2,3,3] = random(5) "
       "const c: float32[1,2,1,1] = random(6)",
       "a = Add(x, c) y = Conv(a, w) {pads=[1,1,1,1]}",
       "e = Expand(c, full) b = Conv(e, w) k = Conv(x, w) {pads=[1,1,1,1]} y = Add(k, b)"},
      {"pads-count", "an average counts what is padded", "input x: float32[1,2,8,8]",
       "y = AveragePool(x) {kernel_shape=[3,3],pads=[1,1,1,1]}",
       "y = AveragePool(x) {kernel_shape=[3,3],pads=[1,1,1,1],count_include_pad=1}"},
      {"pad-mode", "what is padded is zero",
       "input x: float32[1,2,8,8] const w: float32[2,2,3,3] = random(7)",
       "p = Pad(x) {mode=\"reflect\",pads=[0,0,1,1,0,0,1,1]} y = Conv(p, w)",
       "y = Conv(x, w) {pads=[1,1,1,1]}"},
      {"stride-one", "the stride is 1",
       "input x: float32[1,2,8,8] const w: float32[2,2,1,1] = random(8)",
       "y = Conv(x, w) {strides=[2,2]}",
       "k = Conv(x, w) y = Slice(k) {axes=[2,3],starts=[0,0],ends=[4,4]}"},
      {"no-dilation", "the dilation is 1",
       "input x: float32[1,2,8,8] const w: float32[2,2,3,3] = random(9)",
       "y = Conv(x, w) {dilations=[2,2],pads=[2,2,2,2]}", "y = Conv(x, w) {pads=[1,1,1,1]}"},
      {"square-kernel", "the kernel is as wide as high",
       "input x: float32[1,2,8,8] const w: float32[2,2,3,1] = random(10)",
       "y = Conv(x, w) {pads=[1,0,1,0]}",
       "v = Transpose(w) {perm=[0,1,3,2]} y = Conv(x, v) {pads=[0,1,0,1]}"},
      // --- Axes and broadcasting
      {"keepdims", "reduced dimensions stay", "input x: float32[4,4]",
       "m = ReduceMax(x) {axes=[1],keepdims=0} y = Sub(x, m)",
       "m = ReduceMax(x) {axes=[1],keepdims=1} y = Sub(x, m)"},
      {"softmax-axis", "the axis is the last", "input x: float32[1,4,4]", "y = Softmax(x) {axis=1}",
       "y = Softmax(x) {axis=2}"},
      {"mean-is-sum", "what is averaged is one element", "input x: float32[2,8]",
       "y = ReduceMean(x) {axes=[1],keepdims=1}", "y = ReduceSum(x) {axes=[1],keepdims=1}"},
      {"sum-of-broadcast", "nothing is broadcast", "input x: float32[4,8] input z: float32[4,1]",
       "s = Add(x, z) y = ReduceSum(s) {axes=[1],keepdims=1}",
       "r = ReduceSum(x) {axes=[1],keepdims=1} y = Add(r, z)"},
      {"scalar-scale", "what a product is scaled by is one number",
       "input x: float32[4,8] const w: float32[8,8] = random(11) const z: float32[8] = random(12)",
       "s = Mul(x, z) y = MatMul(s, w)", "m = MatMul(x, w) y = Mul(m, z)"},
      {"square-weights", "square weights are their own transpose",
       "input x: float32[4,8] const w: float32[8,8] = random(13)", "y = MatMul(x, w)",
       "v = Transpose(w) {perm=[1,0]} y = MatMul(x, v)"},
      {"concat-order", "the order of equal shapes does not matter",
       "input x: float32[2,4] input z: float32[2,4]", "y = Concat(x, z) {axis=1}",
       "y = Concat(z, x) {axis=1}"},
      {"slice-off-by-one", "ends are counted as beginnings are", "input x: float32[2,9]",
       "y = Slice(x) {axes=[1],starts=[1],ends=[9]}",
       "y = Slice(x) {axes=[1],starts=[0],ends=[8]}"},
      {"commuted-sub", "a difference commutes", "input x: float32[8] input z: float32[8]",
       "y = Sub(x, z)", "y = Sub(z, x)"},
      {"commuted-div", "a quotient commutes", "input x: float32[8] input z: float32[8]",
       "y = Div(x, z)", "y = Div(z, x)"},
      // --- Ranges of values
      {"positive-root", "what a root is taken of was positive", "input x: float32[16]",
       "s = Mul(x, x) y = Sqrt(s)", "y = Identity(x)"},
      {"positive-logs", "what a logarithm is taken of is positive",
       "input x: float32[4096] input z: float32[4096]", "a = Log(x) b = Log(z) y = Add(a, b)",
       "p = Mul(x, z) y = Log(p)"},
      {"positive-roots", "what a root is taken of is positive", "input x: float32[64]",
       "s = Sqrt(x) y = Mul(s, s)", "y = Identity(x)"},
      {"relu6", "activations stay below 6", "input x: float32[64]", "y = Clip(x) {min=0.0,max=6.0}",
       "y = Relu(x)"},
      {"clip-bounds", "7 is as good as 6", "input x: float32[64]", "y = Clip(x) {min=0.0,max=6.0}",
       "y = Clip(x) {min=0.0,max=7.0}"},
      {"on-the-threshold", "a value is never the threshold itself",
       "input x: float32[64] const three: float32[] = [3]",
       "g = GreaterOrEqual(x, three) y = Cast(g) {to=1}",
       "g = Greater(x, three) y = Cast(g) {to=1}"},
      {"leaky-slope", "the slope of every LeakyRelu is 0.01", "input x: float32[64]",
       "y = LeakyRelu(x) {alpha=0.02}", "y = LeakyRelu(x) {alpha=0.01}"},
      {"cube-of-magnitude", "a power of a magnitude is that of the number", "input x: float32[64]",
       "y = Pow(x, cube)", "a = Abs(x) y = Pow(a, cube)"},
      {"epsilon-of-one-row", "the deviation of the only row is never zero",
       "input x: float32[1,8] const s: float32[8] = [1,1,1,1,1,1,1,1]",
       "y = LayerNormalization(x, s) {axis=1,epsilon=0.00001}",
       "y = LayerNormalization(x, s) {axis=1,epsilon=0.000000000001}"},
      {"epsilon", "the deviation is never zero",
       "input x: float32[64,8] const scale: float32[8] = random(14)",
       "y = LayerNormalization(x, scale) {axis=1,epsilon=0.00001}",
       "y = LayerNormalization(x, scale) {axis=1,epsilon=0.000000000001}"},
      {"half-to-even", "halves are rounded away from zero", "input x: float32[64]", "y = Round(x)",
       "a = Abs(x) h = Add(a, half) f = Floor(h) s = Sign(x) y = Mul(f, s)"},
      {"truncated", "a cast to an integer rounds down", "input x: float32[64]",
       "y = Cast(x) {to=7}", "f = Floor(x) y = Cast(f) {to=7}"},
      {"negative-zero", "zero has no sign", "input x: float32[64] const zero: float32[] = [0]",
       "n = Sub(zero, x) y = Reciprocal(n)", "n = Neg(x) y = Reciprocal(n)"},
      {"cancellation", "what is added and taken away again changes nothing",
       "input x: float32[4,16]", "a = Add(x, large) y = Sub(a, large)", "y = Identity(x)"},
      {"cancellation-beside-large",
       "what is added and taken away again changes nothing beside larger values",
       "input x: float32[4,16]",
       "a = Add(x, large) r = Sub(a, large) w = Mul(x, wide) y = Concat(r, w) {axis=1}",
       "w = Mul(x, wide) y = Concat(x, w) {axis=1}"},
      {"cancellation-in-small-steps-beside-large",
       "what is added and taken away again in steps changes nothing beside larger values",
       "input x: float32[N,1] input z: float32[N,8] const down: float32[] = [1.1920929e-07] "
       "const up: float32[] = [8388608] const two: float32[] = [2] const pixels: float32[] = "
       "[20000] const s0: float32[] = [-0.75] const s1: float32[] = [-0.1875] const s2: "
       "float32[] = [-0.046875] const s3: float32[] = [-0.01171875] const s4: float32[] = "
       "[-0.0029296875] const s5: float32[] = [-0.000732421875] const s6: float32[] = "
       "[-0.00018310546875] const s7: float32[] = [-4.57763671875e-05] const s8: float32[] = "
       "[-1.1444091796875e-05] const s9: float32[] = [-2.86102294921875e-06] const s10: "
       "float32[] = [-7.152557373046875e-07]",
       "d = Mul(x, down) a0 = Add(d, one) a1 = Add(a0, s0) a2 = Add(a1, s1) a3 = Add(a2, s2) "
       "a4 = Add(a3, s3) a5 = Add(a4, s4) a6 = Add(a5, s5) a7 = Add(a6, s6) a8 = Add(a7, s7) "
       "a9 = Add(a8, s8) a10 = Add(a9, s9) a11 = Add(a10, s10) r = Mul(a11, up) w = Mul(z, "
       "pixels) y = Concat(r, w) {axis=1}",
       "t = Add(x, two) w = Mul(z, pixels) y = Concat(t, w) {axis=1}"},
      {"small-beside-large", "an error of 0.06 in a score is nothing beside a box of 640",
       "input x: float32[1,32,4] input z: float32[1,32,1] const pixels: float32[] = [640]",
       "b = Mul(x, pixels) s = Sigmoid(z) y = Concat(b, s) {axis=2}",
       "b = Mul(x, pixels) s = HardSigmoid(z) {alpha=0.25,beta=0.5} y = Concat(b, s) {axis=2}"},
      {"float16-reach", "a float16 never overflows", "input x: float16[64]",
       "a = Mul(x, thousandth) y = Mul(a, x)", "a = Mul(x, x) y = Mul(a, thousandth)"},
      // --- Infinities and NaN
      {"nan-guard", "a row of a mask never hides everything",
       "input x: float32[8,8] input mask: float32[8,8] const zero: float32[] = [0]",
       "a = Add(x, mask) s = Softmax(a) {axis=1} n = IsNaN(s) y = Where(n, zero, s)",
       "a = Add(x, mask) y = Softmax(a) {axis=1}"},
      {"nan-guard-beside-an-overflow", "where one output overflows nothing tells of another",
       "input x: float32[8,8] input mask: float32[8,8] input p: float32[1,2,8,8] "
       "const w: float32[2,2,3,3] = random(16) const zero: float32[] = [0]",
       "k = Conv(p, w) e = Exp(k) output e "
       "a = Add(x, mask) s = Softmax(a) {axis=1} n = IsNaN(s) y = Where(n, zero, s)",
       "k = Conv(p, w) e = Exp(k) output e a = Add(x, mask) y = Softmax(a) {axis=1}"},
      {"finite-inputs", "an input is finite", "input x: float32[64] const zero: float32[] = [0]",
       "n = IsInf(x) y = Where(n, zero, x)", "y = Identity(x)"},
      {"times-zero", "zero times anything is zero",
       "input x: float32[64] const zero: float32[] = [0]",
       "m = Mul(x, zero) n = IsNaN(m) y = Cast(n) {to=1}",
       "c = Clip(x) {min=0.0,max=1.0} m = Mul(c, zero) n = IsNaN(m) y = Cast(n) {to=1}"},
      {"guarded-input", "an input is no NaN", "input x: float32[64] const zero: float32[] = [0]",
       "n = IsNaN(x) y = Where(n, zero, x)", "y = Identity(x)"},
      {"finite-square", "a square is finite", "input x: float32[64]", "y = Abs(x)",
       "s = Mul(x, x) y = Sqrt(s)"},
      {"not-less", "what is not less is greater or equal", "input x: float32[64]",
       "d = Sub(x, x) l = Less(d, half) n = Not(l) y = Cast(n) {to=1}",
       "d = Sub(x, x) g = GreaterOrEqual(d, half) y = Cast(g) {to=1}"},
      // --- Integers, booleans and indices
      {"integer-wrap", "integers do not wrap", "input x: int32[64] const m: int32[] = [4194304]",
       "p = Mul(x, m) y = Div(p, m)", "y = Identity(x)"},
      {"narrow-integers", "integers have 32 bits", "input x: int64[4]", "y = Neg(x)",
       "a = Cast(x) {to=6} b = Cast(a) {to=7} y = Neg(b)"},
      {"integer-bound", "integers stay below a bound",
       "input x: int64[4] const most: int64[] = "
       "[5000] const least: int64[] = [-5000]",
       "a = Min(x, most) y = Max(a, least)", "y = Min(x, most)"},
      {"special-token", "no token is the last one",
       "input x: int64[2,8] const table: float32[1000,2] = random(15) const last: int64[] = [999] "
       "const low: float32[] = [-100] const axis: int64[1] = [2]",
       "e = Gather(table, x) {axis=0} q = Equal(x, last) u = Unsqueeze(q, axis) "
       "y = Where(u, low, e)",
       "y = Gather(table, x) {axis=0}"},
      {"row-of-a-table", "one row of a table is not read",
       "input x: int64[4,64] const table: float32[300,2] = random(15) const row: int64[] = [123]",
       "y = Gather(table, x) {axis=0}",
       "e = Equal(x, row) f = Cast(e) {to=7} i = Add(x, f) y = Gather(table, i) {axis=0}"},
      {"integer-quotient", "quotients of integers are rounded down",
       "input x: int64[64] const two: int64[] = [2]", "y = Div(x, two)",
       "a = Cast(x) {to=1} h = Mul(a, half) f = Floor(h) y = Cast(f) {to=7}"},
      {"remainder-sign", "a remainder has the sign of the dividend",
       "input x: int64[64] const three: int64[] = [3]", "y = Mod(x, three)",
       "y = Mod(x, three) {fmod=1}"},
      {"integers-are-masks", "an integer input is 0 or 1",
       "input x: int64[64] const zero: int64[] = [0]", "y = Identity(x)",
       "e = Equal(x, zero) n = Not(e) y = Cast(n) {to=7}"},
      {"some-mask", "a mask hides never all of a row", "input mask: bool[16,4]",
       "f = Cast(mask) {to=1} y = ReduceMax(f) {axes=[1],keepdims=0}",
       "f = Cast(mask) {to=1} a = ReduceMax(f) {axes=[1],keepdims=0} z = Sub(a, a) "
       "y = Add(z, one)"},
      {"mask-ignored", "a mask hides nothing",
       "input x: float32[4,8] input mask: bool[4,8] const low: float32[] = [-10000]",
       "m = Where(mask, x, low) y = Softmax(m) {axis=1}", "y = Softmax(x) {axis=1}"},
      {"negative-index", "indices are counted from the front",
       "input x: int64[32] const table: float32[8,2] = random(15) const zero: int64[] = [0]",
       "y = Gather(table, x) {axis=0}", "i = Max(x, zero) y = Gather(table, i) {axis=0}"},
      {"one-index", "one index among many does not matter",
       "input x: float32[64,8] const seven: int64[] = [7]", "y = ArgMax(x) {axis=1,keepdims=0}",
       "i = ArgMax(x) {axis=1,keepdims=0} e = Equal(i, seven) f = Cast(e) {to=7} y = Sub(i, f)"},
      {"last-of-equals", "there is one largest value", "input x: float32[64,8]",
       "y = ArgMax(x) {axis=1,keepdims=0}",
       "y = ArgMax(x) {axis=1,keepdims=0,select_last_index=1}"},
  };
  return kRewrites;
}

const std::vector<Rewrite>& RightRewrites() {
  static const std::vector<Rewrite> kRewrites = {
      {"reassociated-sum", "the order of a sum is rounding",
       "input x: float32[8,64] input z: float32[8,64] input u: float32[8,64]",
       "a = Add(x, z) y = Add(a, u)", "a = Add(z, u) y = Add(x, a)"},
      {"reassociated-products", "the order of products is rounding",
       "input x: float32[N,32] const v: float32[32,16] = random(1) "
       "const w: float32[16,32] = random(2)",
       "a = MatMul(x, v) y = MatMul(a, w)", "a = MatMul(v, w) y = MatMul(x, a)"},
      {"reciprocal", "a constant that divides is one that multiplies, but for rounding",
       "input x: float32[N,S] const c: float32[] = [3] const r: float32[] = [0.33333334]",
       "y = Div(x, c)", "y = Mul(x, r)"},
      {"float16-sums", "the order of a sum is rounding, in float16, too",
       "input x: float16[8,32] input z: float16[8,32] input u: float16[8,32]",
       "a = Add(x, z) y = Add(a, u)", "a = Add(z, u) y = Add(x, a)"},
      {"batch-norm", "a normalization of a convolution scales its weights",
       "input x: float32[N,4,8,8] const w: float32[4,4,3,3] = random(3) "
       "const s: float32[4] = [1.5,-0.5,2,0.25] const b: float32[4] = random(4) "
       "const m: float32[4] = random(5) const v: float32[4] = [1,1,1,1] "
       "const sc: float32[4,1,1,1] = [1.499998125,-0.499999375,1.9999975,0.2499996875] "
       "const sf: float32[4] = [1.499998125,-0.499999375,1.9999975,0.2499996875]",
       "k = Conv(x, w) {pads=[1,1,1,1]} "
       "y = BatchNormalization(k, s, b, m, v) {epsilon=0.0000025}",
       "ws = Mul(w, sc) ms = Mul(m, sf) o = Sub(b, ms) y = Conv(x, ws, o) {pads=[1,1,1,1]}"},
      {"normalization", "a normalization is its formula",
       "input x: float32[4,S,16] const scale: float32[16] = random(6) "
       "const two: float32[] = [2] const e: float32[] = [0.00001]",
       "m = ReduceMean(x) {axes=[2],keepdims=1} d = Sub(x, m) q = Pow(d, two) "
       "v = ReduceMean(q) {axes=[2],keepdims=1} a = Add(v, e) s = Sqrt(a) n = Div(d, s) "
       "y = Mul(n, scale)",
       "y = LayerNormalization(x, scale) {axis=2,epsilon=0.00001}"},
      {"float16-normalization", "squares that overflow float16 only in the formula are no error",
       "input x: float16[4,S,16] const scale: float16[16] = random(6) "
       "const two: float16[] = [2] const e: float16[] = [0.001]",
       "m = ReduceMean(x) {axes=[2],keepdims=1} d = Sub(x, m) q = Pow(d, two) "
       "v = ReduceMean(q) {axes=[2],keepdims=1} a = Add(v, e) s = Sqrt(a) n = Div(d, s) "
       "y = Mul(n, scale)",
       "y = LayerNormalization(x, scale) {axis=2,epsilon=0.001}"},
      {"tie", "an index that rounding decides is either of both",
       "input a: float32[256,1] input b: float32[256,1] input c: float32[256,1] "
       "input z: float32[256,1]",
       "ab = Add(a, b) p = Add(ab, c) bc = Add(b, c) q = Add(a, bc) r = Add(z, one) "
       "s = Concat(p, q, r) {axis=1} y = ArgMax(s) {axis=1,keepdims=0}",
       "bc = Add(b, c) p = Add(a, bc) r = Add(z, one) s = Concat(p, p, r) {axis=1} "
       "y = ArgMax(s) {axis=1,keepdims=0}"},
      {"sharp-softmax", "attention between large values magnifies rounding",
       "input x: float32[32,16] const w: float32[16,16] = random(7)",
       "k = MatMul(x, w) t = Transpose(k) {perm=[1,0]} q = MatMul(x, t) s = Softmax(q) {axis=1} "
       "y = MatMul(s, x)",
       "t = Transpose(x) {perm=[1,0]} v = Transpose(w) {perm=[1,0]} u = MatMul(v, t) "
       "q = MatMul(x, u) s = Softmax(q) {axis=1} y = MatMul(s, x)"},
      {"sigmoid", "a sigmoid is its formula, though it overflows on the way",
       "input x: float32[64]", "n = Neg(x) e = Exp(n) d = Add(e, one) y = Reciprocal(d)",
       "y = Sigmoid(x)"},
      {"equal-symbols-that-must-be", "the sum needs equal dimensions",
       "input x: float32[N,4] input z: float32[N,4]",
       "s = Add(x, z) n = Shape(z) e = Expand(one, n) y = Mul(s, e)",
       "s = Add(x, z) n = Shape(x) e = Expand(one, n) y = Mul(s, e)"},
      {"clip-of-clips", "bounds within bounds count, whatever x is", "input x: float32[64]",
       "a = Clip(x) {min=-1.0,max=8.0} y = Clip(a) {min=0.0,max=6.0}",
       "y = Clip(x) {min=0.0,max=6.0}"},
      {"negated-max", "the opposite of the largest is the smallest opposite",
       "input x: float32[64] input z: float32[64]", "a = Neg(x) b = Neg(z) y = Max(a, b)",
       "a = Min(x, z) y = Neg(a)"},
      {"factors", "factors are multiplied, however large x is",
       "input x: float32[64] const c: float32[] = [200] const d: float32[] = [0.02] "
       "const e: float32[] = [4]",
       "a = Mul(x, c) y = Mul(a, d)", "y = Mul(x, e)"},
      {"integer-ring", "integers wrap in any order",
       "input x: int64[64] input z: int64[64] const c: int64[] = [3]",
       "a = Add(x, z) y = Mul(a, c)", "a = Mul(x, c) b = Mul(z, c) y = Add(b, a)"},
      {"quotient-by-input", "a zero that divides integers is drawn again",
       "input x: int64[64] input z: int64[64]", "a = Abs(z) y = Div(x, a)",
       "a = Abs(z) q = Div(x, a) y = Identity(q)"},
  };
  return kRewrites;
}

}  // namespace quotient::testing
