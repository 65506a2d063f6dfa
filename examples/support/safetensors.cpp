// The safetensors format, both ways. JSON is nlohmann's; everything that JSON cannot say is checked here.
#include "safetensors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

namespace example {
namespace {

using nlohmann::json;

constexpr std::size_t prefix_bytes = sizeof(std::uint64_t);
constexpr std::string_view metadata_key = "__metadata__";

struct DType {
    std::string_view name;
    std::size_t size;
};
constexpr std::array<DType, 15> dtypes{{{"BOOL", 1},
                                        {"U8", 1},
                                        {"I8", 1},
                                        {"F8_E4M3", 1},
                                        {"F8_E5M2", 1},
                                        {"I16", 2},
                                        {"U16", 2},
                                        {"F16", 2},
                                        {"BF16", 2},
                                        {"I32", 4},
                                        {"U32", 4},
                                        {"F32", 4},
                                        {"I64", 8},
                                        {"U64", 8},
                                        {"F64", 8}}};

/// False when a times b does not fit.
bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& product) {
    if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) {
        return false;
    }
    product = a * b;
    return true;
}

/// Bytes of a tensor of this shape; false when the number does not fit in 64 bits.
bool count_bytes(std::size_t size_of_element, const std::vector<std::int64_t>& shape, std::uint64_t& bytes) {
    bytes = size_of_element;
    return std::all_of(shape.begin(), shape.end(), [&](std::int64_t extent) {
        return extent >= 0 && multiply(bytes, static_cast<std::uint64_t>(extent), bytes);
    });
}

std::string at_tensor(const std::string& name) { return text("tensor ", quote(name)); }

/// What a JSON value is, in few words. Deep values are not printed: a hostile header may nest a million of them.
std::string describe_json(const json& value) {
    constexpr std::size_t longest = 40;
    const bool flat = std::none_of(value.begin(), value.end(), [](const json& part) { return part.is_structured(); });
    if (flat && value.size() <= longest) {
        std::string dump = value.dump();
        if (dump.size() <= longest) {
            return dump;
        }
    }
    return text("a JSON value of type ", value.type_name());
}

/// The JSON text at the beginning of a file, all that lies before the data.
std::string_view header_text(std::span<const std::byte> bytes, const std::string& file) {
    if (bytes.size() < prefix_bytes) {
        refuse(file, "header length", text(prefix_bytes, " bytes"), text("a file of ", bytes.size()));
    }
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), prefix_bytes);
    if (length > bytes.size() - prefix_bytes) {
        refuse(file, "header length", text("at most ", bytes.size() - prefix_bytes, " (the bytes that follow)"),
               text(length));
    }
    const auto characters = bytes.subspan(prefix_bytes, static_cast<std::size_t>(length));
    return {reinterpret_cast<const char*>(characters.data()), characters.size()};
}

/// nlohmann keeps the last of two members with the same name; this callback refuses the second.
class RefuseDuplicates {
public:
    explicit RefuseDuplicates(const std::string& file) : file_(&file) {}

    bool operator()(int /*depth*/, json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start) {
            names_.emplace_back();
        } else if (event == json::parse_event_t::object_end) {
            names_.pop_back();
        } else if (event == json::parse_event_t::key) {
            const auto& name = parsed.get_ref<const std::string&>();
            if (!names_.back().insert(name).second) {
                refuse(*file_, "header", text("the name ", quote(name), " once"), "it twice");
            }
        }
        return true;
    }

private:
    const std::string* file_;
    std::vector<std::set<std::string>> names_;
};

json parse_header(std::string_view header, const std::string& file) {
    if (header.empty() || header.front() != '{') {
        refuse(file, "header", "a JSON object that begins with { at byte 0",
               header.empty() ? "an empty header" : quote(header.substr(0, 1)));
    }
    if (const auto zero = header.find('\0'); zero != std::string_view::npos) {
        refuse(file, "header", "JSON text", text("a zero byte at byte ", zero));  // to nlohmann it is the end
    }
    try {
        return json::parse(header.begin(), header.end(), RefuseDuplicates(file));
    } catch (const json::parse_error& error) {
        const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, header.size() - 1);
        refuse(file, "header", "valid JSON", text("a syntax error at byte ", at, ", at ", quote(header.substr(at, 1))));
    } catch (const json::exception& error) {
        refuse(file, "header", "valid JSON", error.what());
    }
}

std::map<std::string, std::string> parse_metadata(const json& value, const std::string& file) {
    if (!value.is_object()) {
        refuse(file, metadata_key, "an object of strings", describe_json(value));
    }
    std::map<std::string, std::string> metadata;
    for (const auto& [key, entry] : value.items()) {
        if (!entry.is_string()) {
            refuse(file, text("metadata ", quote(key)), "a string", describe_json(entry));
        }
        metadata.emplace(key, entry.get<std::string>());
    }
    return metadata;
}

