// Chains of a few e-nodes, read link by link.

#include "core/egraph/node_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/egraph/trail.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodeStoreTest : public ::testing::Test {
 protected:
  // Makes classes 0, 1, .. up to `count`.
  void AddClasses(int count) {
    for (int i = 0; i < count; ++i) store_.AddClass();
  }

  // The operator word is the kind, plus 100.
  ENodeId Add(uint32_t cls, const std::vector<uint32_t>& children, uint32_t kind = 0) {
    std::vector<ClassId> ids;
    for (const uint32_t child : children) ids.emplace_back(child);
    return store_.Add(OpId(kind + 100), ids, ClassId(cls), KindId(kind), /*epoch=*/7);
  }

  std::vector<uint32_t> Members(uint32_t cls) const {
    std::vector<uint32_t> members;
    store_.ForEachMember(ClassId(cls), [&](ENodeId id) { members.push_back(id.value()); });
    return members;
  }
  // "e-node:position" for each use.
  std::vector<std::string> Uses(uint32_t cls) const {
    std::vector<std::string> uses;
    store_.ForEachUse(ClassId(cls), [&](ENodeId id, uint32_t position) {
      uses.push_back(absl::StrCat(id.value(), ":", position));
    });
    return uses;
  }
  std::vector<uint32_t> Children(ENodeId id) const {
    std::vector<uint32_t> children;
    for (const ClassId child : store_.children(id)) children.push_back(child.value());
    return children;
  }
  const ClassRow& RowOf(uint32_t cls) const { return store_.class_row(ClassId(cls)); }

  Trail trail_;
  NodeStore store_{&trail_};
};

TEST_F(NodeStoreTest, ANewClassIsEmpty) {
  AddClasses(1);
  EXPECT_EQ(store_.num_nodes(), 0u);
  EXPECT_THAT(Members(0), IsEmpty());
  EXPECT_THAT(Uses(0), IsEmpty());
  EXPECT_EQ(RowOf(0).weight(), 0u);
  EXPECT_FALSE(RowOf(0).leaves_only());
}

TEST_F(NodeStoreTest, AnENodeHoldsWhatWasAdded) {
  AddClasses(3);
  const ENodeId node = Add(2, {1, 0}, 5);
  EXPECT_EQ(store_.num_nodes(), 1u);
  const Row& row = store_.row(node);
  EXPECT_EQ(row.op(), OpId(105));
  EXPECT_EQ(row.cls, ClassId(2));
  EXPECT_EQ(row.changed_at, 7u);
  EXPECT_TRUE(row.live());
  EXPECT_TRUE(row.Holds(Row::Key(OpId(105), 2), ClassId(1), ClassId(0)));
  EXPECT_FALSE(row.Holds(Row::Key(OpId(105), 2), ClassId(0), ClassId(1)));
}

// Up to two children are in the row, more are listed.
TEST_F(NodeStoreTest, ChildrenAreReadBackHoweverManyThereAre) {
  AddClasses(5);
  const std::vector<std::vector<uint32_t>> lists = {{}, {3}, {3, 1}, {3, 1, 3}, {4, 3, 2, 1, 0}};
  std::vector<ENodeId> nodes;
  for (const auto& list : lists) nodes.push_back(Add(0, list));
  for (size_t i = 0; i < lists.size(); ++i) {
    EXPECT_EQ(Children(nodes[i]), lists[i]) << i;
    EXPECT_EQ(store_.row(nodes[i]).listed(), lists[i].size() > 2) << i;
  }
}

TEST_F(NodeStoreTest, TheNewestMemberAndTheNewestUseComeFirst) {
  AddClasses(3);
  Add(0, {});
  Add(0, {1});
  Add(2, {1, 0});
  EXPECT_THAT(Members(0), ElementsAre(1, 0));
  EXPECT_THAT(Uses(1), ElementsAre("2:0", "1:0"));
  EXPECT_THAT(Uses(0), ElementsAre("2:1"));
  EXPECT_EQ(RowOf(0).weight(), 3u) << "two members and a use";
}

TEST_F(NodeStoreTest, AChildThatIsThereTwiceIsUsedTwice) {
  AddClasses(2);
  Add(1, {0, 0});
  Add(1, {0, 1, 0, 0});
  EXPECT_THAT(Uses(0), ElementsAre("1:3", "1:2", "1:0", "0:1", "0:0"));
  EXPECT_THAT(Uses(1), ElementsAre("1:1"));
}

