// Timing stores in files.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "core/timing/record.h"
#include "core/timing/store.h"
#include "tests/core/timing/made_timing.h"
#include "tests/support/status_matchers.h"

namespace quotient::timing {
namespace {

using quotient::testing::HasReason;
using ::testing::ElementsAre;
using ::testing::Pair;

class FileStoreTest : public ::testing::Test {
 protected:
  FileStoreTest() : path_(::testing::TempDir() + "/timings." + std::to_string(getpid())) {
    Log().set_level(spdlog::level::err);  // damaged files are what we are here for
  }
  ~FileStoreTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<TimingStore> Open() {
    auto store = OpenFileStore(path_);
    EXPECT_OK(store);
    return store.ok() ? *std::move(store) : nullptr;
  }
  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void SetContent(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  const std::string path_;
};

TEST_F(FileStoreTest, RemembersWhatWasAdded) {
  {
    const auto store = Open();
    ASSERT_OK(store->Add("k", "f", Ok(5)));
    ASSERT_OK(store->Add("k2", "f", {TimingState::kUnsupported}));
  }
  const auto store = Open();
  EXPECT_EQ(store->Find("k", "f"), Ok(5));
  EXPECT_EQ(store->Find("k2", "f")->state, TimingState::kUnsupported);
  EXPECT_THAT(store->All("f"), ElementsAre(Pair("k", Ok(5)), Pair("k2", *store->Find("k2", "f"))));
}

TEST_F(FileStoreTest, TornTailIsDroppedWhereverItIsTorn) {
  ASSERT_OK(Open()->Add("first", "f", Ok(5)));
  const size_t one = Content().size();
  ASSERT_OK(Open()->Add("second", "f", Ok(6)));
  const std::string whole = Content();
  for (size_t size = one; size < whole.size(); ++size) {
    SetContent(whole.substr(0, size));
    const auto store = Open();
    EXPECT_EQ(store->Find("first", "f"), Ok(5));
    EXPECT_EQ(store->Find("second", "f"), std::nullopt) << size;
    ASSERT_OK(store->Add("third", "f", Ok(7)));
    const auto again = Open();
    EXPECT_EQ(again->Find("first", "f"), Ok(5));
    EXPECT_EQ(again->Find("third", "f"), Ok(7)) << size;
  }
}

TEST_F(FileStoreTest, FileTornInItsHeadStartsAnew) {
  for (size_t size = 0; size < kFileMagicSize; ++size) {
    SetContent(std::string(kFileMagic).substr(0, size));
    ASSERT_OK(Open()->Add("k", "f", Ok(size + 1)));
    EXPECT_EQ(Open()->Find("k", "f"), Ok(size + 1));
  }
}

TEST_F(FileStoreTest, FileOfAnOlderFormatStartsAnew) {
  SetContent("QTIMING1 and records without plans");
  ASSERT_OK(Open()->Add("k", "f", Ok(5)));
  EXPECT_EQ(Open()->Find("k", "f"), Ok(5));
  EXPECT_EQ(Content().substr(0, kFileMagicSize), kFileMagic);
}

TEST_F(FileStoreTest, RecordWithAFlippedByteIsPassedOver) {
  ASSERT_OK(Open()->Add("first", "f", Ok(5)));
  const size_t one = Content().size();
  ASSERT_OK(Open()->Add("second", "f", Ok(6)));
  ASSERT_OK(Open()->Add("third", "f", Ok(7)));
  std::string bytes = Content();
  bytes[one + 8 + 3] ^= 1;  // in the second record's payload
  SetContent(bytes);
  const auto store = Open();
  EXPECT_EQ(store->Find("first", "f"), Ok(5));
  EXPECT_EQ(store->Find("second", "f"), std::nullopt);
  EXPECT_EQ(store->Find("third", "f"), Ok(7));
}

// The checksum does not cover the length, and a wrong length may be possible.
TEST_F(FileStoreTest, OneFlippedBitCostsOneRecord) {
  ASSERT_OK(Open()->Add("first", "f", Ok(5)));
  const size_t begin = Content().size();
  ASSERT_OK(Open()->Add("second", "f", Ok(6)));
  const size_t end = Content().size();
  for (const char* const key : {"third", "fourth"}) ASSERT_OK(Open()->Add(key, "f", Ok(7)));
  const std::string whole = Content();
  for (size_t bit = 8 * begin; bit < 8 * end; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    SetContent(bytes);
    const auto store = Open();
    EXPECT_EQ(store->Find("first", "f"), Ok(5)) << bit;
    EXPECT_EQ(store->Find("second", "f"), std::nullopt) << bit;
    EXPECT_EQ(store->Find("third", "f"), Ok(7)) << bit;
    EXPECT_EQ(store->Find("fourth", "f"), Ok(7)) << bit;
    EXPECT_EQ(Content(), bytes) << "reading changes nothing";
  }
}

TEST_F(FileStoreTest, OneFlippedBitCostsOneRecordWhoeverWritesLater) {
  for (const char* const key : {"first", "second", "third"}) {
    ASSERT_OK(Open()->Add(key, "f", Ok(5)));
  }
  std::string bytes = Content();
  bytes[kFileMagicSize + 2] ^= 0x10;  // The first record seems to be longer than the file.
  SetContent(bytes);
  ASSERT_OK(Open()->Add("fourth", "f", Ok(6)));
  const auto store = Open();
  EXPECT_EQ(store->Find("first", "f"), std::nullopt);
  EXPECT_EQ(store->Find("second", "f"), Ok(5));
  EXPECT_EQ(store->Find("third", "f"), Ok(5));
  EXPECT_EQ(store->Find("fourth", "f"), Ok(6));
}

TEST_F(FileStoreTest, ATornTailStaysUntilSomebodyWrites) {
  for (const char* const key : {"first", "second"}) ASSERT_OK(Open()->Add(key, "f", Ok(5)));
  const std::string whole = Content();
  for (const std::string& torn : {whole.substr(0, whole.size() - 3), whole.substr(0, 4),
                                  std::string("QTIMING1 of an older version")}) {
    SetContent(torn);
    const auto store = Open();
    EXPECT_EQ(Content(), torn);
    ASSERT_OK(store->Add("second", "f", Ok(5)));
    EXPECT_EQ(Open()->Find("second", "f"), Ok(5));
  }
}

// Files may not grow beyond some size, as on a full disk, while this lives.
class FullDisk {
 public:
  explicit FullDisk(size_t bytes) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    handler_ = signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
  sighandler_t handler_;
};

TEST_F(FileStoreTest, OnAFullDiskTheFileStaysAsItIs) {
  const auto store = Open();
  ASSERT_OK(store->Add("first", "f", Ok(5)));
  const std::string before = Content();
  std::vector<absl::Status> failures;
  {
    const FullDisk full(before.size() + 20);  // A part of a record fits.
    for (const char* const key : {"second", "third"}) {
      failures.push_back(store->Add(key, "f", Ok(6)));
    }
  }
  for (const absl::Status& failure : failures) {
    EXPECT_THAT(failure, HasReason(Reason::kStorageDown));
    EXPECT_THAT(failure.message(), ::testing::HasSubstr(std::strerror(EFBIG)));
  }
  EXPECT_EQ(Content(), before);
  EXPECT_EQ(store->Find("second", "f"), Ok(6)) << "in memory it is";
  ASSERT_OK(store->Add("fourth", "f", Ok(7)));
  const auto again = Open();
  EXPECT_EQ(again->Find("first", "f"), Ok(5));
  EXPECT_EQ(again->Find("second", "f"), std::nullopt);
  EXPECT_EQ(again->Find("fourth", "f"), Ok(7));
}

TEST_F(FileStoreTest, GarbageBehindTheHeadDoesNoHarm) {
  Rng rng(4);
  for (int trial = 0; trial < 100; ++trial) {
    std::string garbage = kFileMagic;
    for (uint64_t i = rng.Below(200); i-- > 0;) garbage.push_back(static_cast<char>(rng.Next()));
    SetContent(garbage);
    ASSERT_OK(Open()->Add("k", "f", Ok(5)));
    EXPECT_EQ(Open()->Find("k", "f"), Ok(5));
  }
}

TEST_F(FileStoreTest, ForeignFileIsRefusedAndLeftAlone) {
  SetContent("a shopping list\n");
  EXPECT_THAT(OpenFileStore(path_), HasReason(Reason::kStorageDown));
  EXPECT_EQ(Content(), "a shopping list\n");
}

TEST_F(FileStoreTest, UnusablePathIsStorageDown) {
  EXPECT_THAT(OpenFileStore("/no/such/folder/timings"), HasReason(Reason::kStorageDown));
}

TEST_F(FileStoreTest, SeesWhatOthersAppendAfterItsOwnNextAdd) {
  const auto a = Open(), b = Open();
  ASSERT_OK(a->Add("from a", "f", Ok(1)));
  ASSERT_OK(b->Add("from b", "f", Ok(2)));
  EXPECT_EQ(b->Find("from a", "f"), Ok(1));
}

TEST_F(FileStoreTest, ThreadsAndProcessesAppendTogether) {
  constexpr int kWriters = 4, kRecords = 25;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      auto store = OpenFileStore(path_);
      bool good = store.ok();
      for (int i = 0; i < kRecords && good; ++i) {
        good = (*store)->Add(absl::StrCat("p", writer, " ", i), "f", Ok(i + 1)).ok();
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  {
    const auto store = Open();
    std::vector<std::jthread> threads;
    for (int writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([&store, writer] {
        for (int i = 0; i < kRecords; ++i) {
          EXPECT_OK(store->Add(absl::StrCat("t", writer, " ", i), "f", Ok(i + 1)));
        }
      });
    }
  }
  for (pid_t child : children) {
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto store = Open();
  for (int writer = 0; writer < kWriters; ++writer) {
    for (int i = 0; i < kRecords; ++i) {
      EXPECT_EQ(store->Find(absl::StrCat("p", writer, " ", i), "f"), Ok(i + 1));
      EXPECT_EQ(store->Find(absl::StrCat("t", writer, " ", i), "f"), Ok(i + 1));
    }
  }
}

// A process that adds records to a store until it is killed. After each it sends a word, by which
// it promises that the record will be found. It is never more than some hundred promises ahead of
// its reader, so that the file stays small.
class Writer {
 public:
  Writer(const std::string& path, std::string name) : name_(std::move(name)) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that fails leaves no process behind.
      auto store = OpenFileStore(path);
      bool good = store.ok();
      const uint64_t promise = 0;
      for (int i = 0; good; ++i) {
        good = (*store)->Add(Key(i), "f", Ok(i + 1)).ok() &&
               write(ends[1], &promise, sizeof(promise)) == sizeof(promise);
      }
      _exit(1);
    }
    close(ends[1]);
    promises_ = ends[0];
  }
  ~Writer() { close(promises_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Waits for so many more promises.
  void Await(uint64_t count) {
    while (count > 0 && ReadPromise()) --count;
    EXPECT_EQ(count, 0u) << name_ << " ended by itself";
  }
  void Kill() {
    EXPECT_EQ(kill(process_, SIGKILL), 0);
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_TRUE(WIFSIGNALED(status));
    while (ReadPromise()) {
    }
  }
  void ExpectPromisesAreKept(const TimingStore& store) const {
    for (int i = 0; i < promised_; ++i) EXPECT_EQ(store.Find(Key(i), "f"), Ok(i + 1)) << Key(i);
  }

 private:
  std::string Key(int i) const { return absl::StrCat(name_, " ", i); }
  bool ReadPromise() {
    uint64_t promise;
    ssize_t count;
    do count = read(promises_, &promise, sizeof(promise));
    while (count < 0 && errno == EINTR);
    promised_ += count == sizeof(promise) ? 1 : 0;
    return count == sizeof(promise);
  }

  const std::string name_;
  pid_t process_ = 0;
  int promises_ = 0;
  int promised_ = 0;
};

// Two processes share a file. One or the other is killed at any moment, and another one begins.
TEST_F(FileStoreTest, NothingThatWasAddedIsLostWhenProcessesAreKilled) {
  Rng rng(7);
  std::vector<std::unique_ptr<Writer>> all;
  const auto start = [&] {
    return all.emplace_back(std::make_unique<Writer>(path_, absl::StrCat("w", all.size()))).get();
  };
  Writer* writers[] = {start(), start()};
  for (int round = 0; round < 40; ++round) {
    Writer*& victim = writers[rng.Below(2)];
    victim->Await(1 + rng.Below(12));
    victim->Kill();
    victim = start();
  }
  for (Writer* const writer : writers) {
    writer->Await(1);
    writer->Kill();
  }
  const auto store = Open();
  for (const auto& writer : all) writer->ExpectPromisesAreKept(*store);
}

}  // namespace
}  // namespace quotient::timing
