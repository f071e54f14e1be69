#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every room of the house includes only what the design lets it.

    include_arrows.py CHECKOUT

Prints one line when all is well, and otherwise every violation as

    file:line: includes X: the rule; what to do

The arrows are core <- wire <- {server, client}, see "Rooms" in CONTRIBUTING.md; only
tests/ knows both ends and is not read. Imports of .proto files count as includes. A file
that no room claims is a violation as well, so that a new folder gets its rules here.
"""

import dataclasses
import functools
import os
import re
import sys

READ = ('proto', 'lib', 'server', 'client')
SUFFIXES = ('.h', '.cc', '.proto')
INCLUDE = re.compile(r'^\s*(?:#\s*include|import(?:\s+public)?)\s*[<"]([^>"]+)[>"]')



def pump():
    """The client's internals that thread sanitizer watches, as their build lists them."""
    lists = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../client/CMakeLists.txt')
    with open(lists, encoding='utf-8') as file:
        target = re.search(r'lossscaler_client_pump STATIC\s([^)]*)\)', file.read())
    compiled = re.findall(r'(lossscaler/client/internal/\w+)\.cc', target[1] if target else '')
    if not compiled:
        sys.exit('includes: client/CMakeLists.txt lists no internal sources of lossscaler_client_pump')
    return (*compiled, 'lossscaler/client/internal/step_state')  # A header alone.


PUMP = pump()

# What an include is of, by its spelling; the first pattern that fits counts (* within a
# folder, ** at any depth). What fits none (the rest of the standard library, Abseil, a
# room's own file without its folder) is free.
KINDS = (
    ('an upward path', '../**', '**/../**', './**'),
    ('core', 'lossscaler/core/**'),
    ('locks', 'lossscaler/sync/**'),
    ('wire', 'lossscaler/wire/**'),
    ('process settings', 'lossscaler/process/**'),
    ('gRPC', '**.grpc.pb.h', 'grpc/health/**', 'grpcpp/**', 'grpc/**', 'grpc++/**'),
    ('messages', 'lossscaler/v1/**', 'lossscaler/rpc/**', 'store/*.pb.h'),
    ('protobuf', 'google/protobuf/**'),
    ('the client channel', 'lossscaler/client/internal/stub.h',
     'lossscaler/client/internal/call_credentials.h',
     'lossscaler/client/internal/wire_status.h'),
    ('shared internals', 'lossscaler/client/internal/local_address.h',
     'lossscaler/client/internal/utf8.h'),
    ('the pump', *(path + '.h' for path in PUMP)),
    ('client internals', 'lossscaler/client/internal/**'),
    ('client mocks', 'lossscaler/client/mocks/**'),
    ('the client library', 'lossscaler/client/**'),
    ('lossscalerctl', 'ctl/**'),
    ('an example', 'digits_trainer/**', 'quickstart/**', 'sharded_trainer/**'),
    ('server wiring', 'app.h'),
    ('handlers', 'rpc/**'),
    ('the limits', 'sessions/limits.h'),
    ('what happens in sessions', 'sessions/session_observer.h'),
    ('sessions', 'sessions/**'),
    ('the store interface', 'store/store.h', 'store/journal.h'),
    ('the store', 'store/**'),
    ('gates and watchdogs', 'ops/call_gate.h', 'ops/health_monitor.h', 'ops/idle_watchdog.h', 'ops/refusal_pace.h',
     'ops/repeater.h'),
    ('operations', 'ops/**'),
    ('tests', 'testing/**', 'gtest/**', 'gmock/**', 'rapidcheck**'),
    ('clocks', 'chrono', 'ctime', 'time.h', 'sys/time.h', 'sys/timerfd.h', 'absl/time/clock.h'),
    ('threads', 'thread', 'mutex', 'shared_mutex', 'condition_variable', 'future', 'atomic',
     'semaphore', 'barrier', 'latch', 'stop_token', 'pthread.h', 'absl/synchronization/**'),
    ('files', 'fstream', 'filesystem', 'cstdio', 'stdio.h', 'fcntl.h', 'unistd.h',
     'sys/file.h', 'sys/stat.h', 'sys/mman.h'),
)

