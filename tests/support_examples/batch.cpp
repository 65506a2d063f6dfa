// A sound batch is read with the facts that its README states; a batch with one fault is refused with a line that names
// the fault.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "refusal.hpp"
#include "support/batch.hpp"
#include "temporary_folder.hpp"

namespace {

using example::Batch;
using example::TensorFile;
using example::VisionKind;

const std::string data_folder = SEQPAR_EXAMPLE_DATA;

const TensorFile& tiny() {
    static const TensorFile file = [] {
        TensorFile read = example::read_tensors(data_folder + "/tiny.safetensors");
        read.file = "F";
        return read;
    }();
    return file;
}

template <class T>
T& element(TensorFile& file, const std::string& array, std::size_t index) {
    return reinterpret_cast<T*>(file.tensors.at(array).bytes.data())[index];
}

template <class T>
void replace(TensorFile& file, const std::string& array, const std::vector<std::int64_t>& shape,
             const std::vector<T>& values) {
    file.tensors.erase(array);
    file.add<T>(array, shape, values);
}

/// The line with which the tiny batch is refused after `change`.
std::string refusal_after(const std::function<void(TensorFile&)>& change) {
    TensorFile file = tiny();
    change(file);
    return refusal([&] { (void)example::to_batch(file); });
}

template <class T>
std::int64_t sum(const std::vector<T>& values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::int64_t sum_of_labels(const Batch& batch) {
    std::int64_t total = 0;
    for (const std::int64_t label : batch.labels) {
        total += label == -100 ? 0 : label;
    }
    return total;
}

std::vector<std::int64_t> sums_of_positions(const Batch& batch) {
    const auto axis = [&](std::int64_t i) {
        const auto begin = batch.position_ids.begin() + i * batch.tokens();
        return std::accumulate(begin, begin + batch.tokens(), std::int64_t{0});
    };
    return {axis(0), axis(1), axis(2)};
}

/// A batch with a video of two steps of two tokens, each step in its own vision span, and 11 tokens in one document.
TensorFile with_video() {
    TensorFile file = tiny();
    const std::vector<std::int64_t> ids{7, 151652, 151656, 151656, 151653, 7, 151652, 151656, 151656, 151653, 7};
    replace<std::int64_t>(file, "input_ids", {11}, ids);
    replace<std::int64_t>(file, "labels", {11}, std::vector<std::int64_t>(11, -100));
    replace<std::int32_t>(file, "position_ids", {3, 11}, std::vector<std::int32_t>(33));
    replace<std::int32_t>(file, "cu_seqlens", {3}, {0, 11, 11});
    replace<std::int32_t>(file, "image_grid_thw", {0, 3}, {});
    replace<std::uint8_t>(file, "image_bank", {0, 48}, {});
    replace<std::int32_t>(file, "video_grid_thw", {1, 3}, {2, 2, 4});
    replace<std::uint8_t>(file, "video_bank", {4, 48}, std::vector<std::uint8_t>(192));
    file.metadata["images"] = "[]";
    file.metadata["videos"] = "[\"pan\"]";
    return file;
}

}  // namespace

TEST_CASE("the batch has the facts of its README") {
    const Batch batch = example::load_batch(data_folder + "/batch.safetensors");
    CHECK(batch.tokens() == 5091);
    CHECK(sum(batch.input_ids) == 123116535);
    CHECK(batch.tokens() - std::count(batch.labels.begin(), batch.labels.end(), -100) == 4275);
    CHECK(sum_of_labels(batch) == 29711205);
    CHECK(batch.cu_seqlens == std::vector<std::int32_t>{0, 1067, 1231, 1270, 1604, 3969, 4342, 4538, 4621, 5091});
    CHECK(sums_of_positions(batch) == std::vector<std::int64_t>{3548323, 3550101, 3550729});
    CHECK(*std::max_element(batch.position_ids.begin(), batch.position_ids.end()) == 2364);
    CHECK(sum(batch.image.bytes) == 123260914);
    CHECK(sum(batch.video.bytes) == 32369726);
    CHECK(batch.image.rows == 436);
    CHECK(batch.image.width == 3072);
    CHECK(batch.video.rows == 120);
    CHECK(batch.documents.size() == 9);
    CHECK(batch.documents[5] == "chat-rocket-video");
    CHECK(batch.image.names == std::vector<std::string>{"astronaut", "cat", "coffee", "rocket", "deep_field"});
    CHECK(batch.video.names == std::vector<std::string>{"rocket_pan"});
    CHECK(batch.token.image == 151655);
    CHECK(batch.token.video == 151656);
    CHECK(batch.token.pad == 151643);
    CHECK(batch.token.vision_start == 151652);
    CHECK(batch.token.vision_end == 151653);
    CHECK(batch.token.ignore_index == -100);
    CHECK(batch.sizes.patch == 16);
    CHECK(batch.sizes.merge == 2);
    CHECK(batch.sizes.temporal == 2);
    CHECK(std::count(batch.input_ids.begin(), batch.input_ids.end(), batch.token.pad) == 5);
}

TEST_CASE("vision spans are all placeholders, in stream order, with their rows") {
    const Batch batch = example::load_batch(data_folder + "/batch.safetensors");
    CHECK(batch.spans.size() == 5 + 8);
    std::map<VisionKind, std::int64_t> rows;
    std::int64_t last = -1;
    for (const auto& span : batch.spans) {
        CHECK(span.begin > last);
        last = span.end;
        CHECK(span.first_row == rows[span.kind]);
        rows[span.kind] += span.end - span.begin;
        CHECK(batch.cu_seqlens[static_cast<std::size_t>(span.document)] <= span.begin);
        CHECK(span.end <= batch.cu_seqlens[static_cast<std::size_t>(span.document) + 1]);
    }
    CHECK(rows[VisionKind::image] == 436);
    CHECK(rows[VisionKind::video] == 120);
}

TEST_CASE("pixels lie where the README says") {
    const Batch batch = example::load_batch(data_folder + "/batch.safetensors");
    struct Pixel {
        VisionKind kind;
        std::int64_t item, step, height, width, y, x, row, byte;
        std::vector<int> color;
    };
    const std::vector<Pixel> pixels{
        {VisionKind::image, 0, 0, 352, 256, 0, 0, 0, 0, {164, 159, 161}},
        {VisionKind::image, 0, 0, 352, 256, 200, 100, 51, 780, {44, 6, 2}},
        {VisionKind::image, 1, 0, 288, 448, 100, 200, 136, 408, {102, 56, 30}},
        {VisionKind::image, 2, 0, 256, 384, 128, 192, 268, 0, {248, 251, 255}},
        {VisionKind::image, 3, 0, 224, 320, 100, 175, 345, 429, {52, 49, 52}},
        {VisionKind::image, 4, 0, 224, 256, 223, 255, 435, 3069, {9, 12, 12}},
        {VisionKind::video, 0, 4, 96, 160, 50, 85, 67, 1791, {78, 86, 109}},
    };
    for (const Pixel& pixel : pixels) {
        CAPTURE(pixel.row);
        const auto span =
            std::find_if(batch.spans.begin(), batch.spans.end(), [&](const example::VisionSpan& candidate) {
                return candidate.kind == pixel.kind && candidate.item == pixel.item && candidate.step == pixel.step;
            });
        REQUIRE(span != batch.spans.end());
        const auto& bank = batch.bank(pixel.kind);
        const auto place =
            example::locate_pixel(bank.grids[static_cast<std::size_t>(pixel.item)].w, batch.sizes, pixel.y, pixel.x, 0);
        CHECK(span->first_row + place.row == pixel.row);
        CHECK(place.byte == pixel.byte);
        const auto photo = example::rebuild_photo(batch, *span, bank.bytes);
        CHECK(photo.height == pixel.height);
        CHECK(photo.width == pixel.width);
        const auto at = static_cast<std::size_t>((pixel.y * photo.width + pixel.x) * 3);
        CHECK(std::vector<int>{photo.rgb[at], photo.rgb[at + 1], photo.rgb[at + 2]} == pixel.color);
    }
    CHECK_THROWS_AS((void)example::rebuild_photo(batch, batch.spans[0], {}), std::logic_error);
}

TEST_CASE("the tiny batch has the facts of its README") {
    const Batch batch = example::load_batch(data_folder + "/tiny.safetensors");
    CHECK(sum(batch.input_ids) == 1841703);
    CHECK(sum_of_labels(batch) == 393429);
    CHECK(batch.tokens() - std::count(batch.labels.begin(), batch.labels.end(), -100) == 12);
    CHECK(sums_of_positions(batch) == std::vector<std::int64_t>{245, 247, 247});
    CHECK(sum(batch.image.bytes) == 24384);
    CHECK(batch.video.rows == 0);
    CHECK(batch.video.width == 48);
    REQUIRE(batch.spans.size() == 1);
    CHECK(batch.spans[0].begin == 4);
    CHECK(batch.spans[0].end == 8);
    const auto photo = example::rebuild_photo(batch, batch.spans[0], batch.image.bytes);
    REQUIRE(photo.height == 8);
    REQUIRE(photo.width == 8);
    for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
            for (int c = 0; c < 3; ++c) {
                CHECK(photo.rgb[static_cast<std::size_t>((y * 8 + x) * 3 + c)] == 32 * y + 4 * x + c);
            }
        }
    }
}

