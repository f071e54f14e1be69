// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// `lossscalerctl unscale` on a server that is made up: what it reads, refuses,
// writes and leaves alone.

#include "ctl/unscale_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ctl/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/mocks/mock_connection.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/unscale.h"
#include "nlohmann/json.hpp"
#include "testing/child_process.h"
#include "testing/temp_directory.h"

namespace lossscaler::ctl {
namespace {

using namespace std::string_literals;  // NOLINT: "..."s keeps zero bytes.
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NiceMock;
using ::testing::StartsWith;
namespace fs = std::filesystem;

// A file of version 1.0 whose header is not padded.
std::string Npy(const std::string& descr, const std::string& shape,
                const std::string& data, const char* order = "False") {
  const std::string header = "{'descr': " + descr +
                             ", 'fortran_order': " + order +
                             ", 'shape': " + shape + "}";
  return "\x93NUMPY\x01\x00"s + static_cast<char>(header.size()) + "\x00"s +
         header + data;
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

std::string Reversed(std::string bytes) {
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

class UnscaleFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ON_CALL(connection_, Unscale)
        .WillByDefault([this](const UnscaleCall& call) {
          ++calls_;
          names_.clear();
          session_ = call.session;
          for (const GradientTensor& tensor : call.tensors) {
            names_.push_back(tensor.name);
          }
          return Answer(call);
        });
  }
  // What a server answers.
  UnscaleAnswer Answer(const UnscaleCall& call) const {
    UnscaleAnswer answer{.scale = scale_, .step = 7, .epoch = 1, .tensors = {}};
    for (const GradientTensor& tensor : call.tensors) {
      answer.tensors.push_back(
          Unscale(tensor.type, tensor.input, tensor.element_count(),
                  tensor.output_type, tensor.output, 0,
                  {.scale = scale_, .statistics = !call.skip_statistics}));
    }
    return answer;
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_.path(), "/", name);
  }
  std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Name and content of everything in the folder.
  std::map<std::string, std::string> Folder() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      const std::string name =
          fs::relative(entry.path(), folder_.path()).string();
      files[name] = entry.is_regular_file() ? Read(name) : "";
    }
    return files;
  }
  int Run(const UnscaleRequest& request, Format format = Format::kText) {
    out_.str("");
    err_.str("");
    return UnscaleFiles({.out = out_,
                         .err = err_,
                         .connect = nullptr,
                         .is_serving = nullptr,
                         .unfinished_files = unfinished_},
                        connection_, request, format);
  }
  // Refused as wrong usage, in one line, before the server is asked; the folder
  // is as it was.
  void ExpectRefused(const UnscaleRequest& request, const std::string& says) {
    const auto before = Folder();
    EXPECT_EQ(Run(request), kWrongUsage) << says;
    EXPECT_THAT(err_.str(), HasSubstr(says));
    const std::string err = err_.str();
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    EXPECT_THAT(out_.str(), IsEmpty());
    EXPECT_EQ(calls_, 0);
    EXPECT_EQ(Folder(), before);
  }
  UnscaleRequest To(const std::string& output,
                    std::vector<std::string> inputs) {
    return {.session = "s", .inputs = std::move(inputs), .output = output};
  }

  testing::TempDirectory folder_;
  NiceMock<MockConnection> connection_;
  UnfinishedFiles unfinished_;
  std::ostringstream out_;
  std::ostringstream err_;
  double scale_ = 4;
  int calls_ = 0;
  std::vector<std::string> names_;
  SessionRef session_;
};

const std::vector<float> kFloats = {8, -2, 1};

