// The reader takes what is sound and refuses the rest with one line; the writer gives files that it takes.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "refusal.hpp"
#include "support/safetensors.hpp"
#include "temporary_folder.hpp"

namespace {

using example::parse_tensors;
using example::TensorFile;

const std::string data_folder = SEQPAR_EXAMPLE_DATA;

/// A file with this header and so many bytes of data.
std::string file_with(const std::string& header, std::size_t data_bytes) {
    const std::uint64_t length = header.size();
    std::string file(sizeof length, '\0');
    std::memcpy(file.data(), &length, sizeof length);
    return file + header + std::string(data_bytes, '\1');
}

TensorFile parse(const std::string& file) { return parse_tensors(std::as_bytes(std::span(file)), "F"); }

std::string refusal_of(const std::string& header, std::size_t data_bytes) {
    return refusal([&] { parse(file_with(header, data_bytes)); });
}

TensorFile sample() {
    TensorFile contents;
    contents.metadata = {{"b", "2"}, {"a", "quote \" and \xc3\xa9"}};
    contents.add<std::uint8_t>("bytes", {3}, std::array<std::uint8_t, 3>{1, 2, 3});
    contents.add<std::int64_t>("ids", {2, 1}, std::array<std::int64_t, 2>{-1, std::int64_t{1} << 40});
    contents.add<std::int32_t>("empty", {0, 7}, {});
    contents.add<float>("scalar", {}, std::array<float, 1>{0.5F});
    contents.add<seqpar::bf16>("half", {2}, std::array{seqpar::bf16(1), seqpar::bf16(255)});
    return contents;
}

}  // namespace

TEST_CASE("what is written is read back") {
    const TensorFile written = sample();
    const TemporaryFolder folder;
    write_tensors(written, folder / "x.safetensors");
    const TensorFile read = example::read_tensors(folder / "x.safetensors");
    CHECK(read.metadata == written.metadata);
    CHECK(read.tensors == written.tensors);
    CHECK(read.view<std::int64_t>("ids", {2, example::any_extent})[1] == std::int64_t{1} << 40);
    CHECK(read.view<seqpar::bf16>("half", {2})[1].bits == 0x437f);
    CHECK(read.view<std::int32_t>("empty", {0, 7}).empty());
    CHECK(read.view<float>("scalar", {})[0] == 0.5F);
}

TEST_CASE("the same contents give the same bytes, aligned to the width of the elements") {
    const auto bytes = serialize_tensors(sample());
    TensorFile other_order;
    other_order.metadata = sample().metadata;
    const auto contents = sample();
    for (const char* name : {"scalar", "half", "ids", "bytes", "empty"}) {
        const auto& tensor = contents.tensors.at(name);
        other_order.add_bytes(name, tensor.dtype, tensor.shape, tensor.bytes);
    }
    CHECK(serialize_tensors(other_order) == bytes);

    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    CHECK(header % 8 == 0);
    const std::string text(reinterpret_cast<const char*>(bytes.data()) + 8, header);
    CHECK(text.starts_with(R"({"__metadata__":{"a":)"));
    const std::array<const char*, 5> order{"\"ids\"", "\"empty\"", "\"scalar\"", "\"half\"", "\"bytes\""};
    for (std::size_t i = 1; i < order.size(); ++i) {
        CHECK(text.find(order[i - 1]) < text.find(order[i]));
    }
}

TEST_CASE("a file without tensors is a file") {
    CHECK(parse(file_with("{}", 0)).tensors.empty());
    CHECK(parse_tensors(serialize_tensors(TensorFile{}), "F").tensors.empty());
}

