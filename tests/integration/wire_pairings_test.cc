// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The wire format is what unscale.proto says, whoever speaks it: our client and
// our server, which handle chunks by hand, each with a peer made from the
// proto. Whatever the pairing, values, verdicts and summaries are those of the
// naive reference, bit for bit (sums within the tolerance of core/unscale.h).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "testing/cutting_proxy.h"
#include "testing/in_process_server.h"
#include "testing/status_matchers.h"
#include "wire_compat/plain_unscale.h"
#include "wire_compat/plain_unscale_client.h"
#include "wire_compat/plain_unscale_server.h"

namespace lossscaler {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::lossscaler::testing::AddVerdict;
using ::lossscaler::testing::Bits;
using ::lossscaler::testing::CuttingProxy;
using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::NearestOf;
using ::lossscaler::testing::Pack;
using ::lossscaler::testing::PackToString;
using ::lossscaler::testing::PlainAnswers;
using ::lossscaler::testing::PlainResult;
using ::lossscaler::testing::PlainRules;
using ::lossscaler::testing::PlainStream;
using ::lossscaler::testing::PlainType;
using ::lossscaler::testing::PlainUnscale;
using ::lossscaler::testing::PlainUnscaleServer;
using ::lossscaler::testing::RunPlainStream;
using ::lossscaler::testing::SizeOf;
using ::lossscaler::testing::Unpack;
using ::lossscaler::testing::UnpackString;

enum class Peer { kOurs, kPlain };

struct Range {
  std::int64_t offset;
  std::int64_t count;
};

struct Tensor {
  ElementType type = ElementType::kFloat32;
  std::vector<Bits> elements;
  // None: all of them.
  std::vector<Range> ranges;

