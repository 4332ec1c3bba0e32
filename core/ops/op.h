#pragma once

// The operator table: one row has everything that Quotient knows about an operator. Import, type
// inference, evaluation, folding, writing and rules all read this table. An operator without a row
// is opaque.
//
// Canonical form. A node has the meaning that ONNX's default domain gives the operator today, with
// one difference: an input that is a *parameter* (axes of Squeeze, shape of Reshape, pads of Pad,
// ...; see OpDef::parameters) becomes an attribute of the parameter's name as soon as it is
// constant. Its input slot is then left empty, and empty slots at the end are dropped. Attributes
// that have their default value are absent, so equal operators have equal attribute maps. Negative
// axes are made non-negative where the rank is known, and are absent where they name the default
// axis. A Reshape to a fully static shape has that shape, without 0 and -1. core/ops/README.md
// lists the remaining choices per operator.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"
#include "core/ops/numerics.h"
#include "core/ops/unary_function.h"

namespace quotient::ops {

// An input that becomes an attribute once it is constant.
struct Parameter {
  int input;              // Position in ONNX's signature.
  const char* attribute;  // Name of the attribute.
  // The type that the writer gives the parameter as an input: kInts int64[n], kInt int64[], kFloats
  // float32[n], kFloat a scalar of input 0's element type. A kFloat parameter stays an input if it
  // is a 64-bit integer that no double represents exactly.
  enum class Kind { kInts, kFloats, kInt, kFloat } kind;
};

// What inference knows about one element of a small integer or bool tensor: a number of either
// sign, a symbol (which is a dimension, so not negative), or nothing.
class Element {
 public:
  Element() = default;                                      // Unknown.
  Element(int64_t number) : number_(number) {}              // NOLINT: implicit on purpose
  Element(const model::Dim& dim) : symbol_(dim.symbol()) {  // NOLINT: implicit on purpose
    if (dim.is_number()) number_ = dim.number();
  }

  bool is_number() const { return number_.has_value(); }
  bool is_symbol() const { return !symbol_.empty(); }
  bool is_unknown() const { return !is_number() && !is_symbol(); }
  int64_t number() const { return *number_; }            // Only if is_number().
  const std::string& symbol() const { return symbol_; }  // Empty unless is_symbol().

  bool Is(int64_t number) const { return number_ == number; }
  // The dimension of that size. Unknown for negative numbers.
  model::Dim AsDim() const {
    if (is_symbol()) return model::Dim::Symbol(symbol_);
    return is_number() && *number_ >= 0 ? model::Dim(*number_) : model::Dim();
  }

  // Same description, as for Dim.
  friend bool operator==(const Element&, const Element&) = default;

