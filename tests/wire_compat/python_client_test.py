#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""A client in Python, made from the proto, against a real lossscalerd.

    python_client_test.py LOSSSCALERD GENERATED

GENERATED holds what protoc and grpc_python_plugin made of proto/.
"""

import array
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import grpc
except ImportError:
    sys.exit("this test needs python3-grpcio, which is not installed: apt-get install python3-grpcio")

LOSSSCALERD, GENERATED = sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path.insert(0, GENERATED)

# pylint: disable=wrong-import-position
from lossscaler.rpc import error_details_pb2 as rpc
from lossscaler.v1 import decision_pb2, loss_scaler_service_pb2 as api, unscale_pb2 as wire
from lossscaler.v1 import loss_scaler_service_pb2_grpc

INF = math.inf
START_SECONDS = 30


class Server:
    """A lossscalerd that forgets its state, on a unix socket and on a free port."""

    def __init__(self):
        self._folder = tempfile.mkdtemp()
        ready = pathlib.Path(self._folder, "ready")
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("LOSSSCALERD_")}
        self._log = open(pathlib.Path(self._folder, "log"), "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [LOSSSCALERD, "--store=memory", f"--listen=unix:{self._folder}/socket",
             "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--ready-file", str(ready)],
            env=environment, stdout=self._log, stderr=self._log)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not ready.exists():
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self._log.seek(0)
                    raise RuntimeError("lossscalerd does not serve:\n" + self._log.read())
                time.sleep(0.005)
            self.addresses = ready.read_text(encoding="utf-8").split()
        except BaseException:
            self._process.kill()
            self._remove()
            raise

    def stop(self):
        """Its exit code after SIGTERM; 0 means that no call was left open."""
        self._process.terminate()
        try:
            return self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._remove()

    def _remove(self):
        self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder)


def setUpModule():
    global server
    server = Server()


def tearDownModule():
    assert server.stop() == 0, "a call was left open"


def divided(values, scale):
    """As float32: the double quotient of two float32, rounded again, is the float32 quotient."""
    return struct.pack(f"<{len(values)}f", *(value / scale for value in values))


def chunk(tensor, offset, data):
    return wire.UnscaleRequest(chunk=wire.UnscaleChunk(tensor=tensor, offset=offset, data=data))


def tensor(name, kind, count):
    return wire.TensorSpec(name=name, type=kind, element_count=count)


class PythonClient(unittest.TestCase):

    def connect(self, address):
        channel = grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)])
        self.addCleanup(channel.close)
        self.channel = channel
        self.stub = loss_scaler_service_pb2_grpc.LossScalerServiceStub(channel)

    def each_transport(self):
        self.assertEqual(len(server.addresses), 2)
        for address in server.addresses:
            with self.subTest(address=address.split(":")[0]):
                self.connect(address)
                yield address

    def create(self, name, **scaler):
        """A session of a name of its own for each test and address."""
        request = api.CreateSessionRequest(session=name)
        if "static" in scaler:
            request.scaler.static.scale = scaler["static"]
        else:
            request.scaler.dynamic.scale = scaler["dynamic"]
        return self.stub.CreateSession(request)

    def name(self, address):
        return f"{self.id().split('.')[-1]}/{address.split(':')[0]}"

    def unscale(self, opening, chunks):
        responses = list(self.stub.Unscale(iter([wire.UnscaleRequest(open=opening), *chunks])))
        self.assertEqual([response.WhichOneof("message") for response in responses],
                         ["opened"] + ["chunk"] * len(chunks) + ["summary"])
        return (responses[0].opened, [response.chunk for response in responses[1:-1]],
                responses[-1].summary)

    def assert_error(self, call, code, reason, **metadata):
        with self.assertRaises(grpc.RpcError) as raised:
            list(call)
        error = raised.exception
        self.assertEqual(error.code(), code, error.details())
        trailers = dict(error.trailing_metadata())
        status = rpc.Status.FromString(trailers["grpc-status-details-bin"])
        self.assertEqual(status.code, code.value[0])
        self.assertEqual(status.message, error.details())
        self.assertEqual(status.details[0].type_url, "type.googleapis.com/google.rpc.ErrorInfo")
        info = rpc.ErrorInfo.FromString(status.details[0].value)
        self.assertEqual((info.reason, info.domain), (reason, "lossscaler"))
        for name, value in metadata.items():
            self.assertEqual(info.metadata[name], value)

    def test_an_infinity_skips_the_step_and_halves_the_scale(self):
        for address in self.each_transport():
            session = self.name(address)
            self.create(session, dynamic=4)
            float32 = [8.0, -12.0, 1e-3]
            float16 = [0.5, INF, -0.25, 2.0**-24]
            opened, chunks, summary = self.unscale(
                wire.UnscaleOpen(session=session, stream_id="s", tensors=[
                    tensor("w", wire.ELEMENT_TYPE_FLOAT32, 3),
                    tensor("empty", wire.ELEMENT_TYPE_FLOAT64, 0),
                    tensor("b", wire.ELEMENT_TYPE_FLOAT16, 4)]),
                [chunk(0, 0, struct.pack("<2f", *float32[:2])),
                 chunk(0, 2, struct.pack("<f", float32[2])),
                 chunk(2, 0, struct.pack("<4e", *float16))])
            self.assertEqual((opened.scale, opened.step, opened.epoch), (4, 1, 1))
            float32[2] = struct.unpack("<f", struct.pack("<f", float32[2]))[0]
            self.assertEqual(chunks[0].data + chunks[1].data, divided(float32, 4))
            self.assertEqual(chunks[2].data, divided(float16, 4))
            self.assertEqual((chunks[1].tensor, chunks[1].offset), (0, 2))
            self.assertEqual(chunks[0].verdict, wire.ChunkVerdict(
                overflow=False, sum_of_squares=13, absolute_maximum=3))
            bad = wire.ChunkVerdict(overflow=True, positive_infinity_count=1, first_bad_index=1,
                                    sum_of_squares=2.0**-6 + 2.0**-8 + 2.0**-52,
                                    absolute_maximum=0.125)
            self.assertAlmostEqual(chunks[2].verdict.sum_of_squares, bad.sum_of_squares, delta=1e-6)
            bad.sum_of_squares = chunks[2].verdict.sum_of_squares
            self.assertEqual(chunks[2].verdict, bad)
            self.assertEqual(summary.element_count, 7)
            self.assertTrue(summary.verdict.overflow)
            self.assertEqual(list(summary.bad_tensors), [wire.BadTensor(tensor=2, verdict=bad)])

            answer = self.stub.Update(
                api.UpdateRequest(session=session, step=1, stream_ids=["s"]))
            self.assertEqual(answer.decision.outcome, decision_pb2.OUTCOME_SKIP_OVERFLOW)
            self.assertEqual((answer.decision.scale_before, answer.decision.scale_after), (4, 2))
            self.assertEqual((answer.current.step, answer.current.scale), (2, 2))

            # The next step is clean, and divided by the new scale.
            opened, chunks, _ = self.unscale(
                wire.UnscaleOpen(session=session, stream_id="s", tensors=[
                    tensor("w", wire.ELEMENT_TYPE_FLOAT32, 1)]),
                [chunk(0, 0, struct.pack("<f", 8))])
            self.assertEqual((opened.scale, opened.step), (2, 2))
            self.assertEqual(chunks[0].data, struct.pack("<f", 4))
            answer = self.stub.Update(
                api.UpdateRequest(session=session, step=2, stream_ids=["s"]))
            self.assertEqual(answer.decision.outcome, decision_pb2.OUTCOME_APPLY)

    def test_large_chunks_come_back_divided(self):
        for address in self.each_transport():
            session = self.name(address)
            self.create(session, static=3)
            count = 1 << 18  # 1 MiB of float32.
            values = array.array("f", (value / 7 for value in range(-count, count)))
            data = values.tobytes()
            size = 4 * count
            _, chunks, summary = self.unscale(
                wire.UnscaleOpen(session=session, stream_id="s", max_chunk_bytes=size, tensors=[
                    tensor("w", wire.ELEMENT_TYPE_FLOAT32, 2 * count)]),
                [chunk(0, 0, data[:size]), chunk(0, count, data[size:])])
            self.assertEqual(b"".join(answer.data for answer in chunks),
                             array.array("f", (value / 3 for value in values)).tobytes())
            self.assertFalse(summary.verdict.overflow)
            self.assertEqual(summary.element_count, 2 * count)

    def test_check_only_returns_verdicts_without_gradients(self):
        for address in self.each_transport():
            session = self.name(address)
            self.create(session, static=2)
            _, chunks, summary = self.unscale(
                wire.UnscaleOpen(session=session, stream_id="s", skip_statistics=True,
                                 mode=wire.UNSCALE_MODE_CHECK_ONLY,
                                 tensors=[tensor("w", wire.ELEMENT_TYPE_BFLOAT16, 5)]),
                # The upper halves of float32 1, NaN and -inf.
                [chunk(0, 0, struct.pack("<2H", 0x3f80, 0x7fc0)),
                 chunk(0, 2, struct.pack("<3H", 0x3f80, 0x3f80, 0xff80))])
            self.assertEqual([answer.data for answer in chunks], [b"", b""])
            self.assertEqual(chunks[0].verdict, wire.ChunkVerdict(
                overflow=True, nan_count=1, first_bad_index=1))
            self.assertEqual(chunks[1].verdict, wire.ChunkVerdict(
                overflow=True, negative_infinity_count=1, first_bad_index=4))
            self.assertEqual(summary.verdict, wire.ChunkVerdict(
                overflow=True, nan_count=1, negative_infinity_count=1))

    def test_every_legal_spelling_of_a_chunk_is_the_same_chunk(self):
        data = struct.pack("<4f", 6, 12, 18, INF)
        tensor_1, offset_2, payload = b"\x08\x01", b"\x10\x02", b"\x7a\x10" + data

        def message(*chunks):
            return b"".join(b"\x12" + bytes([len(fields)]) + fields for fields in chunks)

        spellings = {
            "as serializers write it": message(tensor_1 + offset_2 + payload),
            "data first": message(payload + offset_2 + tensor_1),
            "data in the middle": message(tensor_1 + payload + offset_2),
            "data twice, the last counts": message(
                tensor_1 + b"\x7a\x04\x00\x00\x80\x7f" + offset_2 + payload),
            "a field twice, the last counts": message(b"\x08\x00" + tensor_1 + offset_2 + payload),
            "numbers longer than need be": message(
                b"\x88\x00\x81\x80\x00" + b"\x10\x82\x80\x00" + b"\x7a\x90\x80\x00" + data),
            "unknown fields around the data": message(
                b"\x18\x05" + tensor_1 + offset_2 + b"\x72\x01x" + payload + b"\x82\x01\x02yz"),
            "an unknown field behind the chunk": message(
                tensor_1 + offset_2 + payload) + b"\x1a\x03abc",
            "a chunk in two parts": message(tensor_1 + offset_2, payload),
            "a chunk in two parts, data first": message(payload, tensor_1 + offset_2),
            "an open that a chunk replaces": b"\x0a\x03\x0a\x01x" + message(
                tensor_1 + offset_2 + payload),
        }
        for address in self.each_transport():
            session = self.name(address)
            self.create(session, static=3)
            call = self.channel.stream_stream(
                "/lossscaler.v1.LossScalerService/Unscale",
                request_serializer=lambda encoded: encoded,
                response_deserializer=wire.UnscaleResponse.FromString)
            for number, (what, encoded) in enumerate(spellings.items()):
                with self.subTest(what):
                    second = tensor("b", wire.ELEMENT_TYPE_FLOAT32, 6)
                    second.ranges.add(offset=2, count=4)
                    opening = wire.UnscaleRequest(open=wire.UnscaleOpen(
                        session=session, stream_id=str(number),
                        tensors=[tensor("a", wire.ELEMENT_TYPE_FLOAT32, 0), second]))
                    answers = list(call(iter([opening.SerializeToString(), encoded])))
                    self.assertEqual(len(answers), 3)
                    answer = answers[1].chunk
                    self.assertEqual((answer.tensor, answer.offset), (1, 2))
                    self.assertEqual(answer.data, struct.pack("<4f", 2, 4, 6, INF))
                    self.assertEqual(answer.verdict, wire.ChunkVerdict(
                        overflow=True, positive_infinity_count=1, first_bad_index=5,
                        sum_of_squares=56, absolute_maximum=6))

    def test_a_bad_chunk_is_refused_with_its_reason(self):
        for address in self.each_transport():
            session = self.name(address)
            self.create(session, static=1)

            def call(stream_id, *chunks):
                opening = wire.UnscaleOpen(session=session, stream_id=stream_id, tensors=[
                    tensor("w", wire.ELEMENT_TYPE_FLOAT32, 2)])
                return self.stub.Unscale(iter([wire.UnscaleRequest(open=opening), *chunks]))

            invalid = grpc.StatusCode.INVALID_ARGUMENT
            self.assert_error(call("a", chunk(0, 0, b"123")), invalid, "PARTIAL_ELEMENT",
                              tensor="0", offset="0", bytes="3")
            self.assert_error(call("b", chunk(1, 0, b"1234")), invalid, "UNKNOWN_TENSOR")
            self.assert_error(call("c", chunk(0, 1, b"1234")), invalid, "CHUNK_OUT_OF_ORDER",
                              expected_tensor="0", expected_offset="0")
            self.assert_error(call("d", chunk(0, 0, b"1234")), invalid, "STREAM_INCOMPLETE",
                              offset="1")
            self.assert_error(call("d"), grpc.StatusCode.ALREADY_EXISTS, "STREAM_ID_USED")

            raw = self.channel.stream_stream(
                "/lossscaler.v1.LossScalerService/Unscale",
                request_serializer=lambda encoded: encoded,
                response_deserializer=wire.UnscaleResponse.FromString)
            # A chunk that is longer than its message.
            self.assert_error(raw(iter([b"\x12\x7f\x08"])), invalid, "MALFORMED_MESSAGE")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
