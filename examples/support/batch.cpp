// From tensors to a checked batch. Each check is a function of its own, in the order in which they must run: later
// ones rely on earlier ones.
#include "batch.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace example {
namespace {

constexpr std::array<const char*, 8> array_names{"input_ids",      "labels",         "cu_seqlens", "position_ids",
                                                 "image_grid_thw", "video_grid_thw", "image_bank", "video_bank"};

template <class T>
std::vector<T> copy(std::span<const T> values) {
    return {values.begin(), values.end()};
}

template <class T>
std::int64_t count(const std::vector<T>& values) {
    return static_cast<std::int64_t>(values.size());
}

template <class T>
const T& at(const std::vector<T>& values, std::int64_t index) {
    return values[static_cast<std::size_t>(index)];
}

std::string_view word(VisionKind kind) { return kind == VisionKind::image ? "image" : "video"; }

// Places, as messages name them.

std::string at_document(const Batch& batch, std::int64_t document) {
    const bool named = document < count(batch.documents);
    return text("document ", document, named ? " " + quote(at(batch.documents, document)) : "");
}

/// The document that holds a token. Offsets are checked before this is asked.
std::int64_t document_of(const Batch& batch, std::int64_t token) {
    const auto after = std::upper_bound(batch.cu_seqlens.begin(), batch.cu_seqlens.end(), token);
    return after - batch.cu_seqlens.begin() - 1;
}

std::string at_token(const Batch& batch, std::string_view array, std::int64_t token) {
    return text(array, " at token ", token, " (", at_document(batch, document_of(batch, token)), ")");
}

std::string at_item(const Batch& batch, VisionKind kind, std::int64_t item) {
    return text(word(kind), " ", item, " ", quote(at(batch.bank(kind).names, item)));
}

std::string show(const Grid& grid) { return text(grid.t, " ", grid.h, " ", grid.w); }

// Metadata.

const std::string& metadata_text(const TensorFile& contents, const std::string& key) {
    const auto found = contents.metadata.find(key);
    if (found == contents.metadata.end()) {
        refuse(contents.file, text("metadata ", key), "a value", "nothing");
    }
    return found->second;
}

std::int64_t metadata_integer(const TensorFile& contents, const std::string& key, std::int64_t least,
                              std::int64_t most) {
    const std::string& value = metadata_text(contents, key);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < least || number > most) {
        refuse(contents.file, text("metadata ", key),
               least == most ? text(least) : text("an integer from ", least, " to ", most), quote(value));
    }
    return number;
}

std::vector<std::string> metadata_names(const TensorFile& contents, const std::string& key) {
    const std::string& value = metadata_text(contents, key);
    const auto list = nlohmann::json::parse(value, nullptr, false);
    const bool well_formed = list.is_array() && std::all_of(list.begin(), list.end(), [](const nlohmann::json& name) {
                                 return name.is_string();
                             });
    if (!well_formed) {
        refuse(contents.file, text("metadata ", key), "a JSON list of strings", quote(value));
    }
    return list.get<std::vector<std::string>>();
}

TokenIds read_token_ids(const TensorFile& contents) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    TokenIds token;
    token.image = metadata_integer(contents, "image_token_id", 0, most);
    token.video = metadata_integer(contents, "video_token_id", 0, most);
    token.pad = metadata_integer(contents, "pad_token_id", 0, most);
    token.vision_start = metadata_integer(contents, "vision_start_token_id", 0, most);
    token.vision_end = metadata_integer(contents, "vision_end_token_id", 0, most);
    token.ignore_index = metadata_integer(contents, "ignore_index", -100, -100);
    return token;
}

PatchSizes read_patch_sizes(const TensorFile& contents) {
    constexpr std::int64_t most = 4096;  // so that the bytes of a row stay far from overflow
    return {metadata_integer(contents, "patch_size", 1, most),
            metadata_integer(contents, "spatial_merge_size", 1, most),
            metadata_integer(contents, "temporal_patch_size", 1, most)};
}

