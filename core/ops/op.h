#pragma once

// The operator table: everything Quotient knows of an operator stands in one row. Import, type
// inference, evaluation, folding, writing and rules all read this table; an operator that has no
// row is opaque.
//
// Canonical form. A node of the graph has the meaning that ONNX's default domain gives the operator
// today, with one difference: an input that is a *parameter* (axes of Squeeze, shape of Reshape,
// pads of Pad, ...; see OpDef::parameters) becomes an attribute of the parameter's name as soon as
// it is constant, and the input slot is then left out (slots at the end are dropped). Attributes
// that have their default value are absent; so equal operators have equal attribute maps. Negative
// axes are made non-negative where the rank is known, and are absent where they name the default's
// axis. Reshape to a fully static shape has that shape, without 0 and -1. core/ops/README.md lists
// the remaining choices per operator.

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

namespace quotient::ops {

// An input that becomes an attribute once it is constant.
struct Parameter {
  int input;              // position in ONNX's signature
  const char* attribute;  // name of the attribute
  // As an input again (the writer's matter): kInts int64[n], kInt int64[], kFloats float32[n],
  // kFloat a scalar of input 0's element type (which stays an input where that is a 64-bit integer
  // that no double says exactly).
  enum class Kind { kInts, kFloats, kInt, kFloat } kind;
};

// What inference knows of one element of a small integer or bool tensor: a number of either sign,
// a symbol (which is not negative, being a dimension), or nothing.
class Element {
 public:
  Element() = default;                                      // unknown
  Element(int64_t number) : number_(number) {}              // NOLINT: a number is an element
  Element(const model::Dim& dim) : symbol_(dim.symbol()) {  // NOLINT: a dimension is an element
    if (dim.is_number()) number_ = dim.number();
  }

  bool is_number() const { return number_.has_value(); }
  bool is_symbol() const { return !symbol_.empty(); }
  bool is_unknown() const { return !is_number() && !is_symbol(); }
  int64_t number() const { return *number_; }            // only if is_number()
  const std::string& symbol() const { return symbol_; }  // empty unless is_symbol()