  std::vector<Range> Listed() const {
    if (!ranges.empty() || elements.empty()) return ranges;
    return {{0, static_cast<std::int64_t>(elements.size())}};
  }
  std::span<const Bits> Part(const Range& range) const {
    return std::span(elements).subspan(static_cast<std::size_t>(range.offset),
                                       static_cast<std::size_t>(range.count));
  }
};

// One stream, whoever sends it and whoever answers.
struct Work {
  PlainRules rules;
  std::vector<Tensor> tensors;
  std::size_t chunk_bytes = 1 << 20;
};

// What there is to know of it afterwards, of each tensor.
struct Found {
  std::vector<std::vector<Bits>> elements;
  std::vector<v1::ChunkVerdict> verdicts;
};

// Gradients of many magnitudes, the smallest subnormal when divided. With
// `wild`, here and there any bit pattern: NaN with a payload, infinities.
std::vector<Bits> Gradients(ElementType type, std::size_t count, bool wild,
                            std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Bits> elements(count);
  const Bits mask = ~Bits{0} >> (64 - 8 * SizeOf(type));
  for (Bits& element : elements) {
    const Bits bits = random();
    if (wild && bits % 37 == 0) {
      element = random() & mask;
    } else if (wild && bits % 41 == 0) {
      element = NearestOf(type, bits % 2 == 0 ? INFINITY : -INFINITY);
    } else {
      const double mantissa = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
      element = NearestOf(
          type, std::ldexp(mantissa, static_cast<int>(random() % 32) - 22));
    }
  }
  return elements;
}

// What every pairing has to find.
Found Reference(const Work& work) {
  Found found;
  for (const Tensor& tensor : work.tensors) {
    std::vector<Bits> elements;
    v1::ChunkVerdict verdict;
    if (work.rules.statistics) {
      verdict.set_sum_of_squares(0);
      verdict.set_absolute_maximum(0);
    }
    for (const Range& range : tensor.Listed()) {
      const PlainResult result = PlainUnscale(work.rules, tensor.type,
                                              tensor.Part(range), range.offset);
      elements.insert(elements.end(), result.elements.begin(),
                      result.elements.end());
      AddVerdict(result.verdict, &verdict);
    }
    if (work.rules.check_only) elements.clear();
    found.elements.push_back(std::move(elements));
    found.verdicts.push_back(std::move(verdict));
  }
  return found;
}

void ExpectVerdict(v1::ChunkVerdict got, v1::ChunkVerdict want,
                   const std::string& where) {
  // float32 squares add up in blocks; float64 has no more than its rounding.
  if (got.has_sum_of_squares() && want.has_sum_of_squares() &&
      got.sum_of_squares() != want.sum_of_squares()) {
    EXPECT_NEAR(got.sum_of_squares() / want.sum_of_squares(), 1, 0x1p-16)
        << where;
    got.set_sum_of_squares(0);
    want.set_sum_of_squares(0);
  }
  EXPECT_TRUE(MessageDifferencer::Equals(got, want))
      << where << "\ngot:\n"
      << got.DebugString() << "expected:\n"
      << want.DebugString();
}

void ExpectFound(const Found& got, const Found& want) {
  ASSERT_EQ(got.elements.size(), want.elements.size());
  for (std::size_t i = 0; i < want.elements.size(); ++i) {
    const std::vector<Bits>& g = got.elements[i];
    const std::vector<Bits>& w = want.elements[i];
    ASSERT_EQ(g.size(), w.size()) << "tensor " << i;
    const auto [at, other] = std::mismatch(g.begin(), g.end(), w.begin());
    if (at != g.end()) {
      ADD_FAILURE() << "tensor " << i << ", result " << at - g.begin()
                    << " is bits " << *at << " where " << *other
                    << " was expected";
    }
    ExpectVerdict(got.verdicts[i], want.verdicts[i],
                  absl::StrCat("tensor ", i));
  }
}

// The stream that does the work, cut as a client cuts it.
PlainStream StreamOf(const Work& work, const std::string& session) {
  // No two streams of a session share an id.
  static int streams = 0;
  PlainStream stream;
  v1::UnscaleOpen& open = stream.open;
  open.set_session(session);
  open.set_stream_id(absl::StrCat("plain-", ++streams));
  open.set_output_type(work.rules.same_type ? v1::OUTPUT_TYPE_SAME
                                            : v1::OUTPUT_TYPE_WIDE);
  open.set_mode(work.rules.check_only ? v1::UNSCALE_MODE_CHECK_ONLY
                                      : v1::UNSCALE_MODE_RETURN_GRADIENTS);
  open.set_max_chunk_bytes(static_cast<std::int64_t>(work.chunk_bytes));
  open.set_skip_statistics(!work.rules.statistics);
  for (std::size_t i = 0; i < work.tensors.size(); ++i) {
    const Tensor& tensor = work.tensors[i];
    v1::TensorSpec* const spec = open.add_tensors();
    spec->set_type(PlainType(tensor.type));
    spec->set_element_count(static_cast<std::int64_t>(tensor.elements.size()));
    for (const Range& range : tensor.ranges) {
      v1::ElementRange* const listed = spec->add_ranges();
      listed->set_offset(range.offset);
      listed->set_count(range.count);
    }
    const std::int64_t most = std::max<std::int64_t>(
        static_cast<std::int64_t>(work.chunk_bytes / SizeOf(tensor.type)), 1);
    for (const Range& range : tensor.Listed()) {
      for (std::int64_t sent = 0; sent < range.count; sent += most) {
        const Range part = {range.offset + sent,
                            std::min(most, range.count - sent)};
        v1::UnscaleChunk& chunk = stream.chunks.emplace_back();
        chunk.set_tensor(static_cast<int>(i));
        chunk.set_offset(part.offset);
        chunk.set_data(PackToString(tensor.type, tensor.Part(part)));
      }
    }
  }
  return stream;
}

// Checks each answer by itself, and adds them up.
Found CheckAnswers(const Work& work, const PlainStream& stream,
                   const PlainAnswers& answers) {
  Found found;
  found.elements.resize(work.tensors.size());
  v1::ChunkVerdict empty;
  if (work.rules.statistics) {
    empty.set_sum_of_squares(0);
    empty.set_absolute_maximum(0);
  }
  found.verdicts.assign(work.tensors.size(), empty);
  EXPECT_TRUE(answers.status.ok()) << answers.status.error_message();
  EXPECT_EQ(answers.misplaced, 0);
  EXPECT_EQ(answers.opened.scale(), work.rules.scale);
  EXPECT_EQ(answers.chunks.size(), stream.chunks.size());
  if (answers.chunks.size() != stream.chunks.size()) return found;

  v1::UnscaleSummary summary;
  *summary.mutable_verdict() = empty;
  for (std::size_t i = 0; i < stream.chunks.size(); ++i) {
    const v1::UnscaleChunk& asked = stream.chunks[i];
    const v1::UnscaledChunk& answer = answers.chunks[i];
    EXPECT_EQ(answer.tensor(), asked.tensor());
    EXPECT_EQ(answer.offset(), asked.offset());
    const auto index = static_cast<std::size_t>(asked.tensor());
    const ElementType type = work.tensors[index].type;
    const std::vector<Bits> elements = UnpackString(type, asked.data());
    const PlainResult want =
        PlainUnscale(work.rules, type, elements, asked.offset());
    ExpectVerdict(answer.verdict(), want.verdict, absl::StrCat("chunk ", i));

    if (work.rules.check_only) {
      EXPECT_EQ(answer.data(), "");
    }
    const std::vector<Bits> results =
        UnpackString(work.rules.OutputType(type), answer.data());
    found.elements[index].insert(found.elements[index].end(), results.begin(),
                                 results.end());
    AddVerdict(answer.verdict(), &found.verdicts[index]);
    summary.set_element_count(summary.element_count() +
                              static_cast<std::int64_t>(elements.size()));
  }
  for (std::size_t i = 0; i < found.verdicts.size(); ++i) {
    AddVerdict(found.verdicts[i], summary.mutable_verdict());
    if (!found.verdicts[i].overflow()) continue;
    if (summary.bad_tensors_size() == 64) continue;
    v1::BadTensor* const bad = summary.add_bad_tensors();
    bad->set_tensor(static_cast<int>(i));
    *bad->mutable_verdict() = found.verdicts[i];
  }
  summary.mutable_verdict()->clear_first_bad_index();
  EXPECT_EQ(answers.summary.element_count(), summary.element_count());
  ExpectVerdict(answers.summary.verdict(), summary.verdict(), "the summary");
  EXPECT_EQ(answers.summary.bad_tensors_size(), summary.bad_tensors_size());
  const int listed =
      std::min(answers.summary.bad_tensors_size(), summary.bad_tensors_size());
  for (int i = 0; i < listed; ++i) {
    const v1::BadTensor& got = answers.summary.bad_tensors(i);
    EXPECT_EQ(got.tensor(), summary.bad_tensors(i).tensor());
    ExpectVerdict(got.verdict(), summary.bad_tensors(i).verdict(),
                  "a bad tensor");
  }
  return found;
}

std::unique_ptr<v1::LossScalerService::Stub> StubOf(
    const std::string& address) {
  return v1::LossScalerService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

Found ThroughPlainClient(const std::string& address, const std::string& session,
                         const Work& work, bool later_version = false) {
  PlainStream stream = StreamOf(work, session);
  stream.later_version = later_version;
  const auto stub = StubOf(address);
  return CheckAnswers(work, stream, RunPlainStream(stub.get(), stream));
}

Found ThroughOurClient(const std::string& address, const std::string& session,
                       const Work& work) {
  ClientOptions options;
  options.address = address;
  options.chunk_bytes = work.chunk_bytes;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> outputs;
  std::vector<GradientTensor> tensors;
  for (std::size_t i = 0; i < work.tensors.size(); ++i) {
    const Tensor& tensor = work.tensors[i];
    GradientTensor& view = tensors.emplace_back();
    view.type = tensor.type;
    view.output_type = work.rules.OutputType(tensor.type);
    view.inner_size = tensor.elements.size();
    view.input = inputs.emplace_back(Pack(tensor.type, tensor.elements)).data();
    outputs.emplace_back();
    if (work.rules.check_only) continue;
    // Every other one in place, where the types allow it.
    if (i % 2 == 0 && view.output_type == tensor.type) {
      view.output = inputs.back().data();
      continue;
    }
    outputs.back().resize(tensor.elements.size() * SizeOf(view.output_type));
    view.output = outputs.back().data();
  }
  const absl::StatusOr<UnscaleAnswer> answer = MakeConnection(options)->Unscale(
      {.session = {.name = session, .uid = ""},
       .step = 1,
       .tensors = tensors,
       .skip_statistics = !work.rules.statistics,
       .worker = {},
       .on_progress = nullptr});
  EXPECT_THAT(answer, IsOk());
  Found found;
  if (!answer.ok()) return found;
  EXPECT_EQ(answer->scale, work.rules.scale);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const GradientTensor& view = tensors[i];
    found.elements.push_back(Unpack(
        view.output_type, view.output == view.input ? inputs[i] : outputs[i]));
    if (work.rules.check_only) found.elements.back().clear();
    const UnscaleVerdict& verdict = answer->tensors[i];
    EXPECT_EQ(verdict.element_count, work.tensors[i].elements.size());
    v1::ChunkVerdict& plain = found.verdicts.emplace_back();
    plain.set_overflow(verdict.overflow());
    plain.set_nan_count(static_cast<std::int64_t>(verdict.nan_count));
    plain.set_positive_infinity_count(
        static_cast<std::int64_t>(verdict.positive_infinity_count));
    plain.set_negative_infinity_count(
        static_cast<std::int64_t>(verdict.negative_infinity_count));
    plain.set_flushed_to_zero(
        static_cast<std::int64_t>(verdict.flushed_to_zero));
    if (verdict.first_bad_index) {
      plain.set_first_bad_index(
          static_cast<std::int64_t>(*verdict.first_bad_index));
    }
    if (!work.rules.statistics) continue;
    plain.set_sum_of_squares(verdict.sum_of_squares);
    plain.set_absolute_maximum(verdict.absolute_maximum);
  }
  return found;
}

// A server of either kind that divides by `scale`, with session "run".
class Server {
 public:
  Server(Peer kind, double scale, bool later_version = false) {
    if (kind == Peer::kPlain) {
      plain_ = std::make_unique<PlainUnscaleServer>(scale, later_version);
      return;
    }
    ours_ = std::make_unique<InProcessServer>();
    v1::CreateSessionRequest request;
    request.set_session("run");
    request.mutable_scaler()->mutable_static_()->set_scale(scale);
    v1::CreateSessionResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(
        ours_->NewStub()->CreateSession(&context, request, &response).ok());
  }
  // Nothing is left of the streams on a server of ours.
  ~Server() {
    if (ours_ == nullptr) return;
    EXPECT_TRUE(ours_->gate().WaitUntilEmpty(absl::Seconds(10)));
  }