/// Were two of them the same, a pad slot would take a bank row or a border would be one.
void check_token_ids_differ(const TensorFile& contents, const TokenIds& token) {
    const std::array<std::pair<const char*, std::int64_t>, 5> ids{{{"image_token_id", token.image},
                                                                   {"video_token_id", token.video},
                                                                   {"pad_token_id", token.pad},
                                                                   {"vision_start_token_id", token.vision_start},
                                                                   {"vision_end_token_id", token.vision_end}}};
    for (auto one = ids.begin(); one != ids.end(); ++one) {
        for (auto other = ids.begin(); other != one; ++other) {
            if (one->second == other->second) {
                refuse(contents.file, text("metadata ", one->first), text("an id that differs from ", other->first),
                       text(one->second, " in both"));
            }
        }
    }
}

// Arrays.

/// An array that is not known has no known sequence axis: it could neither be split nor silently be left behind.
void check_arrays_present(const TensorFile& contents) {
    for (const char* name : array_names) {
        if (!contents.tensors.contains(name)) {
            refuse(contents.file, text("tensor ", quote(name)), "one of the eight arrays of a batch",
                   "no tensor of that name");
        }
    }
    for (const auto& [name, tensor] : contents.tensors) {
        if (std::find(array_names.begin(), array_names.end(), name) == array_names.end()) {
            refuse(contents.file, text("tensor ", quote(name)), "the eight arrays of a batch alone",
                   describe(tensor.dtype, tensor.shape));
        }
    }
}

std::vector<Grid> read_grids(const TensorFile& contents, const std::string& array) {
    const auto values = contents.view<std::int32_t>(array, {any_extent, 3});
    std::vector<Grid> grids;
    for (std::size_t i = 0; i < values.size(); i += 3) {
        grids.push_back({values[i], values[i + 1], values[i + 2]});
    }
    return grids;
}

Bank read_bank(const TensorFile& contents, VisionKind kind, const PatchSizes& sizes) {
    Bank bank;
    bank.width = 3 * sizes.block() * sizes.block();
    bank.bytes = copy(contents.view<std::uint8_t>(text(word(kind), "_bank"), {any_extent, bank.width}));
    bank.rows = count(bank.bytes) / bank.width;
    bank.grids = read_grids(contents, text(word(kind), "_grid_thw"));
    bank.names = metadata_names(contents, text(word(kind), "s"));
    return bank;
}

void check_document_offsets(const Batch& batch) {
    if (batch.cu_seqlens.empty()) {
        refuse(batch.file, "cu_seqlens", "a first offset of 0", "no offset at all");
    }
    if (batch.cu_seqlens.front() != 0) {
        refuse(batch.file, "cu_seqlens at 0", "a first offset of 0", text(batch.cu_seqlens.front()));
    }
    for (std::size_t d = 0; d + 1 < batch.cu_seqlens.size(); ++d) {
        const std::int32_t begin = batch.cu_seqlens[d];
        const std::int32_t end = batch.cu_seqlens[d + 1];
        if (end < begin) {
            refuse(batch.file, text("cu_seqlens, ", at_document(batch, static_cast<std::int64_t>(d))),
                   text("an end at or after its begin ", begin), text(end));
        }
    }
    if (batch.cu_seqlens.back() != batch.tokens()) {
        refuse(batch.file, text("cu_seqlens at ", batch.cu_seqlens.size() - 1),
               text("a last offset of ", batch.tokens(), " (the number of tokens)"), text(batch.cu_seqlens.back()));
    }
}

void check_name_count(const Batch& batch, std::string_view key, const std::vector<std::string>& names,
                      std::size_t expected, std::string_view array) {
    if (names.size() != expected) {
        refuse(batch.file, text("metadata ", key), text(expected, " names (from ", array, ")"), text(names.size()));
    }
}