TEST_CASE("every bad file is refused with a line that names its fault") {
    const std::map<std::string, std::vector<std::string>> faults{
        {"truncated", {"image_bank", "1044 bytes", "892..1084"}},
        {"header_length", {"header length", "2228", "1099511627776"}},
        {"header_json", {"header", "JSON", "byte"}},
        {"offsets_out_of_range", {"video_bank", "1084 bytes", "1084..1132"}},
        {"offsets_overlap", {"labels", "input_ids", "overlap", "0..248"}},
        {"shape_and_offsets", {"image_bank", "240 bytes", "[5, 48]", "got 192"}},
        {"missing_tensor", {"\"input_ids\"", "no tensor"}},
        {"dtype_cu_seqlens", {"cu_seqlens", "I32", "F32"}},
        {"cu_first_not_zero", {"cu_seqlens", "first offset of 0", "got 1"}},
        {"cu_does_not_cover", {"cu_seqlens", "31", "got 30"}},
        {"cu_decreasing", {"cu_seqlens", "document 1", "31", "got 23"}},
        {"labels_length", {"labels", "[31]", "[30]"}},
        {"position_ids_shape", {"position_ids", "[3, 31]", "[2, 31]"}},
        {"one_placeholder_more", {"input_ids", "image 0", "expected 4", "got 5", "4 rows in image_bank"}},
        {"one_placeholder_fewer", {"input_ids", "image 0", "expected 4", "got 3", "4 rows in image_bank"}},
        {"grid_product", {"image_grid_thw", "1 4 6", "at most 4 rows", "6 rows"}},
        {"grid_not_mergeable", {"image_grid_thw", "multiples", "got 1 16 1"}},
        {"image_across_documents", {"image 0", "document 0", "token 6"}},
        {"video_placeholder_without_bank", {"input_ids", "token 23", "video placeholder", "0 rows in video_bank"}},
    };
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(data_folder + "/bad")) {
        files.insert(entry.path().stem().string());
    }
    CHECK(files.size() == 19);
    CHECK(faults.size() == 19);
    for (const std::string& file : files) {
        const std::string path = example::text(data_folder, "/bad/", file, ".safetensors");
        const std::string line = refusal([&] { (void)example::load_batch(path); });
        CAPTURE(line);
        REQUIRE(faults.contains(file));
        CHECK(line.starts_with(path + ": "));
        CHECK(contains(line, ": expected "));
        CHECK(contains(line, ", got "));
        CHECK(line.find('\n') == std::string::npos);
        for (const std::string& part : faults.at(file)) {
            CAPTURE(part);
            CHECK(contains(line.substr(path.size()), part));
        }
    }
}