  const std::string& address() const {
    return ours_ == nullptr ? plain_->address() : ours_->address();
  }
  int port() const {
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(address().substr(address().rfind(':') + 1), &port));
    return port;
  }
  PlainUnscaleServer* plain() { return plain_.get(); }

 private:
  std::unique_ptr<InProcessServer> ours_;
  std::unique_ptr<PlainUnscaleServer> plain_;
};

struct Pairing {
  Peer client;
  Peer server;
};

std::string PairingName(const ::testing::TestParamInfo<Pairing>& info) {
  const auto name = [](Peer peer) {
    return peer == Peer::kOurs ? "Our" : "Generated";
  };
  return absl::StrCat(name(info.param.client), "Client", "And",
                      name(info.param.server), "Server");
}

constexpr Pairing kOurs = {Peer::kOurs, Peer::kOurs};
constexpr Pairing kOurClient = {Peer::kOurs, Peer::kPlain};
constexpr Pairing kOurServer = {Peer::kPlain, Peer::kOurs};
constexpr Pairing kPlain = {Peer::kPlain, Peer::kPlain};

class WirePairings : public ::testing::TestWithParam<Pairing> {
 protected:
  void Check(const Work& work) {
    Server server(GetParam().server, work.rules.scale);
    CheckAt(server.address(), work);
  }
  void CheckAt(const std::string& address, const Work& work) {
    const Found found = GetParam().client == Peer::kOurs
                            ? ThroughOurClient(address, "run", work)
                            : ThroughPlainClient(address, "run", work);
    ExpectFound(found, Reference(work));
  }
};