ADVICE = {
    'an upward path': 'spell the path from the folder of the target: "lossscaler/core/error.h"',
    'locks': 'leave locking to the caller',
    'wire': 'translate where messages come and go, in server/rpc/ or client internals',
    'process settings': 'only main() sets up its process',
    'gRPC': 'keep gRPC in server/rpc/ or client internals and hand over values or callables',
    'messages': 'take values of core; lib/lossscaler/wire/ translates',
    'protobuf': 'take values of core; lib/lossscaler/wire/ translates',
    'the client channel': 'go through the public API of the client library',
    'shared internals': 'go through the public API of the client library',
    'the pump': 'go through the public API of the client library',
    'client internals': 'go through the public API, or move the declaration into a public header',
    'client mocks': 'mocks are for tests',
    'the client library': 'only tests/ may know server and client',
    'lossscalerctl': 'move what is shared into the client library or into lib/',
    'an example': 'examples are leaves: nothing depends on them',
    'server wiring': 'app.* is the top of the server; pass what it knows downwards',
    'handlers': 'handlers are called, they are not a library; move what is shared below them',
    'the limits': 'take the limit as an argument',
    'what happens in sessions': 'only sessions, operations that observe them and the wiring know it',
    'sessions': 'only server/rpc/ and the wiring know sessions',
    'the store interface': 'only sessions, handlers and the wiring know the store',
    'the store': 'use the interface, store/store.h',
    'gates and watchdogs': 'only server/rpc/ and the wiring use them',
    'operations': 'take the setting as an argument, and let the wiring pass it',
    'tests': 'test code belongs below tests/',
    'clocks': 'take the time or the duration as an argument',
    'threads': 'be called from one thread, or guard with lossscaler/sync/mutex.h',
    'files': 'take the content as std::string_view and let the caller read files',
}


@dataclasses.dataclass(frozen=True)
class Room:
    """Files, and the kinds of includes that they may have beyond the free ones."""
    rule: str
    files: tuple
    may: frozenset


def room(rule, files, *may):
    return Room(rule, tuple(files), frozenset(may))


SYSTEM = ('clocks', 'threads', 'files')
ALL_SERVER = ('handlers', 'sessions', 'what happens in sessions', 'the limits', 'the store interface', 'the store',
              'gates and watchdogs', 'operations', 'server wiring')

# The first room with a fitting pattern claims a file.
ROOMS = (
    room('proto/ imports only its own files and google/protobuf',
         ['proto/**.proto'], 'messages', 'protobuf'),
    room('core is pure: no gRPC, protobuf, clocks, threads or files, and no other room',
         ['lib/lossscaler/core/**'], 'core'),
    room('sync knows nothing of the project',
         ['lib/lossscaler/sync/**'], 'locks', 'clocks', 'threads'),
    room('wire knows core and messages: no gRPC, and neither server nor client',
         ['lib/lossscaler/wire/**'], 'wire', 'core', 'messages', 'protobuf'),

    room('process settings know nothing of the project',
         ['lib/lossscaler/process/**'], 'process settings', 'threads'),

    room('the store knows core and messages: no gRPC, and no other room of the server',
         ['server/store/**'], 'the store', 'the store interface', 'core', 'locks', 'wire',
         'messages', 'protobuf', *SYSTEM),
    room('sessions hold locks around core: no gRPC, no messages, and only the interface of the store',
         ['server/sessions/**'], 'sessions', 'what happens in sessions', 'the limits', 'the store interface', 'core', 'locks',
         'clocks', 'threads'),
    room('gates and watchdogs hold locks: no gRPC, and no other room of the server',
         ['server/ops/call_gate.*', 'server/ops/health_monitor.*', 'server/ops/idle_watchdog.*',
          'server/ops/refusal_pace.*', 'server/ops/repeater.*'],
         'gates and watchdogs', 'the limits', 'core', 'locks', 'clocks', 'threads'),
    room('what may be reloaded at any time holds locks: no gRPC, and no other room of the server',
         ['server/ops/reloadable.h', 'server/ops/watched_file.*', 'server/ops/token_*',
          'server/ops/tls_files.*', 'server/ops/certificate_check.*'],
         'operations', 'core', 'locks', 'clocks', 'files'),
    room('operations know neither handlers nor the store, and no messages',
         ['server/ops/**'], 'operations', 'gates and watchdogs', 'what happens in sessions',
         'the limits', 'core', 'locks', 'gRPC', *SYSTEM),
    room('handlers translate, call and answer: no files, and only the interface of the store',
         ['server/rpc/**'], 'handlers', 'sessions', 'the limits', 'the store interface',
         'gates and watchdogs', 'operations', 'core', 'locks', 'wire', 'messages', 'protobuf',
         'gRPC', 'clocks', 'threads'),
    room('main() of the server sets up its process',
         ['server/main.cc'], 'process settings', *ALL_SERVER, 'core', 'locks', 'gRPC', *SYSTEM),
    room('the wiring of the server knows the server, and no messages',
         ['server/app.*'], *ALL_SERVER, 'core', 'locks', 'gRPC', *SYSTEM),

    room('public headers of the client show neither gRPC nor protobuf nor internals',
         ['client/lossscaler/client/*.h'], 'the client library', 'core'),
    room('mocks stand in for the public API',
         ['client/lossscaler/client/mocks/**'], 'the client library', 'core', 'tests'),
    room('the pump holds locks and touches the caller\'s memory: no gRPC and no messages',
         ['client/' + path + '.*' for path in PUMP], 'the pump', 'shared internals',
         'the client library', 'core', 'locks', 'clocks', 'threads'),
    room('client internals know wire and gRPC, and nothing of the server',
         ['client/lossscaler/client/internal/**'], 'client internals', 'the client channel',
         'shared internals', 'the pump', 'the client library', 'core', 'locks', 'wire', 'messages',
         'protobuf', 'gRPC', *SYSTEM),
    room('the public API of the client is written on internals, without gRPC and messages',
         ['client/lossscaler/client/*.cc'], 'client internals', 'shared internals',
         'the pump', 'the client library', 'core', 'locks', *SYSTEM),
    room('health asks gRPC\'s own service over the client\'s channel, and knows nothing of the server',
         ['client/ctl/health.*'], 'lossscalerctl', 'the client library', 'the client channel',
         'core', 'gRPC', 'clocks'),
    room('main() of lossscalerctl sets up its process',
         ['client/ctl/main.cc'], 'process settings', 'lossscalerctl', 'the client library', *SYSTEM),
    room('lossscalerctl uses the public API of the client, and health its channel',
         ['client/ctl/**'], 'lossscalerctl', 'the client library', 'shared internals', 'core',
         'locks', *SYSTEM),
    room('examples use the public API of the client, as any user does',
         ['client/examples/**'], 'an example', 'the client library', 'core', *SYSTEM),
)