TEST_CASE("an empty document and a whole batch without a token are legal") {
    CHECK(refusal_after([](TensorFile& file) {
              replace<std::int32_t>(file, "cu_seqlens", {3}, {0, 31, 31});
          }) == "accepted");
    CHECK(refusal_after([](TensorFile& file) {
              replace<std::int32_t>(file, "cu_seqlens", {3}, {0, 0, 31});
          }) == "accepted");
    CHECK(refusal_after([](TensorFile& file) {
              replace<std::int64_t>(file, "input_ids", {0}, {});
              replace<std::int64_t>(file, "labels", {0}, {});
              replace<std::int32_t>(file, "position_ids", {3, 0}, {});
              replace<std::int32_t>(file, "cu_seqlens", {1}, {0});
              replace<std::int32_t>(file, "image_grid_thw", {0, 3}, {});
              replace<std::uint8_t>(file, "image_bank", {0, 48}, {});
              file.metadata["documents"] = file.metadata["images"] = "[]";
          }) == "accepted");
}

TEST_CASE("metadata that is missing or not well formed is refused by its name") {
    for (const char* key :
         {"documents", "images", "videos", "image_token_id", "video_token_id", "pad_token_id", "ignore_index",
          "vision_start_token_id", "vision_end_token_id", "patch_size", "spatial_merge_size", "temporal_patch_size"}) {
        CAPTURE(key);
        const std::string where = std::string("F: metadata ") + key + ": ";
        CHECK(refusal_after([&](TensorFile& file) { file.metadata.erase(key); }).starts_with(where));
        for (const char* value :
             {"", "x", "1x", " 1", "+1", "-7", "1.5", "99999999999999999999", "[1]", "{\"a\":\"b\"}", "[\"a\""}) {
            CAPTURE(value);
            CHECK(refusal_after([&](TensorFile& file) { file.metadata[key] = value; }).starts_with(where));
        }
    }
    CHECK(contains(refusal_after([](TensorFile& file) { file.metadata["documents"] = R"(["a"])"; }),
                   "documents: expected 2 names (from cu_seqlens), got 1"));
    CHECK(contains(refusal_after([](TensorFile& file) { file.metadata["videos"] = R"(["a"])"; }),
                   "videos: expected 0 names"));
}

