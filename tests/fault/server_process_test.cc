// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// lossscalerd as a process: what it prints, refuses and removes, and how it
// ends.

#include "testing/server_process.h"

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "lossscaler/wire/status.h"
#include "nlohmann/json.hpp"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::ServerProcess;
using ::lossscaler::testing::TempDirectory;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;
using ::testing::StartsWith;

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

constexpr char kBinary[] = LOSSSCALER_BINARY_DIR "/server/lossscalerd";

class ServerProcessTest : public ::testing::Test {
 protected:
  std::unique_ptr<ServerProcess> Run(Words arguments,
                                     const Words& environment = {}) {
    return std::make_unique<ServerProcess>(kBinary, directory_.path(),
                                           std::move(arguments), environment);
  }
  // One that forgets its state, on a free port unless `arguments` say where.
  std::unique_ptr<ServerProcess> RunReady(const Words& arguments) {
    Words all = {"--ready-file", ready_file_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto server = Run(std::move(all));
    addresses_ = server->WaitUntilReady(ready_file_);
    EXPECT_THAT(addresses_, ::testing::Not(::testing::IsEmpty()))
        << server->Err();
    return server;
  }
  std::string Path(const std::string& name) const {
    return absl::StrCat(directory_.path(), "/", name);
  }

  TempDirectory directory_;
  const std::string ready_file_ = Path("ready");
  const Words free_port_ = {"--store=memory", "--listen=127.0.0.1:0"};
  Words addresses_;
};

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
}

HealthCheckResponse::ServingStatus HealthOf(const std::string& address,
                                            const std::string& part) {
  const auto stub = Health::NewStub(Connect(address));
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service(part);
  HealthCheckResponse response;
  const grpc::Status status = stub->Check(&context, request, &response);
  return status.ok() ? response.status() : HealthCheckResponse::UNKNOWN;
}

// Holds an Unscale stream open, and watches health from before that.
class OpenCall {
 public:
  explicit OpenCall(const std::string& address)
      : channel_(Connect(address)),
        service_(v1::LossScalerService::NewStub(channel_)),
        health_(Health::NewStub(channel_)) {
    watch_ = health_->Watch(&watch_context_, HealthCheckRequest());
    EXPECT_EQ(NextHealth(), HealthCheckResponse::SERVING);

    grpc::ClientContext context;
    v1::CreateSessionRequest create;
    create.set_session("s");
    create.mutable_scaler()->mutable_static_();
    create.mutable_scaler()->mutable_static_()->set_scale(2);
    v1::CreateSessionResponse created;
    const grpc::Status status =
        service_->CreateSession(&context, create, &created);
    EXPECT_TRUE(status.ok()) << status.error_message();

    stream_ = service_->Unscale(&stream_context_);
    v1::UnscaleRequest open;
    open.mutable_open()->set_session("s");
    open.mutable_open()->set_stream_id("a");
    open.mutable_open()->set_max_chunk_bytes(4096);
    auto* const tensor = open.mutable_open()->add_tensors();
    tensor->set_type(v1::ELEMENT_TYPE_FLOAT32);
    tensor->set_element_count(1);
    EXPECT_TRUE(stream_->Write(open));
    v1::UnscaleResponse opened;
    EXPECT_TRUE(stream_->Read(&opened));
  }
  ~OpenCall() {
    watch_context_.TryCancel();
    stream_context_.TryCancel();
  }

  // Waits for the next change.
  HealthCheckResponse::ServingStatus NextHealth() {
    HealthCheckResponse response;
    return watch_->Read(&response) ? response.status()
                                   : HealthCheckResponse::UNKNOWN;
  }

  absl::Status NewCall() {
    grpc::ClientContext context;
    v1::GetSessionRequest request;
    request.set_session("s");
    v1::GetSessionResponse response;
    const grpc::Status status =
        service_->GetSession(&context, request, &response);
    return wire::StatusFromWire(status.error_code(), status.error_message(),
                                status.error_details());
  }