void check_ids(const Batch& batch) {
    for (std::int64_t token = 0; token < batch.tokens(); ++token) {
        if (at(batch.input_ids, token) < 0) {
            refuse(batch.file, at_token(batch, "input_ids", token), "an id that is not negative",
                   text(at(batch.input_ids, token)));
        }
    }
}

void check_labels(const Batch& batch) {
    for (std::int64_t token = 0; token < batch.tokens(); ++token) {
        const std::int64_t label = at(batch.labels, token);
        const std::int64_t id = at(batch.input_ids, token);
        if (label != id && label != batch.token.ignore_index) {
            refuse(batch.file, at_token(batch, "labels", token),
                   text(id, " (its id, labels are not shifted) or ", batch.token.ignore_index), text(label));
        }
    }
}

void check_positions(const Batch& batch) {
    constexpr std::array<const char*, 3> axes{"time", "height", "width"};
    for (std::int64_t i = 0; i < count(batch.position_ids); ++i) {
        if (at(batch.position_ids, i) < 0) {
            const std::int64_t axis = i / batch.tokens();
            refuse(
                batch.file,
                text(at_token(batch, "position_ids", i % batch.tokens()), ", ", axes[static_cast<std::size_t>(axis)]),
                "a position that is not negative", text(at(batch.position_ids, i)));
        }
    }
}

// Grids, rows and placeholders. The shape of a grid comes first: the numbers of rows rest on it.

void check_grid(const Batch& batch, VisionKind kind, std::int64_t item) {
    const Grid& grid = at(batch.bank(kind).grids, item);
    const std::int64_t merge = batch.sizes.merge;
    const std::string where = text(word(kind), "_grid_thw, ", at_item(batch, kind, item));
    if (grid.t < 1 || grid.h < 1 || grid.w < 1) {
        refuse(batch.file, where, "a grid of positive numbers", show(grid));
    }
    if (kind == VisionKind::image && grid.t != 1) {
        refuse(batch.file, where, "one step in time", show(grid));
    }
    if (grid.h % merge != 0 || grid.w % merge != 0) {
        refuse(batch.file, where, text("height and width that are multiples of spatial_merge_size ", merge),
               show(grid));
    }
}

std::int64_t rows_of_step(const Grid& grid, const PatchSizes& sizes) {
    return (grid.h / sizes.merge) * (grid.w / sizes.merge);
}

void check_grid_rows(const Batch& batch, VisionKind kind) {
    const Bank& bank = batch.bank(kind);
    std::int64_t rows = 0;
    for (std::int64_t item = 0; item < count(bank.grids); ++item) {
        const Grid& grid = at(bank.grids, item);
        const std::int64_t step = rows_of_step(grid, batch.sizes);  // below 2^62: extents are 32 bits
        if (step > (bank.rows - rows) / grid.t) {
            refuse(batch.file, text(word(kind), "_grid_thw, ", at_item(batch, kind, item), ", grid ", show(grid)),
                   text("at most ", bank.rows - rows, " rows (those left in ", word(kind), "_bank)"),
                   text(grid.t, " steps of ", step, " rows"));
        }
        rows += grid.t * step;
    }
    if (rows != bank.rows) {
        refuse(batch.file, text(word(kind), "_bank"), text(rows, " rows (the sum over ", word(kind), "_grid_thw)"),
               text(bank.rows));
    }
}

std::int64_t placeholder_id(const Batch& batch, VisionKind kind) {
    return kind == VisionKind::image ? batch.token.image : batch.token.video;
}

/// All runs of placeholders of one kind, each matched with the item and step that is next in the bank. That grids and
/// bank agree is checked before.
class SpanReader {
public:
    SpanReader(const Batch& batch, VisionKind kind)
        : batch_(batch), bank_(batch.bank(kind)), id_(placeholder_id(batch, kind)), kind_(kind) {}

