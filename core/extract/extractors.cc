// The table of extractors.

#include "core/extract/dag.h"
#include "core/extract/exact.h"
#include "core/extract/extract.h"
#include "core/extract/history.h"
#include "core/extract/ilp.h"
#include "core/extract/tree.h"

namespace quotient::extract {

std::span<const Extractor* const> AllExtractors() {
  static const TreeExtractor tree;
  static const HistoryExtractor history;
  static const DagExtractor dag;
  static const IlpExtractor ilp;
  static const ExactExtractor exact;
  static const Extractor* const all[] = {&tree, &history, &dag, &ilp, &exact};
  return all;
}

const Extractor* FindExtractor(absl::string_view name) {
  for (const Extractor* extractor : AllExtractors()) {
    if (extractor->name() == name) return extractor;
  }
  return nullptr;
}

}  // namespace quotient::extract
