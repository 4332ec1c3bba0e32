// Says what Quotient knows of models without running them: the types that it infers, the values
// that it folds, and how it writes nodes from their canonical form. Models come on standard input,
// each behind its length as four bytes, least significant first. Of each model standard output has
//
//   model
//   error MESSAGE                 if it is refused; the only line then
//   nodes OPERATOR...             what is left after folding, "Opaque" for what has no row
//   type NAME float32[2,n,?]      of each output of the graph, before folding
//   constant NAME int64[2] BASE64 of each output that was folded, little-endian bytes
//   written BASE64                the model with every node written anew, unless that cannot be
//   said
//
// --operators prints the names of the operator table instead and reads nothing.

#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "core/base/status_macros.h"
#include "core/eval/fold.h"
#include "core/model/graph.h"
#include "core/onnx/reader.h"
#include "core/onnx/writer.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"

namespace quotient {
namespace {

bool ReadModel(std::istream& in, std::string* model) {
  std::array<unsigned char, 4> size;
  if (!in.read(reinterpret_cast<char*>(size.data()), size.size())) return false;
  model->resize(size[0] | size[1] << 8 | size[2] << 16 | static_cast<uint32_t>(size[3]) << 24);
  return static_cast<bool>(in.read(model->data(), static_cast<std::streamsize>(model->size())));
}

void PrintConstant(const model::Value& value, std::ostream& out) {
  const model::Tensor& tensor = *value.constant;
  const absl::string_view bytes(reinterpret_cast<const char*>(tensor.bytes().data()),
                                tensor.bytes().size());
  out << "constant " << value.name << " " << ToString(tensor.type()) << " "
      << absl::Base64Escape(bytes) << "\n";
}

// As after a rewrite: without the text that they were read from, nodes are said anew.
void PrintWritten(const onnx::Model& model, model::Graph graph, std::ostream& out) {
  for (model::Node& node : graph.nodes) {
    if (!node.is_opaque()) node.source.clear();
  }
  const auto written = onnx::Write(model, graph, {});
  if (written.ok()) out << "written " << absl::Base64Escape(written->bytes) << "\n";
}

absl::Status Describe(const std::string& bytes, std::ostream& out) {
  QUOTIENT_ASSIGN_OR_RETURN(onnx::Model model, onnx::Read(bytes, {}, onnx::Limits(), nullptr));
  model::Graph graph = model.graph;
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(graph));
  for (model::ValueId id : graph.outputs) {
    out << "type " << graph.value(id).name << " " << ToString(graph.value(id).type) << "\n";
  }
  PrintWritten(model, graph, out);
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(graph));
  out << "nodes";
  for (const model::Node& node : graph.nodes) out << " " << node.op;
  out << "\n";
  for (model::ValueId id : graph.outputs) {
    if (graph.is_constant(id)) PrintConstant(graph.value(id), out);
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--operators") == 0) {
    for (const ops::OpDef* op : ops::AllOps()) std::cout << op->name << "\n";
    return 0;
  }
  if (argc != 1) {
    std::cerr << "usage: fold_models [--operators] < MODELS\n";
    return 2;
  }
  std::ios::sync_with_stdio(false);
  for (std::string bytes; ReadModel(std::cin, &bytes);) {
    std::cout << "model\n";
    const absl::Status status = Describe(bytes, std::cout);
    if (!status.ok()) {
      const std::string message(status.message());
      std::cout << "error " << absl::StrReplaceAll(message, {{"\n", " "}}) << "\n";
    }
  }
  return 0;
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) { return quotient::Main(argc, argv); }
