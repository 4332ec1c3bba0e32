#pragma once

// The functions of a model, which of them may take the places of their calls, and how much a copy
// of each adds to the graph. Every function is looked at once, and sums saturate, so that functions
// that double 40 times cost nothing.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "core/onnx/function_key.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// What a copy of a function, with all that it calls, adds to the main graph.
class FunctionGrowth {
 public:
  int64_t nodes() const { return nodes_; }
  int64_t bytes() const;  // each place that is filled in counted as if it got the largest thing

  void AddNode() { nodes_ = Sum(nodes_, 1); }
  void AddBytes(int64_t bytes) { bytes_ = Sum(bytes_, bytes); }
  void Add(const FunctionGrowth& callee);
  // Counts the names and the references to attributes in a node of the body.
  void CountPlaces(const NodeProto& node);
  // What a call hands to the body, and the body perhaps to functions that it calls.
  void AdmitCall(const NodeProto& call);
  void AdmitAttribute(const AttributeProto& attribute);

 private:
  // The places of a body that are filled in when it is copied, and the bytes of the largest thing
  // that may be filled in.
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
  int64_t bytes_ = 0;  // without what is filled in
  Places attributes_;  // references to attributes of the function
  Places names_;       // uses of names, any of which may stand for one at the call
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

  // The function that the node calls, if there is one and it may take the call's place.
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