TEST_CASE("an array that does not fit its shape, or a name twice, is a fault of the program") {
    TensorFile contents = sample();
    const std::array<std::uint8_t, 3> three{};
    CHECK_THROWS_AS(contents.add<std::uint8_t>("new", {4}, three), std::logic_error);
    CHECK_THROWS_AS(contents.add<std::uint8_t>("bytes", {3}, three), std::logic_error);
    CHECK_THROWS_AS(contents.add<std::uint8_t>("__metadata__", {3}, three), std::logic_error);
    CHECK_THROWS_AS(contents.add<std::uint8_t>("new", {-3}, three), std::logic_error);
    CHECK_THROWS_AS(contents.add_bytes("new", "U7", {3}, std::as_bytes(std::span(three))), std::logic_error);
}

TEST_CASE("a tensor asked for in another dtype or shape is refused with both") {
    const auto contents = [] {
        TensorFile file = sample();
        file.file = "F";
        return file;
    }();
    CHECK(refusal([&] {
              (void)contents.view<std::int32_t>("ids", {2, 1});
          }) == "F: tensor \"ids\": expected I32 [2, 1], got I64 [2, 1]");
    CHECK(refusal([&] { (void)contents.view<std::int64_t>("ids", {example::any_extent}); }) ==
          "F: tensor \"ids\": expected I64 [*], got I64 [2, 1]");
    CHECK(refusal([&] { (void)contents.view<std::int64_t>("nix", {1}); }) ==
          "F: tensor \"nix\": expected I64 [1], got no tensor of that name");
}

TEST_CASE("headers that are not sound are refused") {
    const auto entry = [](const std::string& inside) { return "{\"x\":{" + inside + "}}"; };
    const std::string good = R"("dtype":"U8","shape":[4],"data_offsets":[0,4])";
    REQUIRE(refusal_of(entry(good), 4) == "accepted");
    struct Case {
        std::string header;
        std::string part;
    };
    const std::vector<Case> cases{
        {"", "an empty header"},
        {" " + entry(good), "begins with { at byte 0"},
        {"[]", "begins with {"},
        {entry(good) + "{}", "a syntax error"},
        {entry(good) + std::string(1, '\0'), "a zero byte"},
        {entry(good).substr(0, 20), "a syntax error"},
        {"{\"x\xff\":1}", "a syntax error"},
        {"{\"x\":{" + good + "},\"x\":{" + good + "}}", "the name \"x\" once"},
        {entry(good + ",\"shape\":[4]"), "the name \"shape\" once"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"},\"x\":{" + good + "}}", "the name \"a\" once"},
        {"{\"__metadata__\":{\"a\":1},\"x\":{" + good + "}}", "metadata \"a\": expected a string, got 1"},
        {"{\"__metadata__\":[],\"x\":{" + good + "}}", "__metadata__: expected an object of strings"},
        {"{\"x\":7}", "tensor \"x\": expected an object, got 7"},
        {entry(good + ",\"more\":1"), "got \"more\""},
        {entry(R"("dtype":"U8","shape":[4])"), "got no data_offsets"},
        {entry(R"("dtype":"U8","data_offsets":[0,4])"), "got no shape"},
        {entry(R"("shape":[4],"data_offsets":[0,4])"), "got no dtype"},
        {entry(R"("dtype":"U9","shape":[4],"data_offsets":[0,4])"), "a dtype of safetensors, got \"U9\""},
        {entry(R"("dtype":8,"shape":[4],"data_offsets":[0,4])"), "a dtype of safetensors, got 8"},
        {entry(R"("dtype":"U8","shape":4,"data_offsets":[0,4])"), "a shape that is a list"},
        {entry(R"("dtype":"U8","shape":[-4],"data_offsets":[0,4])"), "got -4"},
        {entry(R"("dtype":"U8","shape":[4.0],"data_offsets":[0,4])"), "got 4.0"},
        {entry(R"("dtype":"U8","shape":["4"],"data_offsets":[0,4])"), "got \"4\""},
        {entry(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4])"), "got 9223372036854775808"},
        {entry(R"("dtype":"U8","shape":[4],"data_offsets":[0])"), "data_offsets of two integers"},
        {entry(R"("dtype":"U8","shape":[4],"data_offsets":[0,-1])"), "data_offsets of two integers"},
        {entry(R"("dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551616])"), "data_offsets of two integers"},
        {entry(R"("dtype":"U8","shape":[4],"data_offsets":[4,0])"), "that do not decrease"},
        {entry(R"("dtype":"U8","shape":[5],"data_offsets":[0,5])"), "inside the 4 bytes"},
        {entry(R"("dtype":"U8","shape":[5],"data_offsets":[0,4])"), "5 bytes for U8 [5], got 4"},
        {entry(R"("dtype":"U8","shape":[3],"data_offsets":[1,4])"), "got a hole"},
        {entry(R"("dtype":"U8","shape":[3],"data_offsets":[0,3])"), "data: expected 3 bytes"},
        // 2^62 x 4 elements and 2^61 x 8 bytes are 0 in 64 bits
        {entry(R"("dtype":"U8","shape":[4611686018427387904,4],"data_offsets":[0,0])"), "fits in 64 bits"},
        {entry(R"("dtype":"I64","shape":[2305843009213693952],"data_offsets":[0,0])"), "fits in 64 bits"},
        {R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
         "tensor \"y\": expected data from byte 2, the end of tensor \"x\", got an overlap"},
    };
    for (const Case& bad : cases) {
        CAPTURE(bad.header);
        const std::string line = refusal_of(bad.header, 4);
        CAPTURE(line);
        CHECK(contains(line, bad.part));
        CHECK(line.starts_with("F: "));
        CHECK(line.find('\n') == std::string::npos);
    }
}

