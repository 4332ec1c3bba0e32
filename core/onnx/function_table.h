#pragma once

// The functions of a model, which of them may be inlined, and how much a copy of each adds to the
// graph. Every function is examined once, and sums saturate, so that functions which double the
// graph 40 times over cost nothing to examine.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "core/onnx/function_key.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// What a copy of a function, with everything that it calls, adds to the main graph.
class FunctionGrowth {
 public:
  int64_t nodes() const { return nodes_; }
  // An upper bound: every place that is filled in counts as if it got the largest item.
  int64_t bytes() const;

  void AddNode() { nodes_ = Sum(nodes_, 1); }
  void AddBytes(int64_t bytes) { bytes_ = Sum(bytes_, bytes); }
  void Add(const FunctionGrowth& callee);
  // Counts the names and the references to attributes in a node of the body.
  void CountPlaces(const NodeProto& node);
  // Take into account what a call passes to the body, which may pass it on to other functions.
  void AdmitCall(const NodeProto& call);
  void AdmitAttribute(const AttributeProto& attribute);

 private:
  // The number of places in a body that are filled in when it is copied, and the bytes of the
  // largest item that may be filled in.
  struct Places {
    int64_t count = 0;
    int64_t largest = 0;

    void Add(const Places& more);
    void Admit(int64_t bytes) { largest = std::max(largest, bytes); }
    int64_t Bytes() const;
  };

  static int64_t Sum(int64_t a, int64_t b);
  void CountPlaces(const GraphProto& graph);

  int64_t nodes_ = 0;
  int64_t bytes_ = 0;  // Without what is filled in.
  Places attributes_;  // References to attributes of the function.
  Places names_;       // Uses of names, any of which may be replaced by a name from the call.
};

struct InlinableFunction {
  const FunctionProto* proto = nullptr;
  FunctionGrowth growth;
};

// Borrows the functions of the model.
class FunctionTable {
 public:
  // `opset` is the model's own. The model must have passed CheckStructure and CheckOpsets.
  FunctionTable(int opset, const ModelProto& model);

  // The function that the node calls, if there is one and it may be inlined. Null otherwise.
  const InlinableFunction* Find(const NodeProto& call) const;

 private:
  struct Entry {
    InlinableFunction function;
    bool is_measured = false;
    bool may_inline = false;
    bool is_worth_it = false;  // Whether the body, with what it calls, has nodes we may understand.
  };

  void Measure(Entry& entry);
  bool MayInline(const FunctionProto& function);
  bool MeansTheSame(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                    int function_opset) const;

  const int opset_;
  std::map<std::string, int64_t> imports_;
  std::map<FunctionKey, Entry> entries_;
};

}  // namespace quotient::onnx