TEST_CASE("ids with two meanings are refused") {
    CHECK(contains(refusal_after([](TensorFile& file) { file.metadata["pad_token_id"] = "151655"; }),
                   "metadata pad_token_id: expected an id that differs from image_token_id, got 151655 in both"));
    CHECK(contains(refusal_after([](TensorFile& file) { file.metadata["video_token_id"] = "151655"; }),
                   "video_token_id"));
    CHECK(contains(refusal_after([](TensorFile& file) { file.metadata["vision_end_token_id"] = "151652"; }),
                   "vision_end_token_id"));
}

TEST_CASE("each array missing, and one too many, is refused by its name") {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tiny().tensors) {
        names.push_back(name);
    }
    CHECK(names.size() == 8);
    for (const std::string& name : names) {
        CHECK(contains(refusal_after([&](TensorFile& file) { file.tensors.erase(name); }),
                       example::text("tensor \"", name, "\"")));
    }
    CHECK(contains(refusal_after([](TensorFile& file) { replace<std::int32_t>(file, "more", {1}, {1}); }),
                   "tensor \"more\": expected the eight arrays of a batch alone, got I32 [1]"));
}

TEST_CASE("values that cannot be are refused with their place") {
    CHECK(contains(refusal_after([](TensorFile& file) { element<std::int64_t>(file, "input_ids", 24) = -5; }),
                   "input_ids at token 24 (document 1 \"entry-once\"): expected an id that is not negative, got -5"));
    CHECK(contains(refusal_after([](TensorFile& file) { element<std::int64_t>(file, "labels", 30) = 7; }),
                   "labels at token 30 (document 1 \"entry-once\"): expected 151643 (its id, labels are not shifted) "
                   "or -100, got 7"));
    CHECK(contains(refusal_after([](TensorFile& file) { element<std::int32_t>(file, "position_ids", 31 + 2) = -1; }),
                   "position_ids at token 2 (document 0 \"chat-ramp\"), height: expected a position that is not "
                   "negative, got -1"));
    CHECK(contains(refusal_after([](TensorFile& file) { replace<std::int32_t>(file, "cu_seqlens", {0}, {}); }),
                   "got no offset at all"));
}