    std::vector<VisionSpan> read() {
        std::vector<VisionSpan> spans;
        const auto& ids = batch_.input_ids;
        auto begin = std::find(ids.begin(), ids.end(), id_);
        while (begin != ids.end()) {
            const auto end = std::find_if(begin, ids.end(), [&](std::int64_t id) { return id != id_; });
            check_item_left(begin - ids.begin());
            spans.push_back(match(begin - ids.begin(), end - ids.begin()));
            begin = std::find(end, ids.end(), id_);
        }
        check_all_found();
        return spans;
    }

private:
    VisionSpan match(std::int64_t begin, std::int64_t end) {
        const VisionSpan span{kind_, document_of(batch_, begin), item_, step_, begin, end, row_};
        check_one_document(span);
        check_length(span);
        check_delimiters(span);
        row_ += span.end - span.begin;
        first_document_ = span.document;
        if (++step_ == at(bank_.grids, item_).t) {
            ++item_;
            step_ = 0;
        }
        return span;
    }

    /// "5 in all, 4 rows in image_bank": tells a row too many from one in the wrong place.
    [[nodiscard]] std::string totals() const {
        return text(std::count(batch_.input_ids.begin(), batch_.input_ids.end(), id_), " in all, ", bank_.rows,
                    " rows in ", word(kind_), "_bank");
    }

    void check_item_left(std::int64_t token) const {
        if (item_ == count(bank_.grids)) {
            refuse(batch_.file, at_token(batch_, "input_ids", token),
                   text("no ", word(kind_), " placeholder ", id_, " after those of ", item_, " ", word(kind_), "s"),
                   text("one (", totals(), ")"));
        }
    }

    void check_all_found() const {
        if (item_ < count(bank_.grids)) {
            refuse(batch_.file,
                   text("input_ids, ", at_item(batch_, kind_, item_), step_ > 0 ? text(" step ", step_) : ""),
                   text(rows_of_step(at(bank_.grids, item_), batch_.sizes), " placeholders ", id_),
                   text("none (", totals(), ")"));
        }
    }

    [[nodiscard]] std::string where(const VisionSpan& span) const {
        return text("input_ids at tokens ", span.begin, "..", span.end - 1, ", ", at_item(batch_, kind_, item_),
                    kind_ == VisionKind::video ? text(" step ", step_) : "");
    }

    void check_one_document(const VisionSpan& span) const {
        const std::int64_t border = at(batch_.cu_seqlens, span.document + 1);
        if (border < span.end) {
            refuse(batch_.file, where(span), text("all of it in ", at_document(batch_, span.document)),
                   text("a border at token ", border, " (cu_seqlens)"));
        }
        if (step_ > 0 && span.document != first_document_) {
            refuse(batch_.file, where(span), text("all steps in ", at_document(batch_, first_document_)),
                   at_document(batch_, span.document));
        }
    }

    void check_length(const VisionSpan& span) const {
        const std::int64_t rows = rows_of_step(at(bank_.grids, item_), batch_.sizes);
        if (span.end - span.begin != rows) {
            refuse(batch_.file, where(span),
                   text(rows, " placeholders ", id_, " (grid ", show(at(bank_.grids, item_)), ")"),
                   text(span.end - span.begin, " (", totals(), ")"));
        }
    }

    void check_delimiters(const VisionSpan& span) const {
        const std::int64_t first = at(batch_.cu_seqlens, span.document);
        const std::int64_t last = at(batch_.cu_seqlens, span.document + 1);
        check_delimiter(span, "before", "vision_start_token_id", batch_.token.vision_start, span.begin - 1,
                        span.begin > first);
        check_delimiter(span, "after", "vision_end_token_id", batch_.token.vision_end, span.end, span.end < last);
    }

    void check_delimiter(const VisionSpan& span, std::string_view side, std::string_view name, std::int64_t id,
                         std::int64_t token, bool inside) const {
        if (!inside || at(batch_.input_ids, token) != id) {
            refuse(batch_.file, where(span), text(name, " ", id, " ", side, " it"),
                   inside ? text(at(batch_.input_ids, token)) : "the border of the document");
        }
    }