TEST_F(NodeStoreTest, TheSetsOfKindsSayWhatTheChainsHave) {
  AddClasses(3);
  Add(0, {}, 3);
  EXPECT_EQ(RowOf(0).member_kinds, ClassRow::kLeafBit) << "leaves have no kind there";
  Add(1, {0, 2}, 3);
  EXPECT_EQ(RowOf(1).member_kinds, ClassRow::MemberBit(KindId(3)));
  EXPECT_EQ(RowOf(0).use_kinds, ClassRow::UseBit(KindId(3), 0));
  EXPECT_EQ(RowOf(2).use_kinds, ClassRow::UseBit(KindId(3), 1));
  EXPECT_NE(RowOf(0).use_kinds, RowOf(2).use_kinds);
}

TEST_F(NodeStoreTest, TheKeptClassComesFirstInJoinedChains) {
  AddClasses(3);
  Add(0, {}, 1);
  Add(0, {2}, 2);
  Add(1, {}, 1);
  Add(1, {2}, 3);
  Add(2, {0, 1, 1}, 4);
  Add(2, {0}, 5);
  store_.Join(ClassId(0), ClassId(1));
  EXPECT_THAT(Members(0), ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(Uses(0), ElementsAre("5:0", "4:0", "4:2", "4:1"));
  EXPECT_EQ(RowOf(0).weight(), 8u);
  EXPECT_EQ(RowOf(0).member_kinds,
            ClassRow::kLeafBit | ClassRow::MemberBit(KindId(2)) | ClassRow::MemberBit(KindId(3)));
  EXPECT_EQ(RowOf(0).use_kinds, ClassRow::UseBit(KindId(4), 0) | ClassRow::UseBit(KindId(4), 1) |
                                    ClassRow::UseBit(KindId(5), 0));
  // What is added later still comes first, and the absorbed links are found between their ends.
  Add(0, {});
  EXPECT_THAT(Members(0), ElementsAre(6, 1, 0, 3, 2));
  std::vector<std::string> absorbed;
  store_.ForEachUseBetween(RowOf(1).first_use, RowOf(1).last_use, [&](UseId use) {
    absorbed.push_back(absl::StrCat(store_.NodeOf(use).value(), ":", store_.PositionOf(use)));
  });
  EXPECT_THAT(absorbed, ElementsAre("4:2", "4:1"));
}

TEST_F(NodeStoreTest, AnEmptyChainJoinsOnEitherSide) {
  AddClasses(4);
  Add(1, {3});
  Add(1, {});
  store_.Join(ClassId(0), ClassId(1));
  EXPECT_THAT(Members(0), ElementsAre(1, 0));
  store_.Join(ClassId(0), ClassId(2));
  EXPECT_THAT(Members(0), ElementsAre(1, 0));
  EXPECT_THAT(Uses(0), IsEmpty());
  store_.Join(ClassId(0), ClassId(3));
  EXPECT_THAT(Members(0), ElementsAre(1, 0));
  EXPECT_THAT(Uses(0), ElementsAre("0:0"));
  // The ends are right, too: a further class goes behind them.
  Add(2, {2});
  store_.Join(ClassId(0), ClassId(2));
  EXPECT_THAT(Members(0), ElementsAre(1, 0, 2));
  EXPECT_THAT(Uses(0), ElementsAre("0:0", "2:0"));
}

TEST_F(NodeStoreTest, AClassThatAbsorbsOneOfLeavesOnlyIsOneToo) {
  AddClasses(2);
  Add(0, {});
  Add(1, {0});
  store_.SetLeavesOnly(ClassId(1));
  store_.CountDuplicate(ClassId(0));
  store_.CountDuplicate(ClassId(1));
  store_.Join(ClassId(0), ClassId(1));
  EXPECT_EQ(RowOf(0).duplicates, 2u);
  EXPECT_TRUE(RowOf(0).leaves_only());
  EXPECT_EQ(RowOf(0).weight(), 3u);
}

TEST_F(NodeStoreTest, HiddenMembersStayInTheChainsButAreNotLive) {
  AddClasses(2);
  Add(0, {});
  const ENodeId node = Add(0, {1}, 3);
  store_.Hide(node);
  store_.NoteHidden(ClassId(0));
  EXPECT_THAT(Members(0), ElementsAre(1, 0));
  EXPECT_FALSE(store_.row(node).live());
  EXPECT_FALSE(store_.row(node).duplicate());
  EXPECT_EQ(store_.row(node).key(), Row::Key(OpId(103), 1)) << "is still found by its content";
  EXPECT_EQ(RowOf(0).member_kinds, ClassRow::kLeafBit);
}

TEST_F(NodeStoreTest, ReplacedChildrenLeaveTheLinksAsTheyAre) {
  AddClasses(4);
  const ENodeId in_row = Add(3, {0, 1}), listed = Add(3, {0, 1, 2});
  const auto one_for_zero = [](ClassId id) { return id == ClassId(0) ? ClassId(1) : id; };
  store_.SetChildren(in_row, one_for_zero);
  store_.SetChildren(listed, one_for_zero);
  EXPECT_THAT(Children(in_row), ElementsAre(1, 1));
  EXPECT_THAT(Children(listed), ElementsAre(1, 1, 2));
  EXPECT_THAT(Uses(0), ElementsAre("1:0", "0:0"));
  EXPECT_THAT(Uses(1), ElementsAre("1:1", "0:1"));
}

TEST_F(NodeStoreTest, ThereIsRoomForSmallWordsOnly) {
  EXPECT_TRUE(store_.HasRoom(OpId((1u << Row::kOpBits) - 1), 2));
  EXPECT_FALSE(store_.HasRoom(OpId(1u << Row::kOpBits), 2));
  EXPECT_TRUE(store_.HasRoom(OpId(0), UseId::kListed - 2));
  EXPECT_FALSE(store_.HasRoom(OpId(0), UseId::kListed - 1));
}

TEST_F(NodeStoreTest, DuplicatesAreWorthDroppingWhenTheyAreMoreThanHalfAndNotFew) {
  AddClasses(2);
  for (int i = 0; i < 4; ++i) Add(0, {});
  for (int count = 1; count < 8; ++count) {
    EXPECT_FALSE(store_.CountDuplicate(ClassId(0))) << count << " are few";
  }
  EXPECT_TRUE(store_.CountDuplicate(ClassId(0)));
  for (int i = 0; i < 20; ++i) Add(1, {});
  for (int count = 1; count <= 10; ++count) {
    EXPECT_FALSE(store_.CountDuplicate(ClassId(1))) << count << " are not more than half";
  }
  EXPECT_TRUE(store_.CountDuplicate(ClassId(1)));
}

// Whichever of four e-nodes are duplicates, the others stay in order, and the ends of the chains
// are right, so that the chains of a fifth e-node can be joined to them.
TEST_F(NodeStoreTest, DroppingDuplicatesKeepsTheRest) {
  constexpr uint32_t kFifth = 4;
  for (uint32_t dropped = 0; dropped < 16; ++dropped) {
    SCOPED_TRACE(dropped);
    const uint32_t first = store_.num_nodes();
    const ClassId cls(4 * dropped), used(cls.value() + 1);
    const ClassId other(cls.value() + 2), other_used(cls.value() + 3);
    AddClasses(4);
    std::vector<uint32_t> members;
    std::vector<std::string> uses;
    for (uint32_t i = 0; i < kFifth; ++i) {
      const uint32_t num_children = i % 2 == 0 ? 2 : 3;  // Some children are listed.
      const ENodeId node =
          store_.Add(OpId(i), std::vector<ClassId>(num_children, used), cls, KindId(0), 0);
      if ((dropped >> i & 1) != 0) {
        store_.MarkDuplicate(node);
        store_.CountDuplicate(cls);
        continue;
      }
      members.insert(members.begin(), node.value());
      for (uint32_t at = 0; at < num_children; ++at) {
        uses.insert(uses.begin(), absl::StrCat(node.value(), ":", at));
      }
    }
    store_.DropDuplicates(cls);
    store_.DropDuplicates(used);
    EXPECT_EQ(store_.class_row(cls).duplicates, 0u);
    EXPECT_EQ(Members(cls.value()), members);
    EXPECT_EQ(Uses(used.value()), uses);
    store_.Add(OpId(kFifth), std::vector<ClassId>{other_used}, other, KindId(0), 0);
    store_.Join(cls, other);
    store_.Join(used, other_used);
    members.push_back(first + kFifth);
    uses.push_back(absl::StrCat(first + kFifth, ":0"));
    EXPECT_EQ(Members(cls.value()), members);
    EXPECT_EQ(Uses(used.value()), uses);
  }
}

TEST_F(NodeStoreTest, ATrailUndoesEverything) {
  AddClasses(3);
  const ENodeId first = Add(0, {1, 2});
  Add(1, {0, 1, 2});
  const auto image = [this] {
    std::vector<std::vector<uint32_t>> words;
    for (const TrailedWords* array : trail_.arrays()) {
      words.emplace_back(array->words, array->words + size_t{array->size} * array->stride);
    }
    return words;
  };
  const auto before = image();
  trail_.Mark();
  AddClasses(1);
  Add(3, {0});
  Add(0, {1, 1, 3});
  store_.MarkDuplicate(first);
  store_.SetClass(first, ClassId(2));
  store_.SetChangedAt(first, 9);
  store_.Join(ClassId(0), ClassId(1));
  store_.CountDuplicate(ClassId(0));
  store_.DropDuplicates(ClassId(0));
  store_.SetLeavesOnly(ClassId(2));
  EXPECT_NE(image(), before);
  trail_.Rollback();
  EXPECT_EQ(image(), before);
}

}  // namespace
}  // namespace quotient::egraph