TEST_CASE("a header nested a million deep is refused, not followed") {
    const std::string deep(1000000, '[');
    CHECK(contains(refusal_of("{\"x\":" + deep + std::string(deep.size(), ']') + "}", 0), "expected an object"));
    CHECK(contains(refusal_of("{\"x\":" + deep, 0), "a syntax error"));
    CHECK(contains(refusal_of("{\"x\":{\"dtype\":\"U8\",\"shape\":" + deep + std::string(deep.size(), ']') +
                                  ",\"data_offsets\":[0,0]}}",
                              0),
                   "a shape of integers"));
}

TEST_CASE("names that break lines are escaped, long ones clipped") {
    const std::string line = refusal_of(R"({"a\nb":1})", 0);
    CHECK(contains(line, "a\\x0ab"));
    CHECK(refusal_of("{\"" + std::string(10000, 'x') + "\":1}", 0).size() < 300);
}

TEST_CASE("a file that is not there, a folder and a device are refused") {
    CHECK(contains(refusal([] { (void)example::read_tensors("/nowhere/x"); }), "/nowhere/x: expected a file"));
    CHECK(contains(refusal([] { (void)example::read_tensors(data_folder); }), "got a folder"));
    CHECK(contains(refusal([] { (void)example::read_tensors("/dev/zero"); }), "got a device"));
}

TEST_CASE("a file that cannot be written is an error") {
    CHECK_THROWS_AS(write_tensors(sample(), "/nowhere/x.safetensors"), std::system_error);
}

TEST_CASE("a file cut at any byte, or with bytes more, is refused") {
    const std::string whole = contents_of(data_folder + "/tiny.safetensors");
    REQUIRE(refusal([&] { parse(whole); }) == "accepted");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        CHECK(refusal([&] { parse(whole.substr(0, length)); }) != "accepted");
    }
    CHECK(refusal([&] { parse(whole + "x"); }) != "accepted");
}

TEST_CASE("any byte of the header changed: refused or read, nothing else") {
    const std::string whole = contents_of(data_folder + "/tiny.safetensors");
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        std::string changed = whole;
        for (int change = 0; change < 1 + round % 3; ++change) {
            changed[random() % 1152] = static_cast<char>(random());
        }
        CHECK(refusal([&] { parse(changed); }).find('\n') == std::string::npos);
    }
}
