#include "server/store/disk/upload_table.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "tests/server/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace quotient::store {
namespace {

using ::testing::AllOf;
using testing::HasReason;
using ::testing::HasSubstr;

class UploadTableTest : public ::testing::Test {
 protected:
  // `content` stands for the blob, of `bytes` bytes. Returns the id of the upload.
  absl::StatusOr<std::string> Reserve(const std::string& client, absl::string_view content,
                                      int64_t bytes = 10) {
    const UploadState state{.blob = {Digest::Of(content), bytes}, .client = client};
    QUOTIENT_ASSIGN_OR_RETURN(const UploadTable::Reservation reservation,
                              table_.Reserve(absl::StrCat("id", ++last_id_), state, free_bytes_));
    given_up_ = reservation.given_up.value_or("");
    return reservation.id;
  }

  // Somebody goes on with an upload that may have lost its place.
  absl::Status GoOn(const std::string& id) {
    QUOTIENT_ASSIGN_OR_RETURN(const UploadTable::Reservation reservation,
                              table_.ReserveAgain(id, free_bytes_));
    given_up_ = reservation.given_up.value_or("");
    return table_.NoteNews(id);
  }

  testing::FakeClock clock_;
  int last_id_ = 0;
  int64_t free_bytes_ = 1000;
  std::string given_up_;  // For the last upload that got a place; empty if none was.
  UploadTable table_{{.max_open = 5,
                      .max_open_per_client = 3,
                      .max_open_per_blob = 2,
                      .idle_ms = 100,
                      .max_bytes_per_client = 500,
                      .rest_bytes = 100},
                     &clock_};
};

TEST_F(UploadTableTest, WhatIsReservedIsNotThereForOthers) {
  ASSERT_OK(Reserve("a", "x", 400));
  ASSERT_OK(Reserve("b", "y", 400));
  EXPECT_THAT(Reserve("c", "z", 200),
              HasReason(Reason::kQueueFull, AllOf(HasSubstr("other clients have reserved 800 of"),
                                                  HasSubstr("the 1000 bytes"))));
  EXPECT_OK(Reserve("c", "z", 150));
  EXPECT_EQ(table_.Load().open, 3);
  EXPECT_EQ(table_.Load().reserved_bytes, 950);
}

TEST_F(UploadTableTest, OneClientCannotReserveAllRoom) {
  EXPECT_THAT(Reserve("greedy", "x", 901),
              HasReason(Reason::kStorageDown,
                        AllOf(HasSubstr("1000 bytes for uploads, of which one may have 900"),
                              HasSubstr("needs 901"))));
  free_bytes_ = 500;
  ASSERT_OK(Reserve("greedy", "x", 200));
  EXPECT_THAT(Reserve("greedy", "y", 200),
              HasReason(Reason::kQuotaCalls, AllOf(HasSubstr("this client would reserve 400 of"),
                                                   HasSubstr("may have 375"))));
  EXPECT_OK(Reserve("other", "y", 100));
}

TEST_F(UploadTableTest, WhatIsOnTheDiskOrGivenUpIsNotReserved) {
  const std::string id = *Reserve("a", "x", 400);
  ASSERT_OK(Reserve("b", "y", 400));
  table_.SetCommitted(id, 300);
  free_bytes_ -= 300;
  EXPECT_EQ(table_.Load().reserved_bytes, 500);
  EXPECT_OK(Reserve("c", "z", 150));
  EXPECT_THAT(Reserve("d", "z", 100), HasReason(Reason::kQueueFull));
  table_.Remove(id);
  EXPECT_OK(Reserve("d", "z", 100));
}

TEST_F(UploadTableTest, OneClientCannotTakeAll) {
  for (const char* content : {"x", "y", "z"}) ASSERT_OK(Reserve("greedy", content));
  EXPECT_THAT(Reserve("greedy", "w"), HasReason(Reason::kQuotaCalls));
  EXPECT_OK(Reserve("other", "w"));
  ASSERT_OK(Reserve("third", "w"));
  EXPECT_OK(Reserve("fourth", "w"));
  EXPECT_OK(Reserve("fifth", "w"));
  EXPECT_THAT(Reserve("sixth", "w"), HasReason(Reason::kQueueFull)) << "each has one place";
  EXPECT_EQ(table_.Load().open, 5);
}

// The uploads of two clients that have taken all places.
class FullUploadTableTest : public UploadTableTest {
 protected:
  FullUploadTableTest() {
    for (const char* content : {"x", "y", "z"}) {
      ids_.push_back(*Reserve("a", content));
      clock_.AdvanceMs(1);
    }
    ids_.push_back(*Reserve("b", "x"));
    ids_.push_back(*Reserve("b", "y"));
  }

