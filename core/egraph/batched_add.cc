// Adding many e-nodes at a time, with their cache misses overlapped.

#include "core/egraph/egraph.h"
#include "core/egraph/hash.h"

namespace quotient::egraph {

void EGraph::Prepare(std::span<Probe> probes) const {
  const uint32_t unions = num_unions();
  for (Probe& probe : probes) {
    if (probe.num_children > 0) probe.children[0] = Find(probe.children[0]);
    if (probe.num_children > 1) probe.children[1] = Find(probe.children[1]);
    probe.hash = ContentHash(probe.op, probe.children[0], probe.children[1]);
    probe.unions = unions;
    hash_cons_.Prefetch(probe.hash);
  }
  if (store_.fits_in_cache()) return;
  for (const Probe& probe : probes) {
    const ENodeId candidate = hash_cons_.Find(probe.hash, [](ENodeId) { return true; });
    if (candidate.valid()) {
      store_.PrefetchRow(candidate);
      continue;
    }
    for (uint32_t i = 0; i < probe.num_children; ++i) {
      store_.PrefetchClassToWrite(probe.children[i]);
    }
  }
}

bool EGraph::Outdated(const Probe& probe) const {
  if (probe.unions == num_unions()) return false;
  for (uint32_t i = 0; i < probe.num_children; ++i) {
    if (Find(probe.children[i]) != probe.children[i]) return true;
  }
  return false;
}

inline ENodeId EGraph::FindPrepared(const Probe& probe) const {
  const uint32_t key = Row::Key(probe.op, probe.num_children);
  return hash_cons_.Find(probe.hash, [&](ENodeId candidate) {
    return store_.row(candidate).Holds(key, probe.children[0], probe.children[1]);
  });
}

absl::StatusOr<ClassId> EGraph::AddPrepared(const Probe& probe, Origin origin) {
  const std::span<const ClassId> children(probe.children, probe.num_children);
  if (Outdated(probe)) return Add(probe.op, children, origin);
  const ENodeId found = FindPrepared(probe);
  if (found.valid()) return class_of(found);
  return Insert(probe.hash, probe.op, children, origin);
}

absl::StatusOr<bool> EGraph::AddPreparedTo(ClassId id, const Probe& probe, Origin origin) {
  const std::span<const ClassId> children(probe.children, probe.num_children);
  if (Outdated(probe)) return AddTo(id, probe.op, children, origin);
  const ENodeId found = FindPrepared(probe);
  if (found.valid()) return Union(id, class_of(found), origin);
  return InsertTo(id, probe.hash, probe.op, children, origin);
}

}  // namespace quotient::egraph