TEST_F(UnscaleFilesTest, DividesAndWritesTheHeaderNumpyWould) {
  const std::string in = Write("a.npy", Npy("'<f4'", "(3,)", Bytes(kFloats)));
  EXPECT_EQ(Run(To(Path("b.npy"), {in})), kDone) << err_.str();
  const std::string dictionary =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  EXPECT_EQ(Read("b.npy"), "\x93NUMPY\x01\x00\x76\x00"s + dictionary +
                               std::string(117 - dictionary.size(), ' ') +
                               "\n" + Bytes<float>({2, -0.5F, 0.25F}));
  EXPECT_THAT(names_, ElementsAre(in));
  EXPECT_EQ(session_.name, "s");
  EXPECT_EQ(session_.uid, "");
  EXPECT_THAT(Folder(), ::testing::SizeIs(2));
}

TEST_F(UnscaleFilesTest, BigEndianIsReadAndWrittenInTheMachinesOrder) {
  const std::string in = Write(
      "a.npy", Npy("'>f8'", "(2,)", Reversed(Bytes<double>({12, 1e300}))));
  EXPECT_EQ(Run(To(in, {in})), kDone) << err_.str();
  const std::string result = Read("a.npy");
  EXPECT_THAT(result, HasSubstr("'<f8'"));
  EXPECT_EQ(result.substr(128), Bytes<double>({2.5e299, 3}));
}

TEST_F(UnscaleFilesTest, HalfWidensUnlessItsTypeIsKept) {
  // 1.0 is 0x3c00, 0.25 is 0x3400.
  const std::string in =
      Write("a.npy", Npy("'<f2'", "()", Bytes<std::uint16_t>({0x3c00})));
  UnscaleRequest request = To(Path("b.npy"), {in});
  EXPECT_EQ(Run(request), kDone) << err_.str();
  EXPECT_EQ(Read("b.npy").substr(128), Bytes<float>({0.25F}));
  EXPECT_THAT(out_.str(), HasSubstr("float16 -> float32"));
  request.keep_type = true;
  EXPECT_EQ(Run(request), kDone) << err_.str();
  EXPECT_EQ(Read("b.npy").substr(128), Bytes<std::uint16_t>({0x3400}));
}

TEST_F(UnscaleFilesTest, FortranOrderAndEmptyArraysStay) {
  const std::string in = Write("a.npy", Npy("'<f4'", "(0, 5)", "", "True"));
  EXPECT_EQ(Run(To(Path("b.npy"), {in})), kDone) << err_.str();
  EXPECT_THAT(Read("b.npy"),
              HasSubstr("'fortran_order': True, 'shape': (0, 5), }"));
  EXPECT_EQ(Read("b.npy").size(), 128);
}

TEST_F(UnscaleFilesTest, SeveralFilesAreOneCallIntoAFolder) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(3,)", Bytes(kFloats)));
  const std::string b = Write("b.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  fs::create_directory(Path("out"));
  EXPECT_EQ(Run(To(Path("out"), {a, b})), kDone) << err_.str();
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(Read("out/a.npy").substr(128), Bytes<float>({2, -0.5F, 0.25F}));
  EXPECT_EQ(Read("out/b.npy").substr(128), Bytes<float>({1}));
}

TEST_F(UnscaleFilesTest, OneFileMayGoToAFolderToo) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  fs::create_directory(Path("out"));
  EXPECT_EQ(Run(To(Path("out/"), {a})), kDone) << err_.str();
  EXPECT_EQ(Read("out/a.npy").substr(128), Bytes<float>({1}));
}

TEST_F(UnscaleFilesTest, NothingIsWrittenWithoutAnOutput) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  const auto before = Folder();
  // The same file twice has one name; the second is left to the library.
  EXPECT_EQ(Run(To("", {a, a})), kDone) << err_.str();
  EXPECT_EQ(Folder(), before);
  EXPECT_THAT(names_, ElementsAre(a, ""));
}

