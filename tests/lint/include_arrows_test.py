#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Made-up trees with one forbidden include each: it is found, and the allowed is not."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # The sources' folder stays as it is.
import include_arrows

CHECK = include_arrows.__file__

FORBIDDEN = (
    # core <- wire <- {server, client}
    ('lib/lossscaler/core/a.cc', '"lossscaler/wire/convert.h"'),
    ('lib/lossscaler/core/a.cc', '"lossscaler/sync/mutex.h"'),
    ('lib/lossscaler/core/a.cc', '"store/store.h"'),
    ('lib/lossscaler/core/a.cc', '"lossscaler/client/client.h"'),
    ('lib/lossscaler/sync/a.h', '"lossscaler/core/error.h"'),
    ('lib/lossscaler/wire/a.cc', '"sessions/session.h"'),
    ('lib/lossscaler/wire/a.cc', '"lossscaler/client/session.h"'),
    # core is pure
    ('lib/lossscaler/core/a.h', '"grpcpp/grpcpp.h"'),
    ('lib/lossscaler/core/a.h', '<grpc/grpc.h>'),
    ('lib/lossscaler/core/a.h', '"lossscaler/v1/scaler.pb.h"'),
    ('lib/lossscaler/core/a.h', '<google/protobuf/message.h>'),
    ('lib/lossscaler/core/a.h', '<chrono>'),
    ('lib/lossscaler/core/a.h', '"absl/time/clock.h"'),
    ('lib/lossscaler/core/a.h', '<thread>'),
    ('lib/lossscaler/core/a.h', '"absl/synchronization/mutex.h"'),
    ('lib/lossscaler/core/a.h', '<fstream>'),
    ('lib/lossscaler/core/a.h', '<filesystem>'),
    # wire has messages, but no stubs
    ('lib/lossscaler/wire/a.cc', '"lossscaler/v1/loss_scaler_service.grpc.pb.h"'),
    ('lib/lossscaler/wire/a.cc', '"grpcpp/support/status.h"'),
    # server and client are apart
    ('server/app.cc', '"lossscaler/client/client.h"'),
    ('server/rpc/a.cc', '"lossscaler/client/internal/stub.h"'),
    ('server/sessions/a.cc', '"lossscaler/client/gradient.h"'),
    ('client/lossscaler/client/internal/a.cc', '"ops/address.h"'),
    ('client/lossscaler/client/client.cc', '"sessions/limits.h"'),
    ('client/ctl/a.cc', '"store/store.h"'),
    ('client/ctl/a.cc', '"app.h"'),
    # rooms of the server
    ('server/sessions/a.cc', '"grpcpp/server_context.h"'),
    ('server/sessions/a.cc', '"lossscaler/v1/unscale.pb.h"'),
    ('server/sessions/a.cc', '"lossscaler/wire/convert.h"'),
    ('server/sessions/a.cc', '"rpc/translate.h"'),
    ('server/sessions/a.cc', '"store/sqlite_store.h"'),
    ('server/store/a.cc', '"grpcpp/grpcpp.h"'),
    ('server/store/a.cc', '"sessions/session.h"'),
    ('server/store/a.cc', '"ops/log.h"'),
    ('server/ops/call_gate.cc', '"grpcpp/grpcpp.h"'),
    ('server/ops/idle_watchdog.h', '"ops/reflection.h"'),
    ('server/ops/health_monitor.cc', '<grpcpp/health_check_service_interface.h>'),
    ('server/ops/a.cc', '"rpc/service.h"'),
    ('server/ops/a.cc', '"sessions/session.h"'),
    ('server/ops/a.cc', '"store/open_store.h"'),
    ('server/rpc/a.cc', '"store/memory_store.h"'),
    ('server/rpc/a.cc', '"app.h"'),
    ('server/rpc/a.cc', '<fstream>'),
    # the client
    ('client/lossscaler/client/a.h', '"lossscaler/client/internal/stub.h"'),
    ('client/lossscaler/client/a.h', '"lossscaler/client/internal/utf8.h"'),
    ('client/lossscaler/client/a.h', '"grpcpp/channel.h"'),
    ('client/lossscaler/client/a.h', '"lossscaler/v1/decision.pb.h"'),
    ('client/lossscaler/client/a.h', '"lossscaler/wire/status.h"'),
    ('client/lossscaler/client/a.cc', '"grpcpp/grpcpp.h"'),
    ('client/lossscaler/client/internal/unscale_pump.cc', '"grpcpp/grpcpp.h"'),
    ('client/lossscaler/client/internal/unscale_pump.h', '"lossscaler/client/internal/stub.h"'),
    ('client/lossscaler/client/internal/unscale_pump.h', '"lossscaler/client/internal/connection_impl.h"'),
    ('client/lossscaler/client/internal/session_state.cc', '"lossscaler/v1/unscale.pb.h"'),
    ('client/lossscaler/client/mocks/a.h', '"lossscaler/client/internal/stub.h"'),
    ('client/lossscaler/client/a.cc', '"ctl/commands.h"'),
    ('client/ctl/commands.cc', '"lossscaler/client/internal/stub.h"'),
    ('client/ctl/npy/a.cc', '"lossscaler/client/internal/unscale_plan.h"'),
    ('client/ctl/commands.cc', '"lossscaler/client/internal/call_credentials.h"'),
    ('client/ctl/commands.cc', '"grpcpp/grpcpp.h"'),
    ('client/ctl/health.cc', '"lossscaler/client/internal/connection_impl.h"'),
    ('client/examples/quickstart/main.cc', '"lossscaler/client/internal/stub.h"'),
    ('client/examples/digits_trainer/a.cc', '<grpcpp/grpcpp.h>'),
    ('client/lossscaler/client/internal/progress_meter.cc', '"grpcpp/grpcpp.h"'),
    # libraries of others
    ('client/lossscaler/client/session.h', '"Eigen/Core"'),
    ('client/lossscaler/client/internal/a.h', '<Eigen/Core>'),
    ('lib/lossscaler/core/unscale.h', '"Eigen/Core"'),
    ('server/rpc/a.cc', '"Eigen/Core"'),
    ('lib/lossscaler/core/loss_scaler_json.h', '"nlohmann/json.hpp"'),
    ('server/rpc/a.cc', '"nlohmann/json.hpp"'),
    ('server/sessions/a.cc', '<sqlite3.h>'),
    ('server/store/memory_store.cc', '<sqlite3.h>'),
    ('server/ops/log.h', '"spdlog/logger.h"'),
    ('server/ops/metrics.h', '"prometheus/registry.h"'),
    ('server/app.cc', '"prometheus/registry.h"'),
    ('server/ops/admin_pages.h', '"httplib.h"'),
    ('server/ops/settings.h', '"CLI/CLI.hpp"'),
    ('client/lossscaler/client/a.cc', '"CLI/CLI.hpp"'),
    ('server/ops/settings.h', '"toml++/toml.h"'),
    ('client/lossscaler/client/credentials.h', '<openssl/ssl.h>'),
    ('client/ctl/a.cc', '<zlib.h>'),
    # everywhere
    ('server/ops/a.cc', '"testing/temp_directory.h"'),
    ('client/ctl/a.cc', '"gtest/gtest.h"'),
    ('server/store/a.cc', '"../sessions/session.h"'),
    ('server/store/a.cc', '"store/../sessions/session.h"'),
)