  // Sends what the stream still owes, and reads to its end.
  grpc::Status FinishStream() {
    v1::UnscaleRequest chunk;
    chunk.mutable_chunk()->set_data(std::string(4, '\0'));
    EXPECT_TRUE(stream_->Write(chunk));
    stream_->WritesDone();
    v1::UnscaleResponse response;
    while (stream_->Read(&response)) {
    }
    return stream_->Finish();
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::LossScalerService::Stub> service_;
  const std::unique_ptr<Health::Stub> health_;
  grpc::ClientContext watch_context_;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> watch_;
  grpc::ClientContext stream_context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::UnscaleRequest, v1::UnscaleResponse>>
      stream_;
};

TEST_F(ServerProcessTest, ReadyFileNamesRealAddressesUntilTheEnd) {
  const std::string socket = absl::StrCat("unix:", Path("s"));
  const auto server =
      RunReady({"--store=memory", "--listen=127.0.0.1:0", "--listen", socket});
  ASSERT_THAT(addresses_, SizeIs(2));
  EXPECT_THAT(addresses_[0], StartsWith("127.0.0.1:"));
  EXPECT_NE(addresses_[0], "127.0.0.1:0");
  EXPECT_EQ(addresses_[1], socket);
  for (const std::string& address : addresses_) {
    for (const char* part : {"", "lossscaler.v1.LossScalerService", "store"}) {
      EXPECT_EQ(HealthOf(address, part), HealthCheckResponse::SERVING)
          << address << " " << part;
    }
  }
  struct stat found;
  ASSERT_EQ(stat(Path("s").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0660u);

  server->Signal(SIGTERM);
  EXPECT_THAT(server->Wait(), Optional(0)) << server->Err();
  EXPECT_FALSE(fs::exists(ready_file_));
  EXPECT_FALSE(fs::exists(Path("s")));
  EXPECT_FALSE(fs::exists(Path("s.lock")));
}

TEST_F(ServerProcessTest, SecondServerOnAPortIsRefusedNamingIt) {
  const auto first = RunReady(free_port_);
  const auto second = Run(
      {"--store=memory", "--listen=127.0.0.1:0", "--listen", addresses_[0]});
  EXPECT_THAT(second->Wait(), Optional(2));
  EXPECT_THAT(second->Err(),
              AllOf(HasSubstr(absl::StrCat("cannot listen on ", addresses_[0],
                                           ": Address already in use"))));
  EXPECT_EQ(HealthOf(addresses_[0], ""), HealthCheckResponse::SERVING);
}

TEST_F(ServerProcessTest, SecondServerOnASocketIsRefusedNamingTheHolder) {
  const std::string listen = absl::StrCat("--listen=unix:", Path("s"));
  const auto first = RunReady({"--store=memory", listen});
  const auto second = Run({"--store=memory", listen});
  EXPECT_THAT(second->Wait(), Optional(2));
  EXPECT_THAT(second->Err(),
              HasSubstr(absl::StrCat("process ", first->pid(), " has it")));
  EXPECT_EQ(HealthOf(addresses_[0], ""), HealthCheckResponse::SERVING);
}

TEST_F(ServerProcessTest, SecondServerOnAStateIsRefusedBeforeItListens) {
  const std::string store = absl::StrCat("--store=sqlite:", Path("state"));
  const auto first = RunReady({store, "--listen=127.0.0.1:0"});
  // The same port too: the store is asked first.
  const auto second = Run({store, "--listen", addresses_[0]});
  EXPECT_THAT(second->Wait(), Optional(3));
  EXPECT_THAT(second->Err(),
              HasSubstr(absl::StrCat("process id ", first->pid())));
}

TEST_F(ServerProcessTest, KilledServersSocketIsTakenOver) {
  const std::string listen = absl::StrCat("--listen=unix:", Path("s"));
  const auto first = RunReady({"--store=memory", listen});
  first->Signal(SIGKILL);
  EXPECT_THAT(first->Wait(), Optional(128 + SIGKILL));
  ASSERT_TRUE(fs::exists(Path("s")));
  fs::remove(ready_file_);
  const auto second = RunReady({"--store=memory", listen});
  EXPECT_EQ(HealthOf(addresses_[0], ""), HealthCheckResponse::SERVING);
}

TEST_F(ServerProcessTest, ForeignFileAtTheSocketIsLeftAlone) {
  std::ofstream(Path("s")) << "precious";
  const auto server =
      Run({"--store=memory", absl::StrCat("--listen=unix:", Path("s"))});
  EXPECT_THAT(server->Wait(), Optional(2));
  EXPECT_EQ(fs::file_size(Path("s")), 8u);
}

TEST_F(ServerProcessTest, ForeignDatabaseIsRefusedAndLeftAlone) {
  fs::create_directory(Path("state"));
  const std::string store = absl::StrCat("--store=sqlite:", Path("state"));
  {
    const auto server = RunReady({store, "--listen=127.0.0.1:0"});
    server->Signal(SIGTERM);
    ASSERT_THAT(server->Wait(), Optional(0));
  }
  // Overwrite the database, whatever its name, with something else.
  std::string database;
  for (const auto& entry : fs::directory_iterator(Path("state"))) {
    if (entry.file_size() > 1000) database = entry.path();
  }
  ASSERT_NE(database, "");
  const std::string noise(5000, 'x');
  std::ofstream(database, std::ios::trunc) << noise;

  const auto server = Run({store, "--listen=127.0.0.1:0"});
  EXPECT_THAT(server->Wait(), Optional(3));
  EXPECT_THAT(server->Err(), HasSubstr(database));
  std::ifstream stream(database);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), noise);
}