TEST_F(UnscaleFilesTest, FirstBadValueIsThatOfTheInputWithItsPosition) {
  // 3e38 / 0.25 is infinite in float32. In Fortran order, element 4 of a 2 x 3
  // array is (0, 2).
  scale_ = 0.25;
  const std::string in =
      Write("a.npy", Npy("'<f4'", "(2, 3)",
                         Bytes<float>({1, 1, 1, 1, 3e38F, -INFINITY}), "True"));
  UnscaleRequest request = To(in, {in});
  EXPECT_EQ(Run(request, Format::kJson), kDone) << err_.str();
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["overflow"], true);
  EXPECT_EQ(json["scale"], 0.25);
  EXPECT_EQ(json["step"], 7);
  EXPECT_EQ(json["session"], "s");
  EXPECT_EQ(json["absolute_maximum"], 4);
  EXPECT_EQ(json["norm"], 8);
  const auto& file = json["files"][0];
  EXPECT_EQ(file["first_bad"]["index"], 4);
  EXPECT_EQ(file["first_bad"]["position"], (std::vector<int>{0, 2}));
  EXPECT_EQ(file["first_bad"]["value"], "3e+38");
  EXPECT_EQ(file["positive_infinity"], 1);
  EXPECT_EQ(file["negative_infinity"], 1);
  EXPECT_EQ(file["nan"], 0);
  EXPECT_EQ(file["elements"], 6);
  EXPECT_EQ(file["shape"], (std::vector<int>{2, 3}));
  EXPECT_EQ(file["dtype"], "float32");
  EXPECT_EQ(file["output_dtype"], "float32");
  EXPECT_EQ(file["input"], in);
  EXPECT_EQ(file["output"], in);
}

TEST_F(UnscaleFilesTest, FailsOnOverflowOnlyIfAsked) {
  const std::string in =
      Write("a.npy", Npy("'<f4'", "(2,)", Bytes<float>({1, NAN})));
  UnscaleRequest request = To(Path("b.npy"), {in});
  EXPECT_EQ(Run(request), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("nan at (1,), element 1"));
  EXPECT_THAT(out_.str(),
              HasSubstr("overflow: yes  norm of the finite elements: 0.25  "
                        "their absolute maximum: 0.25  scale: 4"));
  request.fail_on_overflow = true;
  EXPECT_EQ(Run(request), kOverflowFound);
  EXPECT_TRUE(fs::exists(Path("b.npy")));
  const std::string good =
      Write("good.npy", Npy("'<f4'", "(1,)", Bytes<float>({1})));
  request.inputs = {good};
  EXPECT_EQ(Run(request), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("overflow: no  norm: 0.25  absolute "
                                    "maximum: 0.25  scale: 4"));
}

TEST_F(UnscaleFilesTest, NormsAreUnknownWithoutStatistics) {
  const std::string in =
      Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  UnscaleRequest request = To("", {in});
  request.skip_statistics = true;
  EXPECT_EQ(Run(request, Format::kJson), kDone);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_TRUE(json["norm"].is_null());
  EXPECT_TRUE(json["absolute_maximum"].is_null());
  EXPECT_TRUE(json["files"][0]["norm"].is_null());
  EXPECT_TRUE(json["files"][0]["first_bad"].is_null());
  EXPECT_TRUE(json["files"][0]["output"].is_null());
}

TEST_F(UnscaleFilesTest, BadInputIsRefused) {
  const auto refuse = [this](const std::string& in, const std::string& says) {
    ExpectRefused(To(Path("out.npy"), {in}), says);
  };
  refuse(Path("nowhere.npy"), "nowhere.npy: cannot be opened: No such file");
  refuse(folder_.path(), "is a folder");
  refuse("/dev/null", "is a device");
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  refuse(Path("pipe"), "is a pipe");
  refuse(Write("empty", ""), "is empty");
  refuse(Write("text", "1 2 3\n"), "is not a .npy file");
  const std::string whole = Npy("'<f4'", "(3,)", Bytes(kFloats));
  refuse(Write("short", whole.substr(0, whole.size() - 1)),
         absl::StrCat("is truncated: its header makes it ", whole.size(),
                      " bytes, it has ", whole.size() - 1));
  refuse(Write("long", whole + "x"),
         absl::StrCat("bytes after its last element: its header makes it ",
                      whole.size(), " bytes, it has ", whole.size() + 1));
  refuse(Write("object", Npy("'|O'", "(1,)", "x")), "Python objects");
  refuse(Write("record", Npy("[('a', '<f4')]", "(1,)", "xxxx")), "structured");
}