ALLOWED = (
    ('lib/lossscaler/core/a.cc', '"lossscaler/core/error.h"'),
    ('lib/lossscaler/core/a.cc', '<vector>'),
    ('lib/lossscaler/core/a.cc', '"absl/time/time.h"'),
    ('lib/lossscaler/sync/mutex.h', '<mutex>'),
    ('lib/lossscaler/wire/a.cc', '"lossscaler/v1/scaler.pb.h"'),
    ('server/app.cc', '"rpc/service.h"'),
    ('server/store/a.cc', '"store/session_record.pb.h"'),
    ('server/sessions/a.cc', '"store/store.h"'),
    ('server/ops/reflection.h', '"grpcpp/impl/server_builder_option.h"'),
    ('server/rpc/a.cc', '"lossscaler/wire/convert.h"'),
    ('server/rpc/a.cc', '"grpcpp/support/server_callback.h"'),
    ('client/lossscaler/client/a.cc', '"lossscaler/client/internal/unscale_plan.h"'),
    ('client/lossscaler/client/internal/stub.cc', '"lossscaler/v1/loss_scaler_service.grpc.pb.h"'),
    ('client/lossscaler/client/internal/unscale_pump.h', '"lossscaler/client/internal/utf8.h"'),
    ('client/lossscaler/client/mocks/a.h', '"gmock/gmock.h"'),
    ('client/ctl/health.cc', '"lossscaler/client/internal/stub.h"'),
    ('client/ctl/connection_flags.cc', '"lossscaler/client/internal/local_address.h"'),
    ('client/ctl/npy/a.cc', '"lossscaler/client/internal/utf8.h"'),
    ('client/ctl/npy/a.cc', '<fstream>'),
    ('client/lossscaler/client/gradient.h', '"Eigen/Core"'),
    ('lib/lossscaler/core/unscale.cc', '"Eigen/Core"'),
    ('client/ctl/value_flags.h', '"CLI/CLI.hpp"'),
    ('server/ops/call_metrics.h', '"prometheus/registry.h"'),
    ('server/ops/admin_pages.cc', '"httplib.h"'),
    ('server/store/sqlite_connection.h', '<sqlite3.h>'),
    ('client/lossscaler/client/internal/a.cc', '<openssl/pem.h>'),
)


