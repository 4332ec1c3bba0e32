"""Stands in for rules_cc, which Bazel 4.2 fetches for any build."""

cc_library = native.cc_library
cc_binary = native.cc_binary
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