INSTANTIATE_TEST_SUITE_P(Of, WirePairings,
                         ::testing::Values(kOurs, kOurClient, kOurServer,
                                           kPlain),
                         PairingName);

struct Stored {
  ElementType type;
  bool same_type;
};

TEST_P(WirePairings, AgreeForEveryTypeModeAndStatistics) {
  for (const auto [type, same_type] : {Stored{ElementType::kFloat32, false},
                                       Stored{ElementType::kFloat16, false},
                                       Stored{ElementType::kFloat16, true},
                                       Stored{ElementType::kBFloat16, false},
                                       Stored{ElementType::kBFloat16, true},
                                       Stored{ElementType::kFloat64, false}}) {
    for (const bool check_only : {false, true}) {
      for (const bool statistics : {false, true}) {
        for (const bool wild : {false, true}) {
          SCOPED_TRACE(absl::StrCat(
              std::string(ElementTypeName(type)), same_type ? " same" : "",
              check_only ? " check" : "", statistics ? " statistics" : "",
              wild ? " wild" : ""));
          // A power of two, and one that makes every division round.
          Work work{.rules = {.scale = wild ? 3.0 : 65536.0,
                              .same_type = same_type,
                              .check_only = check_only,
                              .statistics = statistics},
                    .tensors = {},
                    .chunk_bytes = 1000};
          for (const std::size_t count : {1, 0, 999, 1000, 7}) {
            work.tensors.push_back(
                {type, Gradients(type, count, wild, count), {}});
          }
          Check(work);
        }
      }
    }
  }
}

TEST_P(WirePairings, AgreeOnTensorsThatAreAllEmpty) {
  Check({.rules = {.scale = 4},
         .tensors = {{ElementType::kFloat32, {}, {}},
                     {ElementType::kFloat16, {}, {}}}});
}