/// A tensor whose bytes are still in the file.
struct Entry {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

std::string parse_dtype(const json& value, const std::string& where, const std::string& file) {
    if (!value.is_string() || element_size(value.get_ref<const std::string&>()) == 0) {
        refuse(file, where, "a dtype of safetensors", describe_json(value));
    }
    return value.get<std::string>();
}

std::vector<std::int64_t> parse_shape(const json& value, const std::string& where, const std::string& file) {
    if (!value.is_array()) {
        refuse(file, where, "a shape that is a list", describe_json(value));
    }
    std::vector<std::int64_t> shape;
    for (const json& extent : value) {
        constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > largest) {
            refuse(file, where, text("a shape of integers from 0 to ", largest), describe_json(extent));
        }
        shape.push_back(extent.get<std::int64_t>());
    }
    return shape;
}

std::pair<std::uint64_t, std::uint64_t> parse_offsets(const json& value, const std::string& where,
                                                      const std::string& file) {
    if (!value.is_array() || value.size() != 2 || !value[0].is_number_unsigned() || !value[1].is_number_unsigned()) {
        refuse(file, where, "data_offsets of two integers that are not negative", describe_json(value));
    }
    return {value[0].get<std::uint64_t>(), value[1].get<std::uint64_t>()};
}

Entry parse_entry(const std::string& name, const json& value, const std::string& file) {
    const std::string where = at_tensor(name);
    if (!value.is_object()) {
        refuse(file, where, "an object", describe_json(value));
    }
    for (const auto& [key, ignored] : value.items()) {
        if (key != "dtype" && key != "shape" && key != "data_offsets") {
            refuse(file, where, "dtype, shape and data_offsets alone", quote(key));
        }
    }
    for (const char* key : {"dtype", "shape", "data_offsets"}) {
        if (!value.contains(key)) {
            refuse(file, where, text("dtype, shape and data_offsets"), text("no ", key));
        }
    }
    const auto [begin, end] = parse_offsets(value["data_offsets"], where, file);
    return {name, parse_dtype(value["dtype"], where, file), parse_shape(value["shape"], where, file), begin, end};
}

void check_extent(const Entry& entry, std::uint64_t data_bytes, const std::string& file) {
    const std::string where = at_tensor(entry.name);
    const std::string offsets = text("data_offsets ", entry.begin, "..", entry.end);
    if (entry.begin > entry.end) {
        refuse(file, where, "data_offsets that do not decrease", offsets);
    }
    if (entry.end > data_bytes) {
        refuse(file, where, text("data_offsets inside the ", data_bytes, " bytes of data in the file"), offsets);
    }
    std::uint64_t bytes = 0;
    if (!count_bytes(element_size(entry.dtype), entry.shape, bytes)) {
        refuse(file, where, "a number of bytes that fits in 64 bits", describe(entry.dtype, entry.shape));
    }
    if (entry.end - entry.begin != bytes) {
        refuse(file, where, text(bytes, " bytes for ", describe(entry.dtype, entry.shape)),
               text(entry.end - entry.begin, " (", offsets, ")"));
    }
}

/// Every byte of the data belongs to one tensor. `entries` come back in the order of their bytes.
void check_cover(std::vector<Entry>& entries, std::uint64_t data_bytes, const std::string& file) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::uint64_t covered = 0;
    const std::string* previous = nullptr;
    for (const Entry& entry : entries) {
        if (entry.begin != covered) {
            const std::string neighbour =
                previous == nullptr ? "the begin of the data" : text("the end of ", at_tensor(*previous));
            refuse(file, at_tensor(entry.name), text("data from byte ", covered, ", ", neighbour),
                   text(entry.begin < covered ? "an overlap" : "a hole", " (data_offsets ", entry.begin, "..",
                        entry.end, ")"));
        }
        covered = entry.end;
        previous = &entry.name;
    }
    if (covered != data_bytes) {
        refuse(file, "data", text(covered, " bytes, the end of the last tensor"), text(data_bytes));
    }
}

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
    const std::string file = path.string();
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
        refuse(file, "", "a file", error ? error.message() : "nothing of that name");
    }
    if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_fifo(status)) {
        refuse(file, "", "a file", std::filesystem::is_directory(status) ? "a folder" : "a device");
    }
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        refuse(file, "", "a file that can be read", std::generic_category().message(errno));
    }
    std::vector<std::byte> bytes;
    std::vector<char> block(std::size_t{1} << 20U);
    while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) || stream.gcount() > 0) {
        const auto part = std::as_bytes(std::span(block)).first(static_cast<std::size_t>(stream.gcount()));
        bytes.insert(bytes.end(), part.begin(), part.end());
    }
    if (stream.bad()) {
        refuse(file, "", "a file that can be read to its end", text("a failure after ", bytes.size(), " bytes"));
    }
    return bytes;
}

}  // namespace