TEST_F(UnscaleFilesTest, OneBadFileAmongGoodOnesStopsAll) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  fs::create_directory(Path("out"));
  ExpectRefused(To(Path("out"), {a, Write("b.npy", "no")}), "b.npy: is not");
}

TEST_F(UnscaleFilesTest, BadOutputIsRefused) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  const auto refuse = [&](const std::string& out, const std::string& says) {
    ExpectRefused(To(out, {a}), says);
  };
  refuse(Path("no/b.npy"), "no: is no folder for results");
  refuse(Path("no/"), "is no folder for results");
  refuse(absl::StrCat(a, "/b.npy"), "a.npy: is not a folder");
  // In place of /dev/null, which a defect would replace for everybody.
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  refuse(Path("pipe"), "is not a regular file");
  fs::create_directories(Path("out/a.npy"));
  refuse(Path("out"), "out/a.npy: is a folder");
  fs::create_symlink(Path("gone"), Path("dangling"));
  refuse(Path("dangling"), "is a link to nothing");
}

TEST_F(UnscaleFilesTest, SeveralFilesNeedAFolderAndNamesOfTheirOwn) {
  const std::string npy = Npy("'<f4'", "(1,)", Bytes<float>({4}));
  fs::create_directories(Path("x"));
  fs::create_directories(Path("out"));
  const std::string a = Write("a.npy", npy);
  const std::string b = Write("b.npy", npy);
  ExpectRefused(To(Path("c.npy"), {a, b}), "c.npy: is not a folder");
  ExpectRefused(To(Path("out"), {a, Write("x/a.npy", npy)}),
                "as another file of this call");
  Write("out/a.npy", "old");
  fs::create_symlink("a.npy", Path("out/b.npy"));
  ExpectRefused(To(Path("out"), {a, b}), "is a link to the result of another");
}

TEST_F(UnscaleFilesTest, LinksAreFollowed) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  fs::create_directory(Path("far"));
  Write("far/target", "old");
  fs::create_symlink("far/target", Path("link"));
  EXPECT_EQ(Run(To(Path("link"), {a})), kDone) << err_.str();
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read("far/target").substr(128), Bytes<float>({1}));
}

TEST_F(UnscaleFilesTest, PermissionsAreOrdinaryOrThoseOfTheOldFile) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  const mode_t before = umask(027);
  EXPECT_EQ(Run(To(Path("new"), {a})), kDone);
  Write("old", "x");
  chmod(Path("old").c_str(), 0604);
  EXPECT_EQ(Run(To(Path("old"), {a})), kDone);
  EXPECT_EQ(umask(before), 027) << "it has changed the umask";
  struct stat info;
  ASSERT_EQ(stat(Path("new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640);
  ASSERT_EQ(stat(Path("old").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0604);
}

TEST_F(UnscaleFilesTest, LongestNamesWork) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  EXPECT_EQ(Run(To(Path(std::string(255, 'n')), {a})), kDone) << err_.str();
}

TEST_F(UnscaleFilesTest, FolderOfSomebodyElseIsRefused) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  fs::create_directory(Path("theirs"));
  chmod(folder_.path().c_str(), 0755);
  chmod(Path("theirs").c_str(), geteuid() == 0 ? 0755 : 0555);
  const std::string said = testing::InChild([&] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    const int code = Run(To(Path("theirs"), {a}));
    return absl::StrCat(code, " ", calls_, " ", err_.str());
  });
  EXPECT_THAT(said, StartsWith("2 0 lossscalerctl: INVALID_FILE: "));
  EXPECT_THAT(said, HasSubstr("theirs: is not a folder one can write to"));
  EXPECT_TRUE(fs::is_empty(Path("theirs")));
}

