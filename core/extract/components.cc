#include "core/extract/components.h"

#include <algorithm>
#include <limits>

namespace quotient::extract {
namespace {

// Tarjan's algorithm with an explicit stack: graphs can be deep.
class Tarjan {
 public:
  explicit Tarjan(const Instance& instance)
      : instance_(instance),
        component_(instance.num_classes(), kNone),
        index_(instance.num_classes(), kNone),
        low_(instance.num_classes(), kNone) {
    for (uint32_t i = 0; i < instance.num_classes(); ++i) {
      if (index_[i] == kNone) Walk(Class(i));
    }
  }

  std::vector<uint32_t> Take() { return std::move(component_); }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Frame {
    Class id;
    size_t node = 0;   // Position in the class's e-nodes.
    size_t child = 0;  // Position in that e-node's children.
  };

  void Walk(Class start) {
    Enter(start);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const std::span<const Node> nodes = instance_.nodes[frame.id.value()];
      if (frame.node == nodes.size()) {
        Leave();
        continue;
      }
      const std::span<const Class> children = instance_.children[nodes[frame.node].value()];
      if (frame.child == children.size()) {
        ++frame.node;
        frame.child = 0;
        continue;
      }
      Visit(frame.id, children[frame.child++]);
    }
  }

  void Enter(Class id) {
    index_[id.value()] = low_[id.value()] = next_index_++;
    open_.push_back(id);
    frames_.push_back({id});
  }

  void Visit(Class id, Class child) {
    if (index_[child.value()] == kNone) {
      Enter(child);
    } else if (component_[child.value()] == kNone) {
      low_[id.value()] = std::min(low_[id.value()], index_[child.value()]);
    }
  }

  void Leave() {
    const Class id = frames_.back().id;
    frames_.pop_back();
    if (!frames_.empty()) {
      uint32_t& low = low_[frames_.back().id.value()];
      low = std::min(low, low_[id.value()]);
    }
    if (low_[id.value()] != index_[id.value()]) return;
    Class member;
    do {
      member = open_.back();
      open_.pop_back();
      component_[member.value()] = num_components_;
    } while (member != id);
    ++num_components_;
  }

  const Instance& instance_;
  std::vector<uint32_t> component_;
  std::vector<uint32_t> index_;
  std::vector<uint32_t> low_;
  uint32_t next_index_ = 0;
  uint32_t num_components_ = 0;
  std::vector<Class> open_;  // Entered, but not yet in a complete component.
  std::vector<Frame> frames_;
};

}  // namespace

std::vector<uint32_t> StrongComponents(const Instance& instance) { return Tarjan(instance).Take(); }

}  // namespace quotient::extract