TEST_P(WirePairings, AgreeOnManySmallTensorsOfEveryType) {
  constexpr ElementType kTypes[] = {
      ElementType::kFloat32, ElementType::kFloat16, ElementType::kBFloat16,
      ElementType::kFloat64};
  for (const bool same_type : {false, true}) {
    Work work{.rules = {.scale = 7919, .same_type = same_type}, .tensors = {}};
    for (std::size_t i = 0; i < 1500; ++i) {
      const ElementType type = kTypes[i % 4];
      work.tensors.push_back({type, Gradients(type, i % 5, i > 700, i), {}});
    }
    Check(work);
  }
}

// Neither the slices in which a message arrives nor the payload's place in it
// know of elements: a head of another length moves all of them, and payloads
// around 64 KiB end just before, at and behind the end of a slice.
TEST_P(WirePairings, AgreeWhereverChunksEndAndElementsStraddle) {
  for (const ElementType type :
       {ElementType::kFloat16, ElementType::kFloat32, ElementType::kFloat64}) {
    const Tensor tensor = {type, Gradients(type, 70'000, true, 5), {}};
    Server server(GetParam().server, 1000);
    for (const std::size_t chunk_bytes :
         {8u, 4088u, 16'384u, 65'496u, 65'520u, 65'528u, 65'536u, 65'544u,
          100'000u, 1u << 20}) {
      SCOPED_TRACE(absl::StrCat(std::string(ElementTypeName(type)), " in ",
                                chunk_bytes));
      Work work{.rules = {.scale = 1000},
                .tensors = {tensor},
                .chunk_bytes = chunk_bytes};
      // One element a chunk would take long.
      if (chunk_bytes < 1000) work.tensors[0].elements.resize(600);
      CheckAt(server.address(), work);
    }
  }
}

// A stream of ours asks for ranges when it goes on where another one broke.
TEST_P(WirePairings, AgreeOnElementRanges) {
  for (const bool same_type : {false, true}) {
    Work work{.rules = {.scale = 3, .same_type = same_type},
              .tensors = {},
              .chunk_bytes = 4096};
    for (const ElementType type :
         {ElementType::kFloat32, ElementType::kBFloat16}) {
      work.tensors.push_back({type, Gradients(type, 30'000, true, 9), {}});
    }
    Server server(GetParam().server, 3);
    if (GetParam().client == Peer::kOurs) {
      CuttingProxy proxy(server.port(), 50'000);
      CheckAt(proxy.address(), work);
      EXPECT_TRUE(proxy.cut());
      if (server.plain() == nullptr) continue;
      const std::vector<v1::UnscaleOpen> opens = server.plain()->opens();
      ASSERT_GE(opens.size(), 2);
      EXPECT_GT(opens[1].tensors(0).ranges(0).offset(), 0);
    } else {
      work.tensors[0].ranges = {{1, 2}, {3, 1}, {5000, 24'999}, {29'999, 1}};
      work.tensors[1].ranges = {{29'998, 1}};
      CheckAt(server.address(), work);
    }
  }
}

TEST_P(WirePairings, AgreeOnMoreBadTensorsThanASummaryLists) {
  Work work{.rules = {.scale = 2}, .tensors = {}};
  for (int i = 0; i < 150; ++i) {
    const double value = i % 2 == 0 ? NAN : 1;
    work.tensors.push_back(
        {ElementType::kFloat32, {NearestOf(ElementType::kFloat32, value)}, {}});
  }
  Check(work);
}

class LaterVersion : public WirePairings {};

INSTANTIATE_TEST_SUITE_P(Of, LaterVersion,
                         ::testing::Values(kOurClient, kOurServer),
                         PairingName);

// Such fields come behind the payload, where code that reads it by hand would
// take them for gradients.
TEST_P(LaterVersion, FieldsThatAreNotKnownYetChangeNothing) {
  Work work{.rules = {.scale = 3},
            .tensors = {{ElementType::kFloat32,
                         Gradients(ElementType::kFloat32, 40'000, true, 1),
                         {}}},
            .chunk_bytes = 20'000};
  if (GetParam().client == Peer::kOurs) {
    const Server server(Peer::kPlain, 3, /*later_version=*/true);
    ExpectFound(ThroughOurClient(server.address(), "run", work),
                Reference(work));
  } else {
    const Server server(Peer::kOurs, 3);
    ExpectFound(ThroughPlainClient(server.address(), "run", work,
                                   /*later_version=*/true),
                Reference(work));
  }
}

}  // namespace
}  // namespace lossscaler