TEST_F(UnscaleFilesTest, WhatDoesNotFitMemoryIsRefusedBeforeItIsRead) {
  const std::string huge = Write("b.npy", Npy("'<f8'", "(1099511627776,)", ""));
  // 2^43 bytes, none of them on disk.
  ASSERT_EQ(truncate(huge.c_str(), static_cast<off_t>(fs::file_size(huge)) +
                                       (off_t{1} << 43)),
            0);
  UnscaleRequest request = To(Path("c.npy"), {huge});
  EXPECT_EQ(Run(request), kWrongUsage);
  EXPECT_THAT(err_.str(),
              HasSubstr("1 file needs 8796093022208 bytes of memory, and "));
  EXPECT_THAT(err_.str(), HasSubstr("in several calls"));
  EXPECT_FALSE(fs::exists(Path("c.npy")));
  EXPECT_EQ(calls_, 0);
}

TEST_F(UnscaleFilesTest, ErrorsOfTheServerLeaveTheFolderAsItWas) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  const std::pair<absl::Status, int> errors[] = {
      {MakeError(Reason::kSessionNotFound, "no session"), kRefused},
      {MakeError(Reason::kUnavailableBudgetSpent, "away"), kOutOfReach},
      {MakeError(Reason::kInvalidSessionName, "bad name"), kWrongUsage}};
  for (const auto& [error, code] : errors) {
    std::size_t files_meanwhile = 0;
    EXPECT_CALL(connection_, Unscale)
        .WillOnce([&, status = error](const UnscaleCall& call) {
          files_meanwhile = Folder().size();
          // Half of the work is done in memory.
          std::memset(call.tensors[0].output, 0, 4);
          return status;
        });
    const auto before = Folder();
    EXPECT_EQ(Run(To(a, {a})), code);
    EXPECT_EQ(files_meanwhile, 2);
    EXPECT_EQ(Folder(), before);
  }
}

TEST_F(UnscaleFilesTest, ProgressIsDrawnOnlyIfAsked) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  for (const bool progress : {true, false}) {
    EXPECT_CALL(connection_, Unscale).WillOnce([&](const UnscaleCall& call) {
      EXPECT_EQ(call.on_progress != nullptr, progress);
      if (call.on_progress) {
        call.on_progress({.bytes_done = 4, .bytes_total = 4});
      }
      return UnscaleAnswer{.tensors = {UnscaleVerdict{.element_count = 1}}};
    });
    UnscaleRequest request = To("", {a});
    request.progress = progress;
    EXPECT_EQ(Run(request), kDone);
    for (const char* part : {"100%", "\rreading 1 file, 4 B ..."}) {
      EXPECT_EQ(err_.str().find(part) != std::string::npos, progress) << part;
    }
  }
  EXPECT_CALL(connection_, Unscale).WillOnce([this](const auto& call) {
    return Answer(call);
  });
  UnscaleRequest request = To(a, {a});
  request.progress = true;
  EXPECT_EQ(Run(request), kDone);
  EXPECT_THAT(err_.str(), HasSubstr("\rwriting 1 file, 4 B ..."));
}