    const Batch& batch_;
    const Bank& bank_;
    std::int64_t id_;
    VisionKind kind_;
    std::int64_t item_ = 0;
    std::int64_t step_ = 0;
    std::int64_t row_ = 0;
    std::int64_t first_document_ = 0;
};

std::vector<VisionSpan> read_spans(const Batch& batch) {
    std::vector<VisionSpan> spans;
    for (const VisionKind kind : {VisionKind::image, VisionKind::video}) {
        const std::vector<VisionSpan> found = SpanReader(batch, kind).read();
        spans.insert(spans.end(), found.begin(), found.end());
    }
    std::sort(spans.begin(), spans.end(), [](const VisionSpan& a, const VisionSpan& b) { return a.begin < b.begin; });
    return spans;
}

void check_bank(const Batch& batch, VisionKind kind) {
    const Bank& bank = batch.bank(kind);
    check_name_count(batch, text(word(kind), "s"), bank.names, bank.grids.size(), text(word(kind), "_grid_thw"));
    for (std::int64_t item = 0; item < count(bank.grids); ++item) {
        check_grid(batch, kind, item);
    }
    check_grid_rows(batch, kind);
}

}  // namespace

Batch to_batch(const TensorFile& contents) {
    Batch batch;
    batch.file = contents.file;
    check_arrays_present(contents);
    batch.token = read_token_ids(contents);
    check_token_ids_differ(contents, batch.token);
    batch.sizes = read_patch_sizes(contents);
    batch.documents = metadata_names(contents, "documents");

    batch.input_ids = copy(contents.view<std::int64_t>("input_ids", {any_extent}));
    batch.labels = copy(contents.view<std::int64_t>("labels", {batch.tokens()}));
    batch.position_ids = copy(contents.view<std::int32_t>("position_ids", {3, batch.tokens()}));
    batch.cu_seqlens = copy(contents.view<std::int32_t>("cu_seqlens", {any_extent}));
    check_document_offsets(batch);
    check_name_count(batch, "documents", batch.documents, batch.cu_seqlens.size() - 1, "cu_seqlens");
    check_ids(batch);
    check_positions(batch);

    batch.image = read_bank(contents, VisionKind::image, batch.sizes);
    batch.video = read_bank(contents, VisionKind::video, batch.sizes);
    check_bank(batch, VisionKind::image);
    check_bank(batch, VisionKind::video);
    batch.spans = read_spans(batch);
    check_labels(batch);
    return batch;
}

Batch load_batch(const std::filesystem::path& path) { return to_batch(read_tensors(path)); }

RowByte locate_pixel(std::int64_t grid_width, PatchSizes sizes, std::int64_t y, std::int64_t x, std::int64_t c) {
    const std::int64_t block = sizes.block();
    const std::int64_t blocks_across = grid_width / sizes.merge;
    return {(y / block) * blocks_across + x / block, ((y % block) * block + x % block) * 3 + c};
}

Photo rebuild_photo(const Batch& batch, const VisionSpan& span, std::span<const std::uint8_t> bank) {
    const Bank& shape = batch.bank(span.kind);
    if (std::ssize(bank) != shape.rows * shape.width) {
        throw std::logic_error(
            text("rebuild_photo: expected a bank of ", shape.rows * shape.width, " bytes, got ", bank.size()));
    }
    const Grid& grid = at(shape.grids, span.item);
    Photo photo{grid.h * batch.sizes.patch, grid.w * batch.sizes.patch, {}};
    photo.rgb.reserve(static_cast<std::size_t>(photo.height * photo.width * 3));
    for (std::int64_t y = 0; y < photo.height; ++y) {
        for (std::int64_t x = 0; x < photo.width; ++x) {
            for (std::int64_t c = 0; c < 3; ++c) {
                const RowByte place = locate_pixel(grid.w, batch.sizes, y, x, c);
                photo.rgb.push_back(
                    bank[static_cast<std::size_t>((span.first_row + place.row) * shape.width + place.byte)]);
            }
        }
    }
    return photo;
}

}  // namespace example
