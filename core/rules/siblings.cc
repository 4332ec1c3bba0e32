#include "core/rules/siblings.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace quotient::rules {
namespace {

// The most contractions that are merged into one. More siblings become several groups.
constexpr size_t kMaxSiblings = 64;

// The constant from which a weight was computed by scaling, reshaping and similar operators.
// Variants of one contraction, such as with and without a merged scale, have the same base. This
// looks further than Rule::SearchAt allows: if only a base changes, the variants are chosen anew
// when something nearer does.
ClassId BaseOf(const View& view, ClassId weight) {
  static const auto& kThrough = *new std::set<std::string>{
      "Mul", "Div", "Add", "Sub", "Neg", "Reshape", "Transpose", "Pad", "Cast"};
  ClassId cls = view.graph().Find(weight);
  for (int steps = 0; steps < 32; ++steps) {
    const ENodeId first = view.graph().nodes(cls).front();
    const auto node = view.graph().node(first);
    if (!kThrough.contains(view.word(first).name) || node.children.empty()) break;
    cls = view.graph().Find(node.children[0]);
  }
  return cls;
}

// Keeps one variant of each contraction: the one that was made first, or last.
std::vector<Sibling> OnePerBase(const View& view, const std::vector<Sibling>& members, bool last) {
  std::map<ClassId, size_t> slot_of_base;
  std::vector<Sibling> chosen;
  for (const Sibling& member : members) {
    const auto [it, is_new] = slot_of_base.try_emplace(BaseOf(view, member.weight), chosen.size());
    if (is_new) {
      chosen.push_back(member);
    } else if (last) {
      chosen[it->second] = member;
    }
  }
  return chosen;
}

bool SameRoots(const std::vector<Sibling>& a, const std::vector<Sibling>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Sibling& x, const Sibling& y) { return x.root == y.root; });
}

// Two ways to compute one value are one member: the first.
std::vector<Sibling> OnePerRoot(const std::vector<Sibling>& members) {
  std::set<ClassId> roots;
  std::vector<Sibling> chosen;
  for (const Sibling& member : members) {
    if (roots.insert(member.root).second) chosen.push_back(member);
  }
  return chosen;
}

// Classes of a match: x, then weight, bias and root of each member, with the weight in place of a
// missing bias. Numbers: for each member, whether it has a bias.
bool EmitGroup(ClassId x, std::span<const Sibling> members, const EmitFn& emit) {
  SiteMatch match;
  match.classes.push_back(x);
  for (const Sibling& member : members) {
    const ClassId bias = member.bias.valid() ? member.bias : member.weight;
    match.classes.insert(match.classes.end(), {member.weight, bias, member.root});
    match.ops.push_back(member.op);
    match.numbers.push_back(member.bias.valid());
  }
  return emit(std::move(match));
}

// Emits as few groups as possible, of nearly equal size.
bool Emit(ClassId x, const std::vector<Sibling>& candidates, const EmitFn& emit) {
  const std::vector<Sibling> members = OnePerRoot(candidates);
  if (members.size() < 2) return true;
  const std::span<const Sibling> all(members);
  const size_t groups = (members.size() + kMaxSiblings - 1) / kMaxSiblings;
  for (size_t group = 0; group < groups; ++group) {
    const size_t begin = members.size() * group / groups;
    const size_t end = members.size() * (group + 1) / groups;
    if (!EmitGroup(x, all.subspan(begin, end - begin), emit)) return false;
  }
  return true;
}

}  // namespace

bool IsPlainWeight(const View& view, ClassId weight) {
  const ClassData& data = view.data(weight);
  return data.weight_only && data.type.is_static() && model::IsFloat(data.type.dtype) &&
         !view.HasOperator(weight, "Concat");
}

std::vector<Sibling> ReadSiblings(const SiteMatch& match) {
  std::vector<Sibling> members;
  for (size_t i = 0; i < match.ops.size(); ++i) {
    const ClassId* classes = &match.classes[1 + 3 * i];
    const ClassId bias = match.numbers[i] != 0 ? classes[1] : ClassId();
    members.push_back({classes[2], classes[0], bias, match.ops[i]});
  }
  return members;
}

// Emits both selections of variants of a group, if they differ.
bool EmitVariants(const View& view, ClassId x, const std::vector<Sibling>& group,
                  const EmitFn& emit) {
  const std::vector<Sibling> first = OnePerBase(view, group, /*last=*/false);
  const std::vector<Sibling> last = OnePerBase(view, group, /*last=*/true);
  if (!Emit(x, first, emit)) return false;
  return SameRoots(first, last) || Emit(x, last, emit);
}

std::vector<ENodeId> ReadersOfWeights(const View& view, std::span<const ClassId> classes,
                                      egraph::KindId kind) {
  const egraph::EGraph& graph = view.graph();
  const ClassId x = graph.Find(classes[0]);
  std::set<ClassId> weights;
  for (size_t i = 1; i < classes.size(); i += 3) weights.insert(graph.Find(classes[i]));
  std::vector<ENodeId> readers;
  for (const ClassId weight : weights) {
    graph.store().ForEachUse(weight, [&](ENodeId enode, uint32_t position) {
      if (position != 1 || !graph.live(enode) || graph.kind(enode) != kind) return;
      if (graph.Find(graph.node(enode).children[0]) == x) readers.push_back(enode);
    });
  }
  std::ranges::sort(readers);
  return readers;
}

bool EmitThese(const View& view, std::span<const ClassId> classes,
               const std::vector<Sibling>& group, const EmitFn& emit) {
  const size_t count = (classes.size() - 1) / 3;
  if (count < 2 || count > kMaxSiblings) return true;
  const auto find = [&view](ClassId cls) { return view.graph().Find(cls); };
  using Member = std::array<ClassId, 3>;
  absl::flat_hash_map<Member, const Sibling*> by_classes;
  for (const Sibling& member : group) {
    const ClassId bias = member.bias.valid() ? member.bias : member.weight;
    by_classes.try_emplace({find(member.weight), find(bias), find(member.root)}, &member);
  }
  std::vector<Sibling> members;
  for (size_t i = 1; i + 2 < classes.size(); i += 3) {
    const auto found =
        by_classes.find({find(classes[i]), find(classes[i + 1]), find(classes[i + 2])});
    if (found == by_classes.end()) return true;
    members.push_back(*found->second);
  }
  return EmitGroup(classes[0], members, emit);
}

}  // namespace quotient::rules
