"""The include lint finds what it should find, in a tree made for it, and nothing else."""

import pathlib
import tempfile
import unittest

import include_order


class IncludeOrderTest(unittest.TestCase):
    def check(self, files, lint=include_order.broken_edges):
        """Lints a tree of {path: source text}."""
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return list(lint(root))

    def assert_edge(self, path, text, reason):
        (edge,) = self.check({path: text})
        self.assertIn(f"{path}:", edge)
        self.assertIn(reason, edge)

    def test_accepts_downward_includes(self):
        self.assertEqual([], self.check({
            "core/rules/a.cc": '#include "core/egraph/b.h"\n#include "core/rules/a.h"\n#include <vector>',
            "core/kernels/onednn/a.cc": '#include <oneapi/dnnl/dnnl.hpp>\n#include "core/kernels/b.h"\n'
                                        '#include "core/kernels/cpu/c.h"',
            "core/kernels/cuda/source/a.cc": '#include "core/kernels/cuda/program/program.h"\n#include "core/kernels/b.h"',
            "core/kernels/cuda/program/program.h": '#include "core/kernels/cuda/interface/gpu.h"',
            "core/kernels/cuda/program/program_builder.h": '#include "core/kernels/cuda/program/program.h"',
            "core/onnx/reader.cc": "#include <onnx/onnx_pb.h>",
            "proto/wire/a.cc": '#include "core/base/a.h"\n#include "google/rpc/status.pb.h"',
            "core/eval/a.cc": '#include "core/onnx/a.h"',
            "server/worker/a.cc": '#include "core/optimize/a.h"\n#include "server/jobs/a.h"',
            "server/rpc/a.cc": '#include "quotient/v1/job.pb.h"\n#include <grpcpp/grpcpp.h>',
            "server/main.cc": '#include "server/ops/a.h"',
            "server/store/disk/a.cc": '#include "server/jobs/a.h"\n#include "server/store/disk/a.h"',
            "client/cli/main.cc": '#include "client/cpp/a.h"\n#include "core/model/a.h"',
            "tests/core/model/a_test.cc": '#include "core/optimize/a.h"\n#include <onnx/checker.h>\n'
                                          '#include "tests/support/networks/a.h"',
            "tests/client/cli/a_test.cc": '#include "tests/server/support/a.h"',
        }))

    def test_names_file_and_line_of_an_upward_include(self):
        edges = self.check({"core/base/a.cc": '#include <map>\n\n#include "core/model/graph.h"\n'})
        self.assertEqual(
            ['core/base/a.cc:3: includes "core/model/graph.h": core/base comes before core/model'],
            edges)

    def test_core_knows_no_other_top_folder(self):
        self.assert_edge("core/base/a.cc", '#include "server/jobs/a.h"', "core may not include server")
        self.assert_edge("core/base/a.cc", '#include "quotient/v1/a.pb.h"', "core may not include proto")
        self.assert_edge("core/base/a.cc", '#include "quotient/other/v1/a.pb.h"', "core may not include proto")

    def test_client_knows_no_server(self):
        self.assert_edge("client/cpp/a.cc", '#include "server/jobs/a.h"', "client may not include server")

    def test_interfaces_do_not_know_their_stores(self):
        self.assert_edge("server/jobs/a.h", '#include "server/store/a.h"', "comes before server/store")

    def test_libraries_are_confined(self):
        self.assert_edge("core/kernels/a.cc", '#include "dnnl.hpp"', "oneDNN")
        self.assert_edge("core/model/a.cc", "#include <onnx/onnx_pb.h>", "ONNX")
        self.assert_edge("core/base/a.cc", "#include <grpcpp/grpcpp.h>", "gRPC")
        self.assert_edge("server/jobs/a.cc", "#include <sqlite3.h>", "SQLite")

    def test_files_above_the_folders_are_not_included(self):
        self.assert_edge("server/ops/a.cc", '#include "server/wiring.h"', "comes before server")

    def test_a_folder_comes_before_its_subfolders_where_the_order_says_so(self):
        self.assert_edge("core/kernels/a.cc", '#include "core/kernels/cpu/a.h"', "comes before core/kernels/cpu")
        self.assert_edge("core/kernels/cpu/a.cc", '#include "core/kernels/onednn/a.h"',
                         "core/kernels/cpu comes before core/kernels/onednn")

    def test_folders_that_stand_side_by_side_do_not_know_each_other(self):
        self.assert_edge("server/store/disk/a.cc", '#include "server/store/sqlite/a.h"', "side by side")
        self.assert_edge("core/kernels/onednn/a.cc", '#include "core/kernels/cuda/a.h"', "side by side")

    def test_a_folder_comes_after_its_subfolders_where_the_order_says_so(self):
        self.assert_edge("core/kernels/cuda/interface/gpu.h", '#include "core/kernels/cuda/lower.h"',
                         "core/kernels/cuda/interface comes before core/kernels/cuda/lower.h")
        self.assert_edge("core/kernels/cuda/source/a.cc", '#include "core/kernels/cuda/lower.h"',
                         "core/kernels/cuda/source comes before")
        self.assert_edge("core/kernels/cuda/plugin/a.cc", '#include "core/kernels/cuda/program/program.h"',
                         "core/kernels/cuda/plugin comes before")

    def test_tests_have_the_order_of_what_they_test(self):
        self.assert_edge("tests/core/model/a_test.cc", '#include "tests/core/onnx/a.h"',
                         "tests/core/model comes before tests/core/onnx")
        self.assert_edge("tests/support/a.h", '#include "tests/core/base/a.h"',
                         "tests/support comes before tests/core")
        self.assert_edge("tests/server/store/a_test.cc", '#include "tests/client/cpp/a.h"',
                         "tests/server comes before tests/client")

    def test_refuses_folders_without_a_place(self):
        self.assert_edge("core/misc/a.cc", "", "misc is not in the order of core")
        self.assert_edge("server/store/redis/a.cc", "", "redis is not in the order of server/store")
        self.assert_edge("core/model/new/a.cc", "", "new is not in the order of core/model")

    def test_subdirectories_are_added_in_the_order(self):
        misplaced = include_order.misplaced_subdirectories
        self.assertEqual([], self.check({
            "core/CMakeLists.txt": "add_subdirectory(base)\nadd_subdirectory(model)\n",
            "core/kernels/CMakeLists.txt": "add_subdirectory(onednn)\nadd_subdirectory(cuda)\n",
            "tests/CMakeLists.txt": "add_subdirectory(lint)\nadd_subdirectory(core)\n",
        }, misplaced))
        (line,) = self.check({"core/CMakeLists.txt": "add_subdirectory(model)\nadd_subdirectory(base)\n"},
                             misplaced)
        self.assertIn("core/CMakeLists.txt: base comes before model", line)

    def test_refuses_relative_includes(self):
        (edge,) = self.check({"core/base/a.cc": '#include "a.h"', "core/base/a.h": ""})
        self.assertIn("core/base/a.cc:1", edge)
        self.assertIn("repository's root", edge)


if __name__ == "__main__":
    unittest.main()