  std::vector<std::string> ids_;
};

TEST_F(FullUploadTableTest, TheLongestWithoutNewsOfWhoHasMostGivesWay) {
  EXPECT_OK(table_.NoteNews(ids_[0]));
  table_.SetCommitted(ids_[1], 4);
  table_.AddWriter(ids_[2], 1);
  EXPECT_OK(Reserve("c", "w", 20));
  EXPECT_EQ(given_up_, "") << "something came of it";
  EXPECT_THAT(table_.NoteNews(ids_[1]),
              HasReason(Reason::kQueueFull, HasSubstr("gave way to others")));
  for (int i : {0, 2, 3, 4}) EXPECT_OK(table_.NoteNews(ids_[i])) << i;
  EXPECT_EQ(table_.Load().open, 5);
  EXPECT_EQ(table_.Load().reserved_bytes, 60) << "what has no place reserves nothing";
  EXPECT_THAT(Reserve("b", "z"), HasReason(Reason::kQueueFull)) << "nobody has two more";
}

TEST_F(FullUploadTableTest, WhatLostItsPlaceGetsOneAgain) {
  table_.SetCommitted(ids_[0], 4);
  const std::string other = *Reserve("c", "w");
  EXPECT_THAT(GoOn(ids_[0]), HasReason(Reason::kQueueFull)) << "not from who got it";
  table_.Remove(other);
  EXPECT_OK(GoOn(ids_[0]));
  EXPECT_EQ(table_.Load().reserved_bytes, 46);
  EXPECT_OK(GoOn(ids_[0])) << "it has one now";
  EXPECT_EQ(table_.Load().open, 5);
}

TEST_F(FullUploadTableTest, WhatLostItsPlaceNeedsRoomAgain) {
  table_.SetCommitted(ids_[0], 4);
  const std::string other = *Reserve("c", "w");
  table_.Remove(other);
  free_bytes_ = 41;
  EXPECT_THAT(GoOn(ids_[0]), HasReason(Reason::kQueueFull, HasSubstr("other clients")));
}

TEST_F(FullUploadTableTest, OfWhatNothingCameIsGivenUp) {
  EXPECT_OK(Reserve("c", "w"));
  EXPECT_EQ(given_up_, ids_[0]);
  EXPECT_OK(table_.NoteNews(ids_[0])) << "the table does not know it any more";
}

TEST_F(FullUploadTableTest, WhatSomebodyWritesIsNotGivenUp) {
  table_.AddWriter(ids_[0], 1);
  for (int i : {1, 2}) EXPECT_OK(table_.NoteNews(ids_[i]));
  clock_.AdvanceMs(1);
  for (int i : {1, 2}) EXPECT_OK(table_.NoteNews(ids_[i]));
  EXPECT_OK(Reserve("c", "w"));
  EXPECT_EQ(given_up_, "");
  EXPECT_THAT(table_.NoteNews(ids_[0]), HasReason(Reason::kQueueFull));
}

TEST_F(FullUploadTableTest, UploadsWithoutPlaceCountForTheirClient) {
  table_.SetCommitted(ids_[0], 4);
  ASSERT_OK(Reserve("c", "w"));
  EXPECT_THAT(Reserve("a", "w"), HasReason(Reason::kQuotaCalls, HasSubstr("3 uploads")));
  EXPECT_EQ(table_.BytesOf("a", {}), 30);
}

// Else whoever has many addresses could have as many uploads as it likes.
TEST_F(UploadTableTest, OfTooManyWithoutPlaceTheLongestWithoutNewsIsGivenUp) {
  for (const char* const client : {"x", "y", "z"}) ASSERT_OK(Reserve(client, "w"));
  std::vector<std::string> without_place;
  for (int i = 0; i < 7; ++i) {
    const std::string many = absl::StrCat("many", i), few = absl::StrCat("few", i);
    without_place.push_back(*Reserve(many, "x"));
    clock_.AdvanceMs(1);
    const std::string kept = *Reserve(many, "y");
    table_.SetCommitted(without_place.back(), 1);
    ASSERT_OK_AND_ASSIGN(const std::string got, Reserve(few, "x"));
    EXPECT_EQ(given_up_, i < 5 ? "" : without_place[static_cast<size_t>(i - 5)]) << i;
    table_.Remove(kept);
    table_.Remove(got);
  }
  EXPECT_EQ(table_.Load().open, 3);
}

TEST_F(FullUploadTableTest, WhatAnEarlierProcessBeganBeyondThePlacesHasNone) {
  table_.Restore("old", {.blob = {Digest::Of("w"), 20}, .committed = 10, .client = "c"});
  EXPECT_EQ(table_.Load().open, 5);
  EXPECT_THAT(table_.NoteNews("old"), HasReason(Reason::kQueueFull));
  EXPECT_OK(GoOn("old"));
}

TEST_F(UploadTableTest, TheBytesOfOneClientAreLimited) {
  ASSERT_OK(Reserve("a", "x", 300));
  EXPECT_THAT(Reserve("a", "y", 201), HasReason(Reason::kQuotaCalls));
  EXPECT_OK(Reserve("a", "y", 200));
}

TEST_F(UploadTableTest, ASingleBlobMayBeLargerThanThat) {
  ASSERT_OK(Reserve("a", "x", 900));
  EXPECT_THAT(Reserve("a", "y", 10), HasReason(Reason::kQuotaCalls));
  EXPECT_OK(Reserve("b", "y", 75));
}

TEST_F(UploadTableTest, ASingleBlobWaitsForWhatOthersHaveReserved) {
  ASSERT_OK(Reserve("b", "y", 10));
  EXPECT_THAT(Reserve("a", "x", 900), HasReason(Reason::kQueueFull));
  EXPECT_OK(Reserve("a", "x", 890));
}

TEST_F(UploadTableTest, OnADiskWithoutTheRestASingleBlobStillHasItsShare) {
  free_bytes_ = 80;
  EXPECT_OK(Reserve("a", "x", 60));
  table_.Remove("id1");
  EXPECT_THAT(Reserve("a", "x", 61), HasReason(Reason::kStorageDown));
}

TEST_F(UploadTableTest, TheBytesOfAClientHaveEachOfItsBlobsOnce) {
  for (int i = 0; i < 2; ++i) ASSERT_OK(Reserve("a", "x", 20));
  ASSERT_OK(Reserve("a", "y", 10));
  ASSERT_OK(Reserve("b", "z", 40));
  EXPECT_EQ(table_.BytesOf("a", {}), 30);
  const BlobId except[] = {{Digest::Of("x"), 20}};
  EXPECT_EQ(table_.BytesOf("a", except), 10);
}

TEST_F(UploadTableTest, UploadsOfOneBlobAreGivenOutAgain) {
  const std::string first = *Reserve("a", "x"), second = *Reserve("a", "x");
  EXPECT_NE(first, second);
  table_.AddWriter(first, 1);
  clock_.AdvanceMs(100);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(*Reserve("a", "x"), second);
    EXPECT_THAT(Reserve("a", "x"), HasReason(Reason::kQuotaCalls));
    clock_.AdvanceMs(100);
  }
  EXPECT_EQ(table_.Load().open, 2);
  table_.AddWriter(second, 1);
  EXPECT_THAT(Reserve("a", "x"), HasReason(Reason::kQuotaCalls));
  EXPECT_OK(Reserve("b", "x"));
  table_.AddWriter(first, -1);
  clock_.AdvanceMs(100);
  EXPECT_EQ(*Reserve("a", "x"), first);
}

// Another program of the same client may be about to write to it.
TEST_F(UploadTableTest, AnUploadIsNotGivenOutAgainAtOnce) {
  const std::string first = *Reserve("a", "x");
  ASSERT_OK(Reserve("a", "x"));
  EXPECT_THAT(Reserve("a", "x"), HasReason(Reason::kQuotaCalls));
  clock_.AdvanceMs(99);
  table_.AddWriter(first, 1);
  table_.AddWriter(first, -1);
  clock_.AdvanceMs(1);
  EXPECT_NE(*Reserve("a", "x"), first);
}

TEST_F(UploadTableTest, WhatAnEarlierProcessBeganCounts) {
  table_.Restore("old", {.blob = {Digest::Of("x"), 800}, .committed = 100, .client = "a"});
  EXPECT_EQ(table_.Load().reserved_bytes, 700);
  EXPECT_THAT(Reserve("b", "y", 400), HasReason(Reason::kQueueFull));
}

}  // namespace
}  // namespace quotient::store
