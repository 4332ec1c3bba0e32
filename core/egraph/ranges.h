#pragma once

// Ranges over the classes and e-nodes of an e-graph. They walk along its chains and skip what is
// not live. Included by egraph.h.

#include <cstddef>
#include <iterator>

#include "core/egraph/egraph.h"

namespace quotient::egraph {

// A chain has a type Link, whose invalid value is the end; Next(link); and Node(link), the e-node
// there or an invalid id if it is to be skipped.
class MemberChain {
 public:
  using Link = ENodeId;

  explicit MemberChain(const EGraph* graph = nullptr) : graph_(graph) {}
  Link Next(Link link) const { return graph_->store().row(link).next_member; }
  ENodeId Node(Link link) const { return graph_->live(link) ? link : ENodeId(); }

 private:
  const EGraph* graph_;
};

// All e-nodes by id, of which those of other kinds are skipped.
class KindChain {
 public:
  using Link = ENodeId;

  KindChain() = default;
  KindChain(const EGraph* graph, KindId kind) : graph_(graph), kind_(kind) {}
  Link Next(Link link) const {
    const uint32_t next = link.value() + 1;
    return next < graph_->enode_bound() ? ENodeId(next) : ENodeId();
  }
  ENodeId Node(Link link) const {
    return graph_->live(link) && graph_->kind(link) == kind_ ? link : ENodeId();
  }

 private:
  const EGraph* graph_ = nullptr;
  KindId kind_;
};

// An e-node that has the class as several children occurs several times in the chain; only the
// occurrence at the first such position counts.
class UseChain {
 public:
  using Link = UseId;

  UseChain() = default;
  UseChain(const EGraph* graph, ClassId id) : graph_(graph), id_(id) {}
  Link Next(Link link) const { return graph_->store().NextUse(link); }
  ENodeId Node(Link link) const {
    const ENodeId node = graph_->store().NodeOf(link);
    if (!graph_->live(node)) return ENodeId();
    const std::span<const ClassId> children = graph_->store().children(node);
    for (uint32_t i = 0; i < graph_->store().PositionOf(link); ++i) {
      if (children[i] == id_) return ENodeId();
    }
    return node;
  }

 private:
  const EGraph* graph_ = nullptr;
  ClassId id_;
};

template <typename Chain>
class ChainRange {
 public:
  using Link = typename Chain::Link;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = ENodeId;
    using difference_type = std::ptrdiff_t;
    using pointer = const ENodeId*;
    using reference = ENodeId;

    Iterator() = default;
    Iterator(Chain chain, Link link) : chain_(chain), link_(link) { Settle(); }
    ENodeId operator*() const { return node_; }
    Iterator& operator++() {
      link_ = chain_.Next(link_);
      Settle();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.link_ == b.link_; }

   private:
    void Settle() {
      while (link_.valid() && !(node_ = chain_.Node(link_)).valid()) link_ = chain_.Next(link_);
    }

    Chain chain_;
    Link link_;
    ENodeId node_;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;
  using value_type = ENodeId;

  ChainRange(Chain chain, Link first) : chain_(chain), first_(first) {}

  Iterator begin() const { return {chain_, first_}; }
  Iterator end() const { return {chain_, Link()}; }
  bool empty() const { return begin() == end(); }
  size_t size() const { return static_cast<size_t>(std::distance(begin(), end())); }
  // The range must not be empty.
  ENodeId front() const { return *begin(); }
  // Linear time.
  ENodeId operator[](size_t i) const { return *std::next(begin(), static_cast<ptrdiff_t>(i)); }

 private:
  Chain chain_;
  Link first_;
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
inline MemberRange EGraph::nodes(ClassId id) const {
  return {MemberChain(this), store_.class_row(Find(id)).first_member};
}
inline ParentRange EGraph::parents(ClassId id) const {
  const ClassId root = Find(id);
  return {UseChain(this, root), store_.class_row(root).first_use};
}
inline KindRange EGraph::nodes_of_kind(KindId kind) const {
  return {KindChain(this, kind), enode_bound() > 0 ? ENodeId(0) : ENodeId()};
}

}  // namespace quotient::egraph
