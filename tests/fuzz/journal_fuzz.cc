// Any bytes are a journal or a refusal, and what is taken for one has no other text. Both with the
// digest that the bytes have and with the right one, so that it does not hide what is before it. A
// journal is replayed on a small graph: another graph comes out, or the journal is refused.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/journal/journal.h"
#include "core/journal/replay_egraph.h"
#include "core/model/graph.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/understood.h"

namespace {

using quotient::Reason;
using quotient::journal::Journal;
using quotient::journal::ReplayEGraph;
using quotient::journal::Rewriting;
using quotient::testing::Check;

// Normalization that merges into the weights of a Conv, branches that become one, an operand that
// is left out, and a node that is not understood.
quotient::model::Graph SmallGraph() {
  auto graph = quotient::model::ParseGraph(R"(graph g {
    input x: float32[1,4,8,8]
    input limit: float32[]
    const w: float32[4,4,1,1] = random(1)
    const v: float32[4,4,1,1] = random(2)
    const two: float32[] = [2]
    a = Conv(x, w)
    b = Conv(x, v)
    c = Relu(a)
    d = Relu(b)
    e = Concat(c, d) {axis=1}
    f = Mul(e, two)
    g = Mul(f, two)
    h = Clip(g, _, limit)
    m = Opaque "com.acme.Foo" (h)
    output h, m
  })");
  Check(graph.ok(), "the graph can be read", graph.status());
  const absl::Status inferred = quotient::ops::InferTypes(*graph);
  Check(inferred.ok(), "its types are known", inferred);
  return *std::move(graph);
}

void CheckIsRefusal(const absl::Status& status) {
  const auto reason = quotient::GetReason(status);
  Check(reason == Reason::kJournalInvalid || reason == Reason::kLimitNodes,
        "the journal is to blame", status);
}

void Replay(const Rewriting& rewriting, const quotient::model::Graph& graph) {
  quotient::journal::StepBudget budget{quotient::StopCondition()};
  const auto replay =
      ReplayEGraph::Begin(graph, graph, {.max_opset = 20, .max_folded_bytes = 1 << 20}, &budget);
  Check(replay.ok(), "the graph has an e-graph", replay.status());
  const absl::Status made = (*replay)->Make(rewriting.rewrites);
  if (!made.ok()) return CheckIsRefusal(made);
  const absl::StatusOr<quotient::model::Graph> result = (*replay)->Finish(rewriting);
  if (!result.ok()) return CheckIsRefusal(result.status());
  const absl::Status valid = quotient::model::Validate(*result);
  Check(valid.ok(), "what comes out is a graph", valid);
}

// Returns whether the text is a journal.
bool ReadAndReplay(absl::string_view text) {
  static const auto& graph = *new quotient::model::Graph(SmallGraph());
  const absl::StatusOr<Journal> journal = quotient::journal::FromText(text);
  if (!journal.ok()) {
    CheckIsRefusal(journal.status());
    return false;
  }
  Check(ToText(*journal) == text, "a journal has one text");
  if (journal->derivation.has_value()) Replay(journal->derivation->rewriting, graph);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  ReadAndReplay(text);
  const absl::string_view lines = text.substr(0, text.rfind("{\"sha256\":"));
  const std::string sealed =
      absl::StrCat(lines, "{\"sha256\":\"", quotient::Digest::Of(lines).Hex(), "\"}\n");
  if (ReadAndReplay(sealed)) quotient::testing::NoteUnderstood();
  return 0;
}
