#include "core/optimize/footprint.h"

#include <algorithm>
#include <vector>

#include "core/model/tensor.h"

namespace quotient::optimize {
namespace {

using model::ValueId;

int64_t BytesOf(const model::Graph& graph, ValueId id) {
  const model::TensorType& type = graph.value(id).type;
  if (!type.is_static()) return 0;
  return model::Tensor::ByteSize(type.dtype, type.dims()).value_or(0);
}

// What the nodes produce, from when it is made until its last reader has run.
int64_t PeakBytes(const model::Graph& graph) {
  constexpr size_t kNever = ~size_t{0};
  std::vector<size_t> last_reader(graph.values.size(), kNever);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId id : graph.nodes[n].inputs) {
      if (id.valid() && graph.value(id).producer.valid()) last_reader[id.value()] = n;
    }
  }
  for (ValueId id : graph.outputs) last_reader[id.value()] = kNever;
  int64_t live = 0, peak = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId id : graph.nodes[n].outputs) {
      if (id.valid()) live += BytesOf(graph, id);
    }
    peak = std::max(peak, live);
    for (ValueId id : graph.nodes[n].inputs) {
      if (!id.valid() || last_reader[id.value()] != n) continue;
      live -= BytesOf(graph, id);
      last_reader[id.value()] = kNever;  // it may be an input twice
    }
  }
  return peak;
}

}  // namespace

int64_t BytesToRun(const model::Graph& graph, int input_sets) {
  int64_t inputs = 0;
  for (ValueId id : graph.inputs) inputs += BytesOf(graph, id);
  constexpr int64_t kForms = 3;  // as they are, as doubles (two times)
  return inputs * (input_sets + kForms) + PeakBytes(graph) * kForms;
}

}  // namespace quotient::optimize