  bool Is(int64_t number) const { return number_ == number; }
  // The dimension of that size; unknown for negative numbers.
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
using Elements = std::vector<Element>;  // row-major
// Elements are followed through tensors of up to this many.
inline constexpr int64_t kMaxElements = 64;

// How rules and cost see an operator.
enum class OpClass {
  kUnary,          // element-wise, one tensor input
  kBinary,         // element-wise with broadcasting, two or more tensor inputs
  kContraction,    // Conv, ConvTranspose, MatMul, Gemm
  kReduction,      // Reduce*, GlobalAveragePool
  kNormalization,  // Softmax, LayerNormalization, ... along axes
  kWindow,         // pools
  kMove,           // moves elements: Transpose, Concat, Slice, Pad, Gather, Expand, ...
  kView,    // Reshape, Flatten, Squeeze, Unsqueeze, Identity: same elements in the same order
  kShape,   // Shape, Size: reads no elements
  kSource,  // ConstantOfShape, Range
};

// What inference sees of one node.
struct InferInput {
  const model::TensorType* type = nullptr;  // null: input left out
  const model::Tensor* constant = nullptr;  // null: not constant
  // For small int32, int64 and bool tensors whose elements are known up to symbols (constants,
  // Shape and arithmetic on it); null: not known.
  const Elements* elements = nullptr;
};

struct InferContext {
  const model::AttributeMap& attributes;
  std::span<const InferInput> inputs;
  int num_outputs;
};

struct InferResult {
  std::vector<model::TensorType> types;  // one per output
  // Known elements of output 0 if it is a small integer tensor, see InferInput::elements.
  std::optional<Elements> elements;
};

// Types of the outputs. MODEL_SHAPE when the inputs contradict the operator; unknown inputs give
// unknown outputs, never an error. Pure and thread-safe.
using InferFn = absl::StatusOr<InferResult> (*)(const InferContext& context);

// Outputs of one node from its inputs: the reference meaning. The node is canonical, with every
// parameter an attribute but for a kFloat one that no double says exactly. Inputs are static;
// `inputs` has at least min_inputs entries and `inputs[i]` is null where an input was left out;
// result types are those of `output_types`, which `infer` made and which are static. Accumulates in
// double, rounds once per output element. Uses up to `threads` threads; the result does not depend
// on how many. Thread-safe. FAILED_PRECONDITION if values make no sense (an index out of range).
struct EvaluateContext {
  const model::AttributeMap& attributes;
  std::span<const model::Tensor* const> inputs;
  std::span<const model::TensorType> output_types;
  int threads = 1;
};
using EvaluateFn = absl::StatusOr<std::vector<model::Tensor>> (*)(const EvaluateContext& context);

// Completes the canonical form of `node`, in place. Inputs are parallel to node.inputs. MODEL_SHAPE
// or MODEL_MALFORMED on contradictions; unknown inputs are no error.
using CanonicalizeFn = absl::Status (*)(model::Node& node, std::span<const InferInput> inputs);

// Attributes of the canonical form with their kind; a node with another attribute, or one of
// another kind, is opaque (except the names in `ignored`).
struct AttributeDef {
  enum class Kind { kInt, kFloat, kString, kInts, kFloats, kTensor };
  const char* name;
  Kind kind;
  std::optional<model::Attribute> default_value;  // nothing: no default, absent means absent
};

struct OpDef {
  const char* name;
  OpClass op_class;
  int min_inputs;
  int max_inputs;   // -1: any number
  int max_outputs;  // outputs that we understand, usually 1; -1: any number
  int since_opset;  // lowest opset that has the operator in a form the writer can emit
  std::vector<Parameter> parameters = {};
  std::vector<AttributeDef> attributes = {};
  bool commutative = false;  // kBinary: exact under exchange of the two inputs
  // Names of kInt and kInts attributes (also those that parameters become) that count axes of
  // input 0.
  std::vector<const char*> axes = {};
  InferFn infer = nullptr;
  EvaluateFn evaluate = nullptr;
  // The operator's own part of Canonicalize, run after the general part; may be null.
  CanonicalizeFn canonicalize = nullptr;
  // Whether we understand these attribute values and this set of inputs; asked of the canonical
  // node. Null: always. A node that is not accepted is opaque.
  bool (*accepts)(const model::Node& node) = nullptr;
  // The operator's own part of IsCertain (certain.h): whether every runtime computes these outputs,
  // within rounding. Null: always.
  bool (*is_certain)(const EvaluateContext& context,
                     std::span<const model::Tensor> outputs) = nullptr;
};

// The row of an operator; null if there is none: opaque. Thread-safe.
const OpDef* FindOp(absl::string_view name);

// All rows, in the order of the families' files.
std::span<const OpDef* const> AllOps();

// Puts a node into canonical form in place: constant parameters become attributes, defaults go
// away, axes become non-negative where ranks are known. `inputs` is parallel to node.inputs. The
// node must have a row. Idempotent. MODEL_SHAPE or MODEL_MALFORMED on contradictions.
absl::Status Canonicalize(model::Node& node, std::span<const InferInput> inputs);
// The same where elements are not known. `constants[i]` is the constant value of input i or null,
// `input_types[i]` its type or null.
absl::Status Canonicalize(model::Node& node, std::span<const model::Tensor* const> constants,
                          std::span<const model::TensorType* const> input_types);

// Runs a row's `infer`. Elements that do not fit the inferred type are dropped: all of them where
// there are too many or too few, else each whose number the element type does not have.
absl::StatusOr<InferResult> InferNode(const OpDef& op, const InferContext& context);

// The elements of a small int32, int64 or bool tensor; nothing for all others.
std::optional<Elements> ElementsOf(const model::Tensor& tensor);

// Evaluates one node: `inputs` is parallel to node.inputs, null where left out. Parameters may be
// attributes or inputs, types are inferred from the inputs. MODEL_SHAPE if they contradict each
// other, FAILED_PRECONDITION if values make no sense, UNIMPLEMENTED if there is no row or an
// element type is not computable.
absl::StatusOr<std::vector<model::Tensor>> EvaluateNode(
    const model::Node& node, std::span<const model::Tensor* const> inputs, int threads);

// The same for a node that its outputs shall replace in a model: FAILED_PRECONDITION too where it
// is not certain that a runtime computes the same (certain.h).
absl::StatusOr<std::vector<model::Tensor>> FoldNode(const model::Node& node,
                                                    std::span<const model::Tensor* const> inputs,
                                                    int threads);

}  // namespace quotient::ops