TEST_F(UnscaleFilesTest, InputThatIsReplacedMeanwhileIsNotLookedAtAgain) {
  const std::string npy = Npy("'<f4'", "(2,)", Bytes<float>({8, NAN}));
  const auto then = [this](const std::function<void()>& what) {
    EXPECT_CALL(connection_, Unscale).WillOnce([this, what](const auto& call) {
      what();
      return Answer(call);
    });
  };
  const auto value = [this] {
    return nlohmann::json::parse(out_.str())["files"][0]["first_bad"]["value"];
  };
  const std::string a = Write("a.npy", npy);
  const UnscaleRequest request = To(Path("b.npy"), {a});
  then([&] { fs::remove(a); });
  EXPECT_EQ(Run(request, Format::kJson), kDone) << err_.str();
  EXPECT_TRUE(value().is_null()) << value();
  EXPECT_EQ(Read("b.npy").substr(128, 4), Bytes<float>({2}));

  Write("a.npy", npy);
  then([&] {
    fs::rename(Write("new", Npy("'<f4'", "(2,)", Bytes<float>({1, 1}))), a);
  });
  EXPECT_EQ(Run(request), kDone) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("? at (1,), element 1"));
  EXPECT_EQ(Read("b.npy").substr(128, 4), Bytes<float>({2}));

  // What was not unscaled in place is in memory still. 0xfc00 is -inf.
  Write("a.npy", Npy("'<f2'", "(1,)", Bytes<std::uint16_t>({0xfc00})));
  then([&] { fs::remove(a); });
  EXPECT_EQ(Run(request, Format::kJson), kDone) << err_.str();
  EXPECT_EQ(value(), "-inf");
}

TEST_F(UnscaleFilesTest, ResultsThatAreInPlaceAreNamedWhenTheNextIsNot) {
  const std::string npy = Npy("'<f4'", "(1,)", Bytes<float>({4}));
  fs::create_directory(Path("out"));
  EXPECT_CALL(connection_, Unscale).WillOnce([this](const auto& call) {
    fs::create_directory(Path("out/b.npy"));
    return Answer(call);
  });
  const UnscaleRequest request =
      To(Path("out"),
         {Write("a.npy", npy), Write("b.npy", npy), Write("c.npy", npy)});
  EXPECT_EQ(Run(request, Format::kJson), kRefused);
  EXPECT_THAT(out_.str(), IsEmpty());
  const auto error = nlohmann::json::parse(err_.str())["error"];
  EXPECT_EQ(error["reason"], "FILE_NOT_WRITTEN");
  EXPECT_EQ(error["message"],
            absl::StrCat(Path("out/b.npy"),
                         ": cannot be put in its place: Is a directory; these "
                         "results were written: ",
                         Path("out/a.npy")));
  EXPECT_EQ(error["metadata"]["file"], Path("out/b.npy"));
  EXPECT_EQ(error["metadata"]["error"], "Is a directory");
  EXPECT_EQ(error["metadata"]["written"], Path("out/a.npy"));
  EXPECT_EQ(Read("out/a.npy").substr(128), Bytes<float>({1}));
  EXPECT_EQ(std::distance(fs::directory_iterator(Path("out")), {}), 2);
}

TEST_F(UnscaleFilesTest, FolderThatCannotBeReadTakesResults) {
  const std::string a = Write("a.npy", Npy("'<f4'", "(1,)", Bytes<float>({4})));
  fs::create_directory(Path("letterbox"));
  chmod(folder_.path().c_str(), 0755);
  chmod(Path("letterbox").c_str(), geteuid() == 0 ? 0733 : 0333);
  const std::string said = testing::InChild([&] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    const int code = Run(To(Path("letterbox"), {a}));
    return absl::StrCat(code, " ", err_.str());
  });
  chmod(Path("letterbox").c_str(), 0755);
  EXPECT_EQ(said, "0 ");
  EXPECT_EQ(Read("letterbox/a.npy").substr(128), Bytes<float>({1}));
}

TEST_F(UnscaleFilesTest, ErrorsOfFilesSayInJsonWhatTheyAreAbout) {
  EXPECT_EQ(Run(To("", {Path("no.npy")}), Format::kJson), kWrongUsage);
  auto error = nlohmann::json::parse(err_.str())["error"];
  EXPECT_EQ(error["reason"], "INVALID_FILE");
  EXPECT_EQ(error["metadata"]["file"], Path("no.npy"));
  EXPECT_EQ(error["metadata"]["error"], "No such file or directory");
}

}  // namespace
}  // namespace lossscaler::ctl
