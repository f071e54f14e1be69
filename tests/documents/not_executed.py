# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of the documents that this test does not run, and who does.

An entry is a pattern of the whole command. One that no document uses any more
fails the test Documents.all.
"""

import re

NOT_EXECUTED = {
    r"\./run demo( --\w+)?": "the tests Demo.* and GroupDemo.* run what it runs; tests/install/fresh_machine.sh the command",
    r"\./run test( .*)?": "is what runs this test",
    r"\./run build( .*)?": ".ci/run builds the same presets by `./run test`",
    r"\./run lint( .*)?": ".ci/run runs it",
    r"\./run fuzz( .*)?": ".ci/run runs it",
    r"\./run bench( .*)?": "the tests Bench.* run what it runs, for a moment",
    r"\./run soak( .*)?": "the test Soak.share runs a share of it",
    r"\./run load( .*)?": "the test Load.share runs a share of it",
    r"build/dev/tests/fault/group/group_soak --check .*": "is for what a failed soak has left",
    r"(LOSSSCALER_FILES=\S+ )?docker-compose .*": "needs a Docker engine: the test Deploy.compose resolves the same files",
    r"(install -d|for file in .*; do install) -o 0 -g 10001 .*": "needs root",
    r"curl --silent http://127\.0\.0\.1:9090/.*": "needs a Docker engine, and images of others",
    r"lossscalerctl --address scaler\.example\.org:50551 .*": "needs a Docker engine: tests of the server have the same flags and files",
    r"docker (build|run|inspect|logs|stop|rm|volume rm) .*": "needs a Docker engine: docker/test-image.sh does the same, by hand",
    r"sqlite3 .*docker volume inspect .*": "needs a Docker engine: docker/test-image.sh does the same, by hand",
    r"bash \.ci/run": "runs this test",
    r"bash tests/install/fresh_machine\.sh .*": "is run by hand before a release: it needs root and debootstrap",
    r"cmake --preset dev && .*": "`./run test` does the same in this order",
    r"build/dev/tests/\w+_test .*": "the programs are run by this run of ctest",
    r"\./run install .*": "the test Install.package installs into a temporary prefix",
    r"cmake -G Ninja -B build .*-DCMAKE_PREFIX_PATH=PREFIX": "the test Install.package runs this line",
    r"cmake --build build": "the test Install.package runs this line",
    r"build/quickstart": "the test Install.package runs this line",
    r"PREFIX/bin/lossscalerctl .*": "the test Install.package runs this line",
    r"export PKG_CONFIG_PATH=PREFIX/.*": "the test Install.package runs this line",
    r"g\+\+ .* lossscaler-client\)": "the test Install.package runs this line",
    r"\./quickstart": "the test Install.package runs this line",
    r"LOSSSCALER_DEMO_STATE=\S+ \./run demo --solo .*": "the test Demo.kill does the same",
    r"(?s)helm (install|upgrade) .*": "needs a cluster; the test Deploy.helm_document renders the chart with its values",
    r"helm (test|rollback) .*": "needs a cluster",
    r"sed -i .*kubectl .*": "needs a cluster",
    r"kubectl .*": "needs a cluster; the test Deploy.helm_document looks for what it names",
    r"bash docker/kubernetes/render\.sh .*": "the test Deploy.helm_manifest runs it, and compares",
    r"kill -9 .*lossscalerd\.pid.*": "the test Demo.kill does the same",
    r"build/release/server/lossscalerd .*": "the test Demo.kill does the same",
}


def find(command):
    for pattern in NOT_EXECUTED:
        if re.fullmatch(pattern, command):
            return pattern
    return None
