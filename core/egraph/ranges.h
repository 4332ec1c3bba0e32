#pragma once

// What there is in an e-graph, as ranges to loop over. They walk through the e-graph's lists and
// skip what is no longer live. Included by egraph.h.

#include <cstddef>
#include <iterator>

#include "core/egraph/egraph.h"

namespace quotient::egraph {

// Entries that are e-nodes.
class RowFilter {
 public:
  RowFilter() = default;
  explicit RowFilter(const EGraph* graph) : graph_(graph) {}
  // Invalid: skip.
  ENodeId operator()(uint32_t entry) const {
    const ENodeId node(entry);
    return graph_->live(node) ? node : ENodeId();
  }

 private:
  const EGraph* graph_ = nullptr;
};

// Entries that are parents of a class. An e-node that has the class as several children is there
// several times, since classes may have become one; it counts where the class is first.
class ParentFilter {
 public:
  ParentFilter() = default;
  ParentFilter(const EGraph* graph, ClassId id) : graph_(graph), id_(id) {}
  ENodeId operator()(uint32_t entry) const {
    if (entry == ParentEntry::kRemoved) return ENodeId();
    const ENodeId node = ParentEntry::Node(entry);
    if (!graph_->live(node)) return ENodeId();
    const std::span<const ClassId> children = graph_->ChildrenOf(node);
    for (uint32_t i = 0; i < ParentEntry::Position(entry); ++i) {
      if (children[i] == id_) return ENodeId();
    }
    return node;
  }

 private:
  const EGraph* graph_ = nullptr;
  ClassId id_;
};

template <typename Filter>
class FilteredRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = ENodeId;
    using difference_type = std::ptrdiff_t;
    using pointer = const ENodeId*;
    using reference = ENodeId;

    Iterator() = default;
    Iterator(const EntryLists* lists, Filter filter, uint32_t slot)
        : lists_(lists), filter_(filter), slot_(slot) {
      Settle();
    }
    ENodeId operator*() const { return node_; }
    Iterator& operator++() {
      slot_ = lists_->NextSlot(slot_ + 1);
      Settle();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.slot_ == b.slot_; }

   private:
    void Settle() {
      while (slot_ != EntryLists::kNone && !(node_ = filter_(lists_->entry(slot_))).valid()) {
        slot_ = lists_->NextSlot(slot_ + 1);
      }
    }

    const EntryLists* lists_ = nullptr;
    Filter filter_;
    uint32_t slot_ = EntryLists::kNone;
    ENodeId node_;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;
  using value_type = ENodeId;

  FilteredRange(const EntryLists* lists, EntryLists::List list, Filter filter)
      : lists_(lists), list_(list), filter_(filter) {}

  Iterator begin() const { return {lists_, filter_, lists_->FirstSlot(list_)}; }
  Iterator end() const { return {lists_, filter_, EntryLists::kNone}; }
  bool empty() const { return begin() == end(); }
  size_t size() const { return static_cast<size_t>(std::distance(begin(), end())); }
  // Of a range that is not empty.
  ENodeId front() const { return *begin(); }
  // In linear time.
  ENodeId operator[](size_t i) const { return *std::next(begin(), static_cast<ptrdiff_t>(i)); }

 private:
  const EntryLists* lists_;
  EntryLists::List list_;
  Filter filter_;
};

// The canonical classes.
class ClassRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = ClassId;
    using difference_type = std::ptrdiff_t;
    using pointer = const ClassId*;
    using reference = ClassId;

    Iterator() = default;
    Iterator(const EGraph* graph, uint32_t id) : graph_(graph), id_(id) { Settle(); }
    ClassId operator*() const { return ClassId(id_); }
    Iterator& operator++() {
      ++id_;
      Settle();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.id_ == b.id_; }

   private:
    void Settle() {
      while (id_ < graph_->class_bound() && graph_->Find(ClassId(id_)) != ClassId(id_)) ++id_;
    }

    const EGraph* graph_ = nullptr;
    uint32_t id_ = 0;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;
  using value_type = ClassId;

  explicit ClassRange(const EGraph* graph) : graph_(graph) {}
  Iterator begin() const { return {graph_, 0}; }
  Iterator end() const { return {graph_, graph_->class_bound()}; }
  bool empty() const { return begin() == end(); }
  size_t size() const { return static_cast<size_t>(graph_->num_classes()); }

 private:
  const EGraph* graph_;
};

inline ClassRange EGraph::classes() const { return ClassRange(this); }
inline ENodeRange EGraph::nodes(ClassId id) const {
  return {&lists_, classes_[Find(id).value()].members, RowFilter(this)};
}
inline ParentRange EGraph::parents(ClassId id) const {
  const ClassId root = Find(id);
  return {&lists_, classes_[root.value()].parents, ParentFilter(this, root)};
}
inline ENodeRange EGraph::nodes_of_kind(KindId kind) const {
  const EntryLists::List list =
      kind.value() < kinds_.size() ? kinds_[kind.value()] : EntryLists::List();
  return {&lists_, list, RowFilter(this)};
}

}  // namespace quotient::egraph
