"""deploy/cmake/batches.py: which names of a source are local, which sources are kept apart."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CMAKE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "cmake"
sys.path.insert(0, str(CMAKE))
import batches


def source(text, namespace="a"):
    return batches.Source(f"namespace {namespace} {{\n{text}\n}}  // namespace {namespace}\n")


def unnamed(text, rest="", namespace="a"):
    return source(f"namespace {{\n{text}\n}}  // namespace\n{rest}", namespace)


class LocalNamesTest(unittest.TestCase):
    def test_every_kind_of_declaration_is_seen(self):
        for text, names in [
                ("int Count(const std::vector<int>& xs, int from = 0) { return xs[from]; }", {"Count"}),
                ("std::map<int, std::string> Names();", {"Names"}),
                ("template <typename T, int kSize>\nbool Is(T x) { if (x) { return kSize; } return false; }",
                 {"Is"}),
                ("struct Row {\n  int Size() const { return size; }\n  int size = 0;\n};", {"Row"}),
                ("class Reader : public Base {\n  void Read();\n};\nvoid Reader::Read() {}", {"Reader"}),
                ("enum class Kind { kOne, kTwo };", {"Kind"}),
                ("constexpr char kText[] = R\"(struct Not { int x; };)\";", {"kText"}),
                ("constexpr Row kRows[] = {{1, 2}, {3, 4}};\nconst int kMost{3};", {"kRows", "kMost"}),
                ("thread_local int depth;\nint total = 0;", {"depth", "total"}),
                ("using Ids = std::vector<int>;\nusing model::Graph;", {"Ids", "Graph"}),
                ("#define QUOTIENT_ROW(x) \\\n  int x;\nint y;  // int z;\n/* int w; */", {"y"}),
                ("const char quote = '\"';\nint behind = 1'000;", {"quote", "behind"}),
                ("auto Twice = [](int x) { return 2 * x; };\nint last;", {"Twice", "last"})]:
            with self.subTest(text=text):
                self.assertEqual(names, unnamed(text).local)

    def test_what_others_may_call_is_not_local(self):
        self.assertEqual(set(), source("int Count(int x) { return x; }\nint Row::Size() { return 0; }").local)
        self.assertEqual({"Count", "Id"},
                         source("static int Count() { return 0; }\nusing b::Id;").local)


class ClashTest(unittest.TestCase):
    def test_a_local_name_may_not_occur_in_another_source(self):
        one = unnamed("int Cost(int x) { return x; }")
        self.assertTrue(batches.clash(one, unnamed("long Cost(long x) { return x; }")))
        # A call of a function that a header declares would find the local one.
        self.assertTrue(batches.clash(one, source("int Both() { return Cost(1.0); }")))
        self.assertTrue(batches.clash(source("int Both() { return Cost(1.0); }"), one))

    def test_names_with_something_before_them_are_others(self):
        one = unnamed("int Cost(int x) { return x; }")
        self.assertFalse(batches.clash(one, source("int F(const T& t) { return t.Cost() + b::Cost(1); }")))
        self.assertFalse(batches.clash(one, source('// Cost\nconst char* F() { return "Cost"; }')))

    def test_only_enclosing_namespaces_matter(self):
        one = unnamed("int Cost(int x) { return x; }", namespace="a")
        other = "int F() { return Cost(1); }"
        self.assertFalse(batches.clash(one, source(other, "b")))
        self.assertFalse(batches.clash(one, source(other, "ab")))
        self.assertTrue(batches.clash(one, source(other, "a::b")))

    def test_the_same_using_declaration_is_allowed(self):
        one = unnamed("using model::Graph;\nGraph Make();")
        self.assertFalse(batches.clash(one, unnamed("using model::Graph;\nGraph Copy();")))
        self.assertTrue(batches.clash(one, unnamed("using other::Graph;")))
        self.assertTrue(batches.clash(one, source("void F(const Graph&);")))


class BatchesTest(unittest.TestCase):
    def test_a_source_joins_the_first_batch_where_it_fits(self):
        a, b, c = (unnamed(f"int {name}() {{ return 0; }}") for name in ("Cost", "Cost", "Other"))
        self.assertEqual([0, 1, 0], batches.batches_of([a, b, c]))

    def test_batches_are_bounded(self):
        large = source("// " + "x" * (batches.MAX_BYTES // 2))
        self.assertEqual([0, 1, 2], batches.batches_of([large, large, large]))

    def test_prints_a_number_per_source(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.cc", "b.cc"):
                pathlib.Path(folder, name).write_text("namespace { int x; }\n")
            ran = subprocess.run([sys.executable, CMAKE / "batches.py", "a.cc", "b.cc"], cwd=folder,
                                 capture_output=True, text=True, check=True)
            self.assertEqual("0\n1\n", ran.stdout)


if __name__ == "__main__":
    unittest.main()
