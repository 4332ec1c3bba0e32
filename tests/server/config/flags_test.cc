#include "server/config/flags.h"

#include <vector>

#include "tests/support/status_matchers.h"

namespace quotient::config {
namespace {

using ::quotient::testing::HasReason;
using ::testing::HasSubstr;

absl::StatusOr<ServerFlags> Parse(const std::vector<const char*>& arguments) {
  return ParseFlags(arguments);
}

TEST(FlagsTest, HaveDefaults) {
  ASSERT_OK_AND_ASSIGN(const ServerFlags flags, Parse({}));
  EXPECT_EQ(flags.listen, "127.0.0.1:7070");
  EXPECT_EQ(flags.workers, 1);
  EXPECT_FALSE(flags.allow_remote);
  EXPECT_EQ(flags.max_bytes_per_client, 0);
}

TEST(FlagsTest, TakeValuesInBothForms) {
  ASSERT_OK_AND_ASSIGN(
      const ServerFlags flags,
      Parse({"--listen", "[::1]:0", "--workers=3", "--allow-remote", "--no-precedence",
             "--data-dir=a=b", "--port-file=", "--max-bytes-per-client", "5000000000"}));
  EXPECT_EQ(flags.listen, "[::1]:0");
  EXPECT_EQ(flags.workers, 3);
  EXPECT_TRUE(flags.allow_remote);
  EXPECT_TRUE(flags.no_precedence);
  EXPECT_EQ(flags.data_dir, "a=b");
  EXPECT_EQ(flags.port_file, "");
  EXPECT_EQ(flags.max_bytes_per_client, 5'000'000'000);
}

TEST(FlagsTest, MistakesAreNamed) {
  EXPECT_THAT(Parse({"--lisen", "x"}), HasReason(Reason::kOptionInvalid, HasSubstr("--lisen")));
  EXPECT_THAT(Parse({"listen"}), HasReason(Reason::kOptionInvalid, HasSubstr("listen")));
  EXPECT_THAT(Parse({"--listen"}), HasReason(Reason::kOptionInvalid, HasSubstr("needs a value")));
  EXPECT_THAT(Parse({"--help=yes"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--workers", "many"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--workers", "0"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--max-blob-bytes", "-1"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--max-bytes-per-client", "9223372036854775808"}),
              HasReason(Reason::kOptionInvalid, HasSubstr("--max-bytes-per-client")));
  // Would be none at all as a 32-bit number.
  EXPECT_THAT(Parse({"--max-queued-jobs", "4294967296"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--spare-seconds", "0"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--tidy-seconds", "9223372036854775807"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--max-transfers", "5000"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--log-level", "loud"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse({"--metrics-listen", "127.0.0.1:9464,0.0.0.0:9465"}),
              HasReason(Reason::kOptionInvalid, HasSubstr("--metrics-listen")));
  EXPECT_THAT(Parse({"--status-page", "yes"}),
              HasReason(Reason::kOptionInvalid, HasSubstr("local, on or off")));
}

TEST(FlagsTest, HelpNamesEveryFlag) {
  EXPECT_THAT(FlagsHelp(), HasSubstr("--metrics-listen HOST:PORT"));
  EXPECT_THAT(FlagsHelp(), HasSubstr("default 127.0.0.1:7070\n"));
  EXPECT_THAT(FlagsHelp(), HasSubstr("at once, default 1\n"));
}

}  // namespace
}  // namespace quotient::config