TEST_CASE("banks and grids that do not agree are refused") {
    CHECK(contains(refusal_after([](TensorFile& file) { file.metadata["patch_size"] = "4"; }),
                   "image_bank\": expected U8 [*, 192]"));
    CHECK(contains(refusal_after([](TensorFile& file) { element<std::int32_t>(file, "image_grid_thw", 0) = 2; }),
                   "one step in time, got 2 4 4"));
    CHECK(contains(refusal_after([](TensorFile& file) { element<std::int32_t>(file, "image_grid_thw", 1) = 0; }),
                   "positive numbers, got 1 0 4"));
    CHECK(contains(refusal_after([](TensorFile& file) { element<std::int32_t>(file, "image_grid_thw", 1) = -4; }),
                   "got 1 -4 4"));
    CHECK(contains(refusal_after([](TensorFile& file) { element<std::int32_t>(file, "image_grid_thw", 1) = 2; }),
                   "image_bank: expected 2 rows"));
    CHECK(contains(refusal_after([](TensorFile& file) {
                       element<std::int32_t>(file, "image_grid_thw", 1) = 2147483646;
                       element<std::int32_t>(file, "image_grid_thw", 2) = 2147483646;
                   }),
                   "at most 4 rows"));
    CHECK(contains(refusal_after([](TensorFile& file) {
                       file = with_video();
                       element<std::int32_t>(file, "video_grid_thw", 0) = 2147483647;
                       element<std::int32_t>(file, "video_grid_thw", 1) = 2147483646;
                       element<std::int32_t>(file, "video_grid_thw", 2) = 2147483646;
                   }),
                   "at most 4 rows"));
}

TEST_CASE("items that are not whole, in order and in one document are refused") {
    const auto after = [](const std::function<void(TensorFile&)>& change) {
        return refusal_after([&](TensorFile& file) {
            file = with_video();
            change(file);
        });
    };
    CHECK(after([](TensorFile&) {}) == "accepted");
    CHECK(contains(after([](TensorFile& file) {
                       replace<std::int32_t>(file, "cu_seqlens", {3}, {0, 5, 11});
                   }),
                   "tokens 7..8, video 0 \"pan\" step 1: expected all steps in document 0"));
    CHECK(contains(after([](TensorFile& file) {
                       replace<std::int32_t>(file, "cu_seqlens", {3}, {0, 8, 11});
                   }),
                   "a border at token 8"));
    CHECK(contains(after([](TensorFile& file) {
                       replace<std::int32_t>(file, "cu_seqlens", {3}, {0, 2, 11});
                   }),
                   "expected vision_start_token_id 151652 before it, got the border of the document"));
    CHECK(contains(after([](TensorFile& file) { element<std::int64_t>(file, "input_ids", 6) = 9; }),
                   "expected vision_start_token_id 151652 before it, got 9"));
    CHECK(contains(after([](TensorFile& file) { element<std::int64_t>(file, "input_ids", 4) = 9; }),
                   "expected vision_end_token_id 151653 after it, got 9"));
    CHECK(contains(after([](TensorFile& file) {
                       for (const std::size_t token : {4U, 5U, 6U}) {  // one span of both steps
                           element<std::int64_t>(file, "input_ids", token) = 151656;
                       }
                       element<std::int64_t>(file, "input_ids", 7) = 151653;
                       element<std::int64_t>(file, "input_ids", 8) = 7;
                   }),
                   "step 0: expected 2 placeholders"));
    CHECK(
        contains(after([](TensorFile& file) {
                     element<std::int64_t>(file, "input_ids", 7) = 9;
                     element<std::int64_t>(file, "input_ids", 8) = 9;
                 }),
                 "video 0 \"pan\" step 1: expected 2 placeholders 151656, got none (2 in all, 4 rows in video_bank)"));
}

TEST_CASE("any value changed: refused with one line or read, nothing else") {
    std::mt19937 random(1);
    for (int round = 0; round < 3000; ++round) {
        TensorFile file = tiny();
        auto tensor = std::next(file.tensors.begin(), static_cast<std::ptrdiff_t>(random() % file.tensors.size()));
        if (tensor->second.bytes.empty()) {
            continue;
        }
        tensor->second.bytes[random() % tensor->second.bytes.size()] = static_cast<std::byte>(random());
        CHECK(refusal([&] { (void)example::to_batch(file); }).find('\n') == std::string::npos);
    }
}
