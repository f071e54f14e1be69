// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// TLS as the server offers it to clients of the library: who gets in, who does
// not, and what becomes of both when certificates change.

#include "ops/tls_credentials.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "ops/tls_files.h"
#include "testing/certificates.h"
#include "testing/scripted_unscale_server.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/write_file.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::Authority;
using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;
using lossscaler::testing::KeyPair;
using lossscaler::testing::WriteFile;
using ::testing::Optional;

// Says who it is; an Unscale stream is answered message by message.
class EchoService : public v1::LossScalerService::Service {
 public:
  grpc::Status GetServerInfo(grpc::ServerContext*,
                             const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    response->set_version("echo");
    return grpc::Status::OK;
  }

  grpc::Status Unscale(
      grpc::ServerContext*,
      lossscaler::testing::UnscaleServerStream* stream) override {
    v1::UnscaleRequest request;
    while (stream->Read(&request)) {
      v1::UnscaleResponse response;
      response.mutable_opened()->set_step(request.open().step());
      stream->Write(response);
    }
    return grpc::Status::OK;
  }
};

class TlsCredentialsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ours_ = new Authority("ours");
    theirs_ = new Authority("theirs");
  }
  static void TearDownTestSuite() {
    delete ours_;
    delete theirs_;
    ours_ = theirs_ = nullptr;
  }

  // Two ports that show `pair`; clients must be vouched for by `client_ca`,
  // unless it is empty. `now`: when the files are looked at.
  void Serve(const KeyPair& pair, const std::string& client_ca = "",
             absl::Time now = absl::Now()) {
    WritePair(pair);
    TlsPaths paths = {.cert = cert_, .key = key_};
    if (!client_ca.empty()) {
      WriteFile(client_ca_, client_ca);
      paths.client_ca = client_ca_;
    }
    auto files = TlsFiles::Open(paths, [now] { return now; });
    ASSERT_THAT(files, IsOk());
    files_ = *std::move(files);
    credentials_ = MakeTlsCredentials(files_.get());
    grpc::ServerBuilder builder;
    for (int& port : ports_) {
      builder.AddListeningPort("127.0.0.1:0", credentials_, &port);
    }
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  void WritePair(const KeyPair& pair) {
    WriteFile(cert_, pair.certificate);
    WriteFile(key_, pair.key);
  }

  // A call on a new connection by a client that trusts `ca` and, if it has any,
  // shows `identity`.
  absl::Status CallTrusting(const std::string& ca,
                            const std::optional<KeyPair>& identity = {},
                            int port = 0) {
    ClientOptions options;
    options.address = absl::StrCat("127.0.0.1:", ports_[port]);
    options.unavailable_budget = absl::Milliseconds(500);
    options.tls.emplace();
    options.tls->ca_certificates = ca;
    if (identity.has_value()) {
      options.tls->certificate_chain = identity->certificate;
      options.tls->private_key = identity->key;
    }
    return MakeConnection(options)->GetServerInfo().status();
  }

  std::unique_ptr<v1::LossScalerService::Stub> StubTrusting(
      const std::string& ca) {
    grpc::SslCredentialsOptions ssl;
    ssl.pem_root_certs = ca;
    return v1::LossScalerService::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", ports_[0]), grpc::SslCredentials(ssl)));
  }

  static Authority* ours_;
  static Authority* theirs_;
  const lossscaler::testing::TempDirectory directory_;
  const std::string cert_ = directory_.path() + "/cert.pem";
  const std::string key_ = directory_.path() + "/key.pem";
  const std::string client_ca_ = directory_.path() + "/client-ca.pem";
  EchoService service_;
  int ports_[2] = {};
  std::unique_ptr<TlsFiles> files_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::Server> server_;
};

Authority* TlsCredentialsTest::ours_ = nullptr;
Authority* TlsCredentialsTest::theirs_ = nullptr;

TEST_F(TlsCredentialsTest, EveryPortIsOpenToThoseWhoTrustTheAuthority) {
  Serve(ours_->Issue({}));
  for (const int port : {0, 1}) {
    EXPECT_THAT(CallTrusting(ours_->certificate(), {}, port), IsOk());
    EXPECT_THAT(CallTrusting(theirs_->certificate(), {}, port),
                IsErrorSaying(Reason::kUnavailableBudgetSpent,
                              "certificate verify failed"));
  }
}

