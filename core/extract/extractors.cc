// The table of extractors.

#include "core/extract/dag.h"
#include "core/extract/extract.h"
#include "core/extract/history.h"
#include "core/extract/tree.h"

namespace quotient::extract {

std::span<const Extractor* const> AllExtractors() {
  static const TreeExtractor tree;
  static const DagExtractor dag;
  static const HistoryExtractor history;
  static const Extractor* const all[] = {&tree, &history, &dag};
  return all;
}

const Extractor* FindExtractor(absl::string_view name) {
  for (const Extractor* extractor : AllExtractors()) {
    if (extractor->name() == name) return extractor;
  }
  return nullptr;
}

}  // namespace quotient::extract