class IncludeArrows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = folder.name

    def write(self, path, *lines):
        path = os.path.join(self.checkout, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')

    def check(self):
        return subprocess.run([sys.executable, CHECK, self.checkout], text=True,
                              capture_output=True, check=False)

    def test_each_forbidden_include_is_found_where_it_stands(self):
        for path, include in FORBIDDEN:
            with self.subTest(path=path, include=include):
                told = include_arrows.violations_of(path, f'// The second line.\n#include {include}\n')
                self.assertEqual(len(told), 1, told)
                self.assertTrue(told[0].startswith(f'{path}:2: includes {include[1:-1]} ('), told)

    def test_what_the_design_lets_rooms_include_passes(self):
        for path, include in ALLOWED:
            with self.subTest(path=path, include=include):
                self.assertEqual(include_arrows.violations_of(path, f'#include {include}\n'), [])

    def test_a_clean_tree_is_told_in_one_line(self):
        self.write('lib/lossscaler/core/a.h', '#include <vector>')
        result = self.check()
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, 'includes: 1 files obey the arrows\n', ''))

    def test_an_include_is_found_however_it_is_spaced(self):
        self.write('lib/lossscaler/core/a.h', '  #  include<thread>')
        self.assertEqual(self.check().returncode, 1)

    def test_what_is_not_an_include_is_not_one(self):
        self.write('lib/lossscaler/core/a.h', '// #include <thread>', 'const char* a = "#include <thread>";')
        self.assertEqual(self.check().returncode, 0)

    def test_every_violation_is_told(self):
        self.write('lib/lossscaler/core/a.h', '#include <thread>', '#include <vector>', '#include <chrono>')
        self.write('server/store/a.cc', '#include "ops/log.h"')
        told = [line.split(': ')[0] for line in self.check().stdout.splitlines()]
        self.assertEqual(told, ['lib/lossscaler/core/a.h:1', 'lib/lossscaler/core/a.h:3',
                                'server/store/a.cc:1'])
        self.assertIn('3 against the arrows', self.check().stderr)

    def test_a_proto_imports_only_protos(self):
        self.write('proto/lossscaler/v1/a.proto', 'import "google/protobuf/any.proto";',
                   'import "lossscaler/v1/scaler.proto";')
        self.assertEqual(self.check().returncode, 0)
        self.write('proto/lossscaler/v1/a.proto', 'import "store/session_record.proto";')
        self.assertIn('proto/lossscaler/v1/a.proto:1: includes store/session_record.proto',
                      self.check().stdout)

    def test_a_file_in_no_room_is_found(self):
        self.write('server/metrics/a.cc', '#include <vector>')
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertIn('server/metrics/a.cc:1: belongs to no room', result.stdout)

    def test_a_build_folder_is_not_read(self):
        self.write('lib/lossscaler/core/a.h', '#include <vector>')
        self.write('client/examples/quickstart/build/CMakeFiles/a.cc', '#include "rpc/service.h"')
        self.assertEqual(self.check().stdout, 'includes: 1 files obey the arrows\n')

    def test_a_tree_without_sources_is_not_clean_but_wrong(self):
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertIn('no source file', result.stderr)


if __name__ == '__main__':
    unittest.main()