TEST_F(TlsCredentialsTest, AClientWithoutTlsGetsNowhere) {
  Serve(ours_->Issue({}));
  ClientOptions options;
  options.address = absl::StrCat("127.0.0.1:", ports_[0]);
  options.unavailable_budget = absl::Milliseconds(500);
  EXPECT_THAT(MakeConnection(options)->GetServerInfo(),
              IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(CallTrusting(ours_->certificate()), IsOk());
}

TEST_F(TlsCredentialsTest, AServerThatExpiredWhileItRanIsRefusedByClients) {
  const absl::Time end = absl::Now() - absl::Hours(1);
  Serve(ours_->Issue({.not_before = end - absl::Hours(24), .not_after = end}),
        "", end - absl::Hours(1));
  EXPECT_THAT(CallTrusting(ours_->certificate()),
              IsErrorSaying(Reason::kUnavailableBudgetSpent,
                            "certificate verify failed"));
}

TEST_F(TlsCredentialsTest, ClientsShowACertificateThatTheAuthorityVouchesFor) {
  Serve(ours_->Issue({}), theirs_->certificate());
  const std::string& ca = ours_->certificate();
  const KeyPair good =
      theirs_->Issue({.name = "client", .extended_key_usage = "clientAuth"});
  EXPECT_THAT(CallTrusting(ca, good), IsOk());

  const absl::Time now = absl::Now();
  const std::optional<KeyPair> refused[] = {
      // None.
      std::nullopt,
      // Of another authority, which vouches for the server only.
      ours_->Issue({.name = "client"}),
      // Expired, and not valid yet.
      theirs_->Issue({.not_before = now - absl::Hours(48),
                      .not_after = now - absl::Hours(24)}),
      theirs_->Issue({.not_before = now + absl::Hours(24)}),
      // For servers.
      theirs_->Issue({.extended_key_usage = "serverAuth"}),
  };
  for (const std::optional<KeyPair>& identity : refused) {
    EXPECT_THAT(CallTrusting(ca, identity),
                IsError(Reason::kUnavailableBudgetSpent))
        << &identity - refused;
  }
  // Nobody else was harmed.
  EXPECT_THAT(CallTrusting(ca, good, 1), IsOk());
}

TEST_F(TlsCredentialsTest, ANewCertificateIsShownToNewConnectionsOnly) {
  Serve(ours_->Issue({}));
  const auto stub = StubTrusting(ours_->certificate());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  const auto stream = stub->Unscale(&context);
  const auto expect_echo = [&](std::int64_t step) {
    v1::UnscaleRequest request;
    request.mutable_open()->set_step(step);
    EXPECT_TRUE(stream->Write(request));
    v1::UnscaleResponse response;
    EXPECT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.opened().step(), step);
  };
  expect_echo(1);

  WritePair(theirs_->Issue({}));
  EXPECT_THAT(files_->Refresh(), Optional(IsOk()));
  for (const int port : {0, 1}) {
    EXPECT_THAT(CallTrusting(theirs_->certificate(), {}, port), IsOk());
    EXPECT_THAT(CallTrusting(ours_->certificate(), {}, port),
                IsError(Reason::kUnavailableBudgetSpent));
  }
  expect_echo(2);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(TlsCredentialsTest, AHalfRotatedPairIsShownToNobody) {
  Serve(ours_->Issue({}));
  const KeyPair next = theirs_->Issue({});
  WriteFile(key_, next.key);
  EXPECT_THAT(files_->Refresh(), Optional(::testing::Not(IsOk())));
  EXPECT_THAT(CallTrusting(ours_->certificate()), IsOk());
  WriteFile(cert_, next.certificate);
  EXPECT_THAT(files_->Refresh(), Optional(IsOk()));
  EXPECT_THAT(CallTrusting(theirs_->certificate()), IsOk());
}

TEST_F(TlsCredentialsTest, OtherClientAuthoritiesCountForNewConnections) {
  Serve(ours_->Issue({}), ours_->certificate());
  const KeyPair by_ours = ours_->Issue({.name = "a"});
  const KeyPair by_theirs = theirs_->Issue({.name = "b"});
  EXPECT_THAT(CallTrusting(ours_->certificate(), by_ours), IsOk());
  WriteFile(client_ca_, theirs_->certificate());
  EXPECT_THAT(files_->Refresh(), Optional(IsOk()));
  EXPECT_THAT(CallTrusting(ours_->certificate(), by_ours),
              IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(CallTrusting(ours_->certificate(), by_theirs), IsOk());
}

}  // namespace
}  // namespace lossscaler::server