# Libraries of others: how their includes are spelled, and the files that may have them.
# Public headers name none but the two through which gradients come in.
LIBRARIES = (
    ('Eigen', ['Eigen/**', 'unsupported/Eigen/**'],
     ['client/lossscaler/client/eigen.h', 'client/lossscaler/client/gradient.h',
      'lib/lossscaler/core/*.cc', 'client/lossscaler/client/**.cc', 'client/ctl/npy/*.cc',
      'client/examples/**']),
    ('JSON for Modern C++', ['nlohmann/**'],
     ['lib/lossscaler/core/*.cc', 'server/ops/*.cc', 'client/lossscaler/client/*.cc', 'client/ctl/**.cc',
      'client/ctl/json_values.h', 'client/examples/**.cc']),
    ('CLI11', ['CLI/**'], ['server/ops/*.cc', 'client/ctl/*', 'client/examples/**.cc']),
    ('spdlog', ['spdlog/**', 'fmt/**'], ['server/ops/*.cc']),
    ('toml++', ['toml++/**'], ['server/ops/*.cc']),
    ('prometheus-cpp', ['prometheus/**'], ['server/ops/*.cc', 'server/ops/*_metrics.h']),
    ('cpp-httplib', ['httplib.h'], ['server/ops/*.cc']),
    ('SQLite', ['sqlite3.h', 'sqlite3ext.h'], ['server/store/sqlite_*']),
    ('OpenSSL', ['openssl/**'], ['client/lossscaler/client/**.cc', 'server/ops/certificate_check.cc',
      'server/ops/token_table.cc', 'client/ctl/make_token.cc']),
    ('gloo', ['gloo/**'], ['client/examples/sharded_trainer/collective.cc']),
    ('zlib', ['zlib.h'], ['client/examples/**.cc']),
)


@functools.cache
def expression(pattern):
    """* matches within a folder, ** at any depth."""
    escaped = re.escape(pattern).replace(r'\*\*', '.*').replace(r'\*', '[^/]*')
    return re.compile(escaped)


def fits(text, patterns):
    return any(expression(pattern).fullmatch(text) for pattern in patterns)


def kind_of(include):
    return next((kind for kind, *patterns in KINDS if fits(include, patterns)), None)


def library_of(include):
    return next((library for library in LIBRARIES if fits(include, library[1])), None)


def room_of(path):
    return next((room for room in ROOMS if fits(path, room.files)), None)


def sources(checkout):
    for top in READ:
        for folder, folders, names in os.walk(os.path.join(checkout, top)):
            folders[:] = sorted(name for name in folders if name != 'build')
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), checkout)


def violations_of(path, text):
    claimed = room_of(path)
    if claimed is None:
        return [f'{path}:1: belongs to no room; give it one in ROOMS of '
                'tests/lint/include_arrows.py and in CONTRIBUTING.md']
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match is None:
            continue
        kind = kind_of(match[1])
        library = library_of(match[1])
        if library is not None and not fits(path, library[2]):
            found.append(f'{path}:{number}: includes {match[1]} ({library[0]}): it belongs in '
                         f'{", ".join(library[2])}; declare what you need without it')
        if kind is not None and kind not in claimed.may:
            found.append(f'{path}:{number}: includes {match[1]} ({kind}): '
                         f'{claimed.rule}; {ADVICE.get(kind, "remove it")}')
    return found


def check(checkout):
    """The violations, and how many files were read."""
    found = []
    count = 0
    for path in sources(checkout):
        count += 1
        with open(os.path.join(checkout, path), encoding='utf-8') as file:
            found += violations_of(path, file.read())
    return found, count


def main():
    if len(sys.argv) != 2:
        sys.exit('usage: include_arrows.py CHECKOUT')
    found, count = check(sys.argv[1])
    if not count:
        sys.exit(f'includes: there is no source file below {sys.argv[1]}')
    if found:
        print(*found, sep='\n')
        sys.exit(f'includes: {len(found)} against the arrows of the design')
    print(f'includes: {count} files obey the arrows')


if __name__ == '__main__':
    main()
