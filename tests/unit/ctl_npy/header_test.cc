// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Headers of .npy files. Expected bytes are written by hand from the
// description of the format in NumPy's numpy.lib.format.

#include "ctl/npy/header.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/npy/position.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "testing/status_matchers.h"

namespace lossscaler::ctl {
namespace {

using namespace std::string_literals;  // NOLINT: "..."s keeps zero bytes.
using ::lossscaler::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What numpy.save() writes for np.zeros((2, 3), "<f4"): 10 + 118 = 128 bytes.
std::string NumpyFile() {
  const std::string dictionary =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  return "\x93NUMPY\x01\x00\x76\x00"s + dictionary +
         std::string(117 - dictionary.size(), ' ') + "\n";
}

// A header of version 1.0 that is not padded.
std::string Version1(const std::string& dictionary) {
  return "\x93NUMPY\x01\x00"s + static_cast<char>(dictionary.size() % 256) +
         static_cast<char>(dictionary.size() / 256) + dictionary;
}

std::string WithDescr(const std::string& descr) {
  return Version1("{'descr': " + descr +
                  ", 'fortran_order': False, 'shape': (3,), }");
}
std::string WithShape(const std::string& shape) {
  return Version1("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape +
                  ", }");
}

TEST(NpyHeader, ReadsWhatNumpyWrites) {
  const auto header = ParseNpyHeader(NumpyFile());
  ASSERT_THAT(header, IsOk());
  EXPECT_EQ(header->version, 1);
  EXPECT_EQ(header->type, ElementType::kFloat32);
  EXPECT_FALSE(header->big_endian);
  EXPECT_FALSE(header->fortran_order);
  EXPECT_THAT(header->shape, ElementsAre(2, 3));
  EXPECT_EQ(header->data_offset, 128);
  EXPECT_EQ(header->element_count(), 6);
  EXPECT_EQ(header->data_bytes(), 24);
}

TEST(NpyHeader, IsWrittenAsNumpyWritesIt) {
  NpyHeader header;
  header.shape = {2, 3};
  EXPECT_EQ(NpyPrefix(header), NumpyFile());
}

TEST(NpyHeader, Versions2And3HaveALengthOfFourBytes) {
  const std::string dictionary =
      "{'descr': '>f8', 'fortran_order': True, 'shape': (), }";
  for (const char version : {'\x02', '\x03'}) {
    // 12 + 116 = 128.
    const std::string file = "\x93NUMPY"s + version + "\x00\x74\x00\x00\x00"s +
                             dictionary +
                             std::string(115 - dictionary.size(), ' ') + "\n";
    const auto header = ParseNpyHeader(file);
    ASSERT_THAT(header, IsOk());
    EXPECT_EQ(header->version, version);
    EXPECT_TRUE(header->big_endian);
    EXPECT_TRUE(header->fortran_order);
    EXPECT_THAT(header->shape, IsEmpty());
    EXPECT_EQ(header->element_count(), 1);
    EXPECT_EQ(NpyPrefix(*header), file);
  }
}

TEST(NpyHeader, AnyPythonSpellingIsRead) {
  const auto header = ParseNpyHeader(
      Version1("  {\t\"shape\" :( 4 ,5L , 6,)\n, 'fortran_order':True,"
               "\"descr\":'f2'}\r\n"));
  ASSERT_THAT(header, IsOk());
  EXPECT_EQ(header->type, ElementType::kFloat16);
  EXPECT_TRUE(header->fortran_order);
  EXPECT_THAT(header->shape, ElementsAre(4, 5, 6));
}

TEST(NpyHeader, ByteOrders) {
  for (const char* native : {"'<f8'", "'=f8'", "'|f8'", "'f8'"}) {
    const auto header = ParseNpyHeader(WithDescr(native));
    ASSERT_THAT(header, IsOk()) << native;
    EXPECT_FALSE(header->big_endian) << native;
    EXPECT_EQ(header->type, ElementType::kFloat64);
  }
}

TEST(NpyHeader, OtherTypesAreNamedAndSoIsWhatIsAccepted) {
  for (const std::string descr :
       {"|O", "<i4", "<c8", "|b1", "<f16", "<U5", "", "<f3", "<<f4"}) {
    const auto header = ParseNpyHeader(WithDescr("'" + descr + "'"));
    ASSERT_FALSE(header.ok()) << descr;
    const std::string message(header.status().message());
    EXPECT_THAT(message, HasSubstr("\"" + descr + "\""));
    EXPECT_THAT(message, HasSubstr("float16, float32 and float64"));
  }
  EXPECT_THAT(ParseNpyHeader(WithDescr("'|O'")).status().message(),
              HasSubstr("Python objects"));
  EXPECT_THAT(ParseNpyHeader(WithDescr("[('x', '<f4'), ('y', '<f4')]"))
                  .status()
                  .message(),
              AllOf(HasSubstr("structured"),
                    HasSubstr(R"([(\'x\', \'<f4\'), (\'y\', \'<f4\')])")));
}

TEST(NpyHeader, ShapesThatAreNotTuplesOfSizesAreRefused) {
  for (const char* shape :
       {"(3)", "[3]", "3", "(-1,)", "(1.5,)", "(,)", "(3, 4", "(3 4)", "(03,)",
        "None", "('3',)", "(9223372036854775808,)"}) {
    const auto header = ParseNpyHeader(WithShape(shape));
    ASSERT_FALSE(header.ok()) << shape;
    EXPECT_THAT(header.status().message(), HasSubstr("shape")) << shape;
  }
}

TEST(NpyHeader, SizesThatOverflowAreRefused) {
  // 2^61 - 1 float32 are the most that 2^63 - 1 bytes hold.
  EXPECT_THAT(ParseNpyHeader(WithShape("(2305843009213693951,)")), IsOk());
  for (const char* shape :
       {"(2305843009213693952,)", "(4294967296, 4294967296)",
        "(9223372036854775807, 9223372036854775807)"}) {
    EXPECT_THAT(ParseNpyHeader(WithShape(shape)).status().message(),
                HasSubstr("more elements than"))
        << shape;
  }
}

TEST(NpyHeader, OneZeroMakesAnArrayEmptyWhateverTheOtherSizes) {
  const auto header = ParseNpyHeader(
      WithShape("(9223372036854775807, 9223372036854775807, 0)"));
  ASSERT_THAT(header, IsOk());
  EXPECT_EQ(header->element_count(), 0);
  EXPECT_EQ(header->data_bytes(), 0);
}

struct BadFile {
  std::string bytes;
  std::string says;
};

TEST(NpyHeader, WhatIsNoHeaderIsRefusedInWords) {
  const BadFile bad[] = {
      {"", "is empty"},
      {"PK\x03\x04rest", "archive"},
      {"hello, world", "is not a .npy file"},
      {"\x93NUM", "ends after 4 bytes"},
      {"\x93NUMPY\x01"s, "ends after 7 bytes"},
      {"\x93NUMPY\x01\x00\x76"s, "ends after 9 bytes"},
      {NumpyFile().substr(0, 100), "ends after 100 bytes"},
      {"\x93NUMPY\x04\x00\x00\x00\x00\x00"s, "version 4.0"},
      {"\x93NUMPY\x00\x00\x00\x00\x00\x00"s, "version 0.0"},
      {"\x93NUMPY\x01\x01\x00\x00\x00\x00"s, "version 1.1"},
      {"\x93NUMPY\x02\x00\xff\xff\xff\xff"s, "header of 4294967295 bytes"},
      {Version1(""), "not a dictionary"},
      {Version1("{}"), "without descr"},
      {Version1("{'descr': '<f4', 'fortran_order': False}"), "without shape"},
      {Version1("{'descr': '<f4', 'shape': ()}"), "without fortran_order"},
      {Version1("{'descr': '<f4', 'descr': '<f4'}"), "twice"},
      {Version1("{'color': 1}"), "color"},
      {Version1("{'fortran_order': 1}"), "True or False"},
      {Version1("{'descr': '<f4' 'shape': ()}"), "no dictionary at"},
      {Version1("{'descr"), "no dictionary at"},
      {Version1("{'descr': '<f4}  \n"), "no dictionary at \"\\'<f4}\""},
      {Version1("{'descr': '<f4, 'shape': ()}"), "no dictionary at \"shape"},
      {Version1("{'descr': 4  , 'shape': ()}"), "descr \"4\""},
      {Version1("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"),
       "goes on"},
  };
  for (const BadFile& file : bad) {
    const auto header = ParseNpyHeader(file.bytes);
    ASSERT_FALSE(header.ok()) << file.says;
    EXPECT_EQ(header.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(header.status().message(), HasSubstr(file.says));
  }
}

TEST(NpyHeader, TakesSixtyFourDimensionsAndNoMore) {
  std::string sizes;
  for (int i = 0; i < 64; ++i) sizes += "1,";
  EXPECT_THAT(ParseNpyHeader(WithShape("(" + sizes + ")")), IsOk());
  EXPECT_THAT(ParseNpyHeader(WithShape("(" + sizes + "1)")).status().message(),
              HasSubstr("more than 64 dimensions"));
}

TEST(NpyPosition, FollowsTheStorageOrder) {
  NpyHeader header;
  header.shape = {2, 3, 4};
  // 1 * 12 + 2 * 4 + 3.
  EXPECT_THAT(PositionOf(23, header), ElementsAre(1, 2, 3));
  EXPECT_THAT(PositionOf(5, header), ElementsAre(0, 1, 1));
  header.fortran_order = true;
  // 1 + 2 * 2 + 0 * 6.
  EXPECT_THAT(PositionOf(5, header), ElementsAre(1, 2, 0));
  header.shape = {};
  EXPECT_THAT(PositionOf(0, header), IsEmpty());
}

TEST(NpyPosition, IsWrittenAsATuple) {
  EXPECT_EQ(TupleText({}), "()");
  EXPECT_EQ(TupleText({3}), "(3,)");
  EXPECT_EQ(TupleText({3, 4}), "(3, 4)");
}

RC_GTEST_PROP(NpyHeaderProperty, WhatIsWrittenIsRead, ()) {
  NpyHeader header;
  header.version = *rc::gen::inRange(1, 4);
  header.type = *rc::gen::element(ElementType::kFloat16, ElementType::kFloat32,
                                  ElementType::kFloat64);
  header.big_endian = *rc::gen::arbitrary<bool>();
  header.fortran_order = *rc::gen::arbitrary<bool>();
  header.shape =
      *rc::gen::resize(8, rc::gen::container<std::vector<std::uint64_t>>(
                              rc::gen::inRange<std::uint64_t>(0, 100)));
  const std::string bytes = NpyPrefix(header);
  const auto read = ParseNpyHeader(bytes);
  RC_ASSERT(read.ok());
  RC_ASSERT(read->version == header.version);
  RC_ASSERT(read->type == header.type);
  RC_ASSERT(read->big_endian == header.big_endian);
  RC_ASSERT(read->fortran_order == header.fortran_order);
  RC_ASSERT(read->shape == header.shape);
  RC_ASSERT(read->data_offset == bytes.size());
  RC_ASSERT(bytes.size() % 64 == 0);
  RC_ASSERT(bytes.back() == '\n');
}

RC_GTEST_PROP(NpyHeaderProperty, MutationsAreReadOrRefused, ()) {
  std::string bytes = NumpyFile();
  const auto places =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(
          rc::gen::inRange<std::size_t>(0, bytes.size())));
  for (const std::size_t place : places) {
    bytes[place] = *rc::gen::arbitrary<char>();
  }
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
  const auto header = ParseNpyHeader(bytes);
  if (header.ok()) {
    RC_ASSERT(header->data_offset <= bytes.size());
  } else {
    RC_ASSERT(!header.status().message().empty());
  }
}

}  // namespace
}  // namespace lossscaler::ctl