class EndSignal : public ServerProcessTest,
                  public ::testing::WithParamInterface<int> {};

TEST_P(EndSignal, HealthFallsFirstOpenCallsFinishNewOnesAreRefused) {
  Words arguments = free_port_;
  arguments.push_back("--drain-timeout=1h");
  const auto server = RunReady(arguments);
  OpenCall call(addresses_[0]);
  server->Signal(GetParam());
  EXPECT_EQ(call.NextHealth(), HealthCheckResponse::NOT_SERVING);
  // Health comes before the gate: until then calls are answered.
  absl::Status refused;
  do {
    refused = call.NewCall();
  } while (refused.ok());
  EXPECT_THAT(refused, IsError(Reason::kDraining));
  EXPECT_TRUE(call.FinishStream().ok());
  EXPECT_THAT(server->Wait(), Optional(0)) << server->Err();
}

INSTANTIATE_TEST_SUITE_P(All, EndSignal, ::testing::Values(SIGTERM, SIGINT));

TEST_F(ServerProcessTest, CallsStillOpenAtTheEndOfTheBudgetEndIt) {
  Words arguments = free_port_;
  arguments.push_back("--drain-timeout=0s");
  const auto server = RunReady(arguments);
  const OpenCall call(addresses_[0]);
  server->Signal(SIGTERM);
  EXPECT_THAT(server->Wait(), Optional(4)) << server->Err();
  EXPECT_FALSE(fs::exists(ready_file_));
}

TEST_F(ServerProcessTest, SecondSignalStopsAtOnce) {
  Words arguments = free_port_;
  arguments.push_back("--drain-timeout=1h");
  const auto server = RunReady(arguments);
  OpenCall call(addresses_[0]);
  server->Signal(SIGTERM);
  EXPECT_EQ(call.NextHealth(), HealthCheckResponse::NOT_SERVING);
  server->Signal(SIGTERM);
  EXPECT_THAT(server->Wait(), Optional(4)) << server->Err();
}

TEST_F(ServerProcessTest, WrongSettingsExitWithOneAndSayAll) {
  const auto server =
      Run({"--listen=0.0.0.0:0", "--bogus"}, {"LOSSSCALERD_TYPO=1"});
  EXPECT_THAT(server->Wait(), Optional(1));
  EXPECT_THAT(server->Err(),
              AllOf(HasSubstr("not a loopback address"), HasSubstr("--bogus"),
                    HasSubstr("LOSSSCALERD_TYPO")));
}

TEST_F(ServerProcessTest, PrintedConfigChecksAsAConfigFile) {
  const auto printer =
      Run({"--print-config", "--max-sessions=7"}, {"LOSSSCALERD_STORE=memory"});
  ASSERT_THAT(printer->Wait(), Optional(0));
  EXPECT_THAT(
      printer->Out(),
      AllOf(HasSubstr("max_sessions = 7  # flag --max-sessions\n"),
            HasSubstr("store = \"memory\"  # environment LOSSSCALERD_STORE\n"),
            HasSubstr("log_level = \"info\"  # default\n")));
  std::ofstream(Path("c.toml")) << printer->Out();
  const auto checker = Run({"--check-config", "--config", Path("c.toml")});
  EXPECT_THAT(checker->Wait(), Optional(0)) << checker->Err();

  std::ofstream(Path("c.toml"), std::ios::app) << "colour = \"red\"\n";
  const auto refuser = Run({"--check-config", "--config", Path("c.toml")});
  EXPECT_THAT(refuser->Wait(), Optional(1));
  EXPECT_THAT(refuser->Err(), HasSubstr("colour"));
}

TEST_F(ServerProcessTest, JsonLogIsOneObjectPerLine) {
  Words arguments = free_port_;
  arguments.push_back("--log-format=json");
  const auto server = RunReady(arguments);
  server->Signal(SIGTERM);
  ASSERT_THAT(server->Wait(), Optional(0));
  Words events;
  std::istringstream log(server->Err());
  for (std::string line; std::getline(log, line);) {
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << line;
    events.push_back(parsed["event"]);
  }
  EXPECT_THAT(events, ElementsAre("store_healthy", "serving", "signal",
                                  "draining", "stopped"));
}

}  // namespace
}  // namespace lossscaler