std::size_t element_size(std::string_view dtype) {
    const auto* const found =
        std::find_if(dtypes.begin(), dtypes.end(), [&](const DType& known) { return known.name == dtype; });
    return found == dtypes.end() ? 0 : found->size;
}

std::string describe(std::string_view dtype, const std::vector<std::int64_t>& shape) {
    std::string result = text(dtype, " [");
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        result += axis == 0 ? "" : ", ";
        result += shape[axis] == any_extent ? "*" : text(shape[axis]);
    }
    return result + "]";
}

const Tensor& TensorFile::require(const std::string& name, std::string_view dtype,
                                  const std::vector<std::int64_t>& shape) const {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
        refuse(file, at_tensor(name), describe(dtype, shape), "no tensor of that name");
    }
    const Tensor& tensor = found->second;
    const bool same_shape =
        std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(), shape.end(),
                   [](std::int64_t is, std::int64_t asked) { return asked == any_extent || is == asked; });
    if (tensor.dtype != dtype || !same_shape) {
        refuse(file, at_tensor(name), describe(dtype, shape), describe(tensor.dtype, tensor.shape));
    }
    return tensor;
}

void TensorFile::add_bytes(const std::string& name, std::string_view dtype, const std::vector<std::int64_t>& shape,
                           std::span<const std::byte> bytes) {
    std::uint64_t expected = 0;
    if (element_size(dtype) == 0 || !count_bytes(element_size(dtype), shape, expected) || expected != bytes.size()) {
        throw std::logic_error(
            text(at_tensor(name), ": ", describe(dtype, shape), " does not hold ", bytes.size(), " bytes"));
    }
    Tensor tensor{std::string(dtype), shape, {bytes.begin(), bytes.end()}};
    if (name == metadata_key || !tensors.emplace(name, std::move(tensor)).second) {
        throw std::logic_error(text(at_tensor(name), ": the name is taken"));
    }
}

TensorFile parse_tensors(std::span<const std::byte> bytes, std::string file) {
    const std::string_view header = header_text(bytes, file);
    const auto data = bytes.subspan(prefix_bytes + header.size());
    const json root = parse_header(header, file);

    TensorFile contents;
    contents.file = std::move(file);
    std::vector<Entry> entries;
    for (const auto& [name, value] : root.items()) {
        if (name == metadata_key) {
            contents.metadata = parse_metadata(value, contents.file);
        } else {
            entries.push_back(parse_entry(name, value, contents.file));
            check_extent(entries.back(), data.size(), contents.file);
        }
    }
    check_cover(entries, data.size(), contents.file);
    for (const Entry& entry : entries) {
        const auto part =
            data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin));
        contents.add_bytes(entry.name, entry.dtype, entry.shape, part);
    }
    return contents;
}

TensorFile read_tensors(const std::filesystem::path& path) { return parse_tensors(read_bytes(path), path.string()); }

std::vector<std::byte> serialize_tensors(const TensorFile& contents) {
    using Named = std::pair<const std::string, Tensor>;
    std::vector<const Named*> order;
    for (const Named& named : contents.tensors) {
        order.push_back(&named);
    }
    std::stable_sort(order.begin(), order.end(), [](const Named* a, const Named* b) {
        return element_size(a->second.dtype) > element_size(b->second.dtype);
    });

    nlohmann::ordered_json root = nlohmann::ordered_json::object();
    if (!contents.metadata.empty()) {
        root[std::string(metadata_key)] = contents.metadata;
    }
    std::size_t data_bytes = 0;
    for (const Named* named : order) {
        const Tensor& tensor = named->second;
        const std::size_t end = data_bytes + tensor.bytes.size();
        root[named->first] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {data_bytes, end}}};
        data_bytes = end;
    }
    std::string header = root.dump();
    header.resize((header.size() + 7) / 8 * 8, ' ');

    std::vector<std::byte> bytes(prefix_bytes);
    const std::uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, prefix_bytes);
    bytes.reserve(prefix_bytes + header.size() + data_bytes);
    const auto characters = std::as_bytes(std::span(header));
    bytes.insert(bytes.end(), characters.begin(), characters.end());
    for (const Named* named : order) {
        bytes.insert(bytes.end(), named->second.bytes.begin(), named->second.bytes.end());
    }
    return bytes;
}

void write_tensors(const TensorFile& contents, const std::filesystem::path& path) {
    const std::vector<std::byte> bytes = serialize_tensors(contents);
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    stream.close();
    if (!stream) {
        throw std::system_error(errno, std::generic_category(), text("cannot write ", path.string()));
    }
}

}  // namespace example