 private:
  std::optional<int64_t> number_;
  std::string symbol_;
};
using Elements = std::vector<Element>;  // Row-major.
// Inference follows the elements of tensors up to this size.
inline constexpr int64_t kMaxElements = 64;

// How rules and costs classify an operator.
enum class OpClass {
  kUnary,          // Element-wise, one tensor input.
  kBinary,         // Element-wise with broadcasting, two or more tensor inputs.
  kContraction,    // Conv, ConvTranspose, MatMul, Gemm.
  kReduction,      // Reduce*, ArgMax, ArgMin, GlobalAveragePool, GlobalMaxPool.
  kNormalization,  // Softmax, LayerNormalization, ... along axes.
  kWindow,         // Pools.
  kMove,           // Moves elements: Transpose, Concat, Slice, Pad, Gather, Expand, ...
  kView,           // Reshape, Flatten, Squeeze, Unsqueeze, Identity: same elements, same order.
  kShape,          // Shape, Size: reads no elements.
  kSource,         // ConstantOfShape, Range.
};

// What kernels require of the memory order of an operator's activations.
enum class LayoutRole {
  kPlain,         // Inputs and outputs are plain.
  kTied,          // Element-wise, Concat, ...: inputs and outputs share either layout.
  kAny,           // Transpose, Reduce: reads and writes any layout.
  kChannelsLast,  // Conv, pools: input 0 and output 0 are channels last.
};

// Where a fused kernel of floats may compute an element-wise operator (core/kernels/fusion.h).
enum class Fusion {
  kNone,
  kChain,         // Among other element-wise operators.
  kBehind,        // Also behind a contraction whose result is input 0.
  kBehindEither,  // Also behind one whose result is input 1.
};

// What an operator does that computes nothing: which elements its results are.
enum class Movement {
  kNone,       // It computes, or puts other elements beside those of its inputs.
  kCopy,       // Identity, Dropout: the output is input 0.
  kInOrder,    // Reshape, ...: the elements of input 0 in the same row-major order. Casts convert
               // them.
  kFromFirst,  // Each is some element of input 0.
  kFromAll,    // Each is an element of one of the inputs.
};

// A contraction as `batch` products of an m by k with a k by n matrix.
struct Products {
  double batch;
  double m;
  double n;
  double k;
};
using Dims = std::vector<int64_t>;

// How a contraction of input 0 with the weights, which are input 1, multiplies and adds.
struct Contraction {
  // The matrix products that it consists of. Other operators that multiply matrices have them, too.
  Products (*products)(const model::AttributeMap& attributes, const Dims& input,
                       const Dims& weights, const Dims& output) = nullptr;
  // The most products that one element of the output is the sum of. kContraction only.
  double (*terms)(const model::AttributeMap& attributes, const Dims& weights) = nullptr;
};

// The axes along which a canonical node reduces an input of that rank, sorted. Fails with
// MODEL_SHAPE if there are no such axes.
using ReducedAxesFn = absl::StatusOr<model::Ints> (*)(const model::AttributeMap& attributes,
                                                      int64_t rank);

// What inference knows about one input of a node.
struct InferInput {
  const model::TensorType* type = nullptr;  // Null if the input is left out.
  const model::Tensor* constant = nullptr;  // Null if not constant.
  // The elements of a small int32, int64 or bool tensor, as far as known; may have symbols
  // (constants, Shape and arithmetic on it). Null if not known.
  const Elements* elements = nullptr;
};

struct InferContext {
  const model::AttributeMap& attributes;
  std::span<const InferInput> inputs;
  int num_outputs;
};

struct InferResult {
  std::vector<model::TensorType> types;  // One per output.
  // The elements of output 0, as far as known; see InferInput::elements.
  std::optional<Elements> elements;
};

// Computes the types of the outputs. Fails with MODEL_SHAPE if the inputs contradict the operator.
// Unknown inputs give unknown outputs, never an error. Pure and thread-safe.
using InferFn = absl::StatusOr<InferResult> (*)(const InferContext& context);

// Computes the outputs of one node from its inputs; this defines the operator's meaning. The node
// is canonical: every parameter is an attribute, except a kFloat one that no double represents
// exactly. Inputs are static; `inputs` has at least min_inputs entries, and inputs[i] is null where
// an input is left out. `output_types` comes from `infer` and is static. Accumulates in double and
// rounds once per output element. Uses up to `threads` threads; the result does not depend on their
// number. Thread-safe. Fails with FAILED_PRECONDITION if values make no sense, such as an index out
// of range.
struct EvaluateContext {
  const model::AttributeMap& attributes;
  std::span<const model::Tensor* const> inputs;
  std::span<const model::TensorType> output_types;
  int threads = 1;
};
using EvaluateFn = absl::StatusOr<std::vector<model::Tensor>> (*)(const EvaluateContext& context);

// Completes the canonical form of `node` in place. `inputs` is parallel to node.inputs. Fails with
// MODEL_SHAPE or MODEL_MALFORMED on contradictions; unknown inputs are not an error.
using CanonicalizeFn = absl::Status (*)(model::Node& node, std::span<const InferInput> inputs);

// An attribute of the canonical form and its kind. A node with any other attribute, or with one of
// another kind, is opaque.
struct AttributeDef {
  enum class Kind { kInt, kFloat, kString, kInts, kFloats, kTensor };
  const char* name;
  Kind kind;
  std::optional<model::Attribute> default_value;  // Absent if the attribute has no default.
};

struct OpDef {
  const char* name;
  OpClass op_class;
  int min_inputs;
  int max_inputs;   // -1: any number.
  int max_outputs;  // Outputs that are supported, usually 1; -1: any number.
  int since_opset;  // Lowest opset in which the writer can emit the operator.
  LayoutRole layout = LayoutRole::kPlain;
  Fusion fusion = Fusion::kNone;
  // What it computes if its attributes do not choose another function; kNone if it is no function
  // of one float.
  UnaryFunction function = UnaryFunction::kNone;
  // Whether it rounds no float: results are elements of the inputs, or numbers that every type of
  // float holds. Casts depend on their types. Range counts, since no rewrite computes it anew.
  bool exact = false;
  // Whether a model keeps nodes of this operator although their inputs are constant, because
  // runtimes look for them: of DequantizeLinear of weights, to run what reads it on integers.
  bool stays_in_model = false;
  Movement movement = Movement::kNone;
  Numerics numerics = {};
  Contraction contraction = {};
  ReducedAxesFn reduced_axes = nullptr;  // kReduction only.
  std::vector<Parameter> parameters = {};
  std::vector<AttributeDef> attributes = {};
  bool commutative = false;  // kBinary: exchanging the two inputs is exact.
  // Names of kInt and kInts attributes (including those made from parameters) that are axes of
  // input 0.
  std::vector<const char*> axes = {};
  InferFn infer = nullptr;
  EvaluateFn evaluate = nullptr;
  // The operator's own part of Canonicalize, run after the general part. May be null.
  CanonicalizeFn canonicalize = nullptr;
  // Whether these attribute values and this set of inputs are supported; gets the canonical node.
  // Null means always. A node that is not accepted is opaque.
  bool (*accepts)(const model::Node& node) = nullptr;
  // The operator's own part of IsCertain (certain.h): whether every runtime computes these outputs,
  // within rounding. Null means always.
  bool (*is_certain)(const EvaluateContext& context,
                     std::span<const model::Tensor> outputs) = nullptr;
};

// The row of an operator, or null if there is none. Thread-safe.
const OpDef* FindOp(absl::string_view name);

// All rows, in the order of the families.
std::span<const OpDef* const> AllOps();

// Puts a node into canonical form in place: constant parameters become attributes, default values
// are removed, axes become non-negative where ranks are known. `inputs` is parallel to node.inputs.
// The node must have a row. Idempotent. Fails with MODEL_SHAPE or MODEL_MALFORMED on
// contradictions.
absl::Status Canonicalize(model::Node& node, std::span<const InferInput> inputs);
// The same without known elements. constants[i] is the constant value of input i or null,
// input_types[i] its type or null.
absl::Status Canonicalize(model::Node& node, std::span<const model::Tensor* const> constants,
                          std::span<const model::TensorType* const> input_types);

// Calls the row's `infer`. Drops inferred elements that do not fit the inferred type: all of them
// if their number is wrong, otherwise each one whose value the element type cannot hold.
absl::StatusOr<InferResult> InferNode(const OpDef& op, const InferContext& context);

// Bounds of the elements of output 0, as the row has them.
Interval BoundsOf(const OpDef& op, const BoundsContext& context);

// The elements of a small int32, int64 or bool tensor; nullopt for any other tensor.
std::optional<Elements> ElementsOf(const model::Tensor& tensor);

// Evaluates one node. `inputs` is parallel to node.inputs and null where one is left out.
// Parameters may be attributes or inputs; types are inferred from the inputs. Fails with
// MODEL_SHAPE if types contradict each other, FAILED_PRECONDITION if values make no sense,
// UNIMPLEMENTED if there is no row or an element type is not computable.
absl::StatusOr<std::vector<model::Tensor>> EvaluateNode(
    const model::Node& node, std::span<const model::Tensor* const> inputs, int threads);

// The same for a node that its outputs shall replace in a model. Also fails with
// FAILED_PRECONDITION if runtimes may compute something else (certain.h).
absl::StatusOr<std::vector<model::Tensor>> FoldNode(const model::Node& node,
                                                    std::span<const model::Tensor* const> inputs,
                                                    int threads);

}  // namespace quotient::ops
