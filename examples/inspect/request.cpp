// Reading a request; see request.hpp.
#include "request.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace inspect {

namespace {

// Follows the parser: counts how deep it is, and remembers the keys of every open object.
class Strict {
public:
    bool operator()(int, json::parse_event_t event, const json& parsed) {
        switch (event) {
            case json::parse_event_t::object_start:
            case json::parse_event_t::array_start:
                open_.emplace_back();
                if (open_.size() > deepest) throw Refusal("malformed", "the request is nested too deep");
                break;
            case json::parse_event_t::object_end:
            case json::parse_event_t::array_end: open_.pop_back(); break;
            case json::parse_event_t::key:
                if (!open_.back().insert(parsed.get<std::string>()).second) {
                    throw Refusal("malformed", "the key " + quoted(parsed.get<std::string>()) + " occurs twice");
                }
                break;
            case json::parse_event_t::value: break;
        }
        return true;
    }

private:
    std::vector<std::set<std::string>> open_;
};

enum class Type { integer, flag, integers, lists, name, anything };

struct Param {
    const char* name;
    Type type;
    const char* kind = nullptr;  // the one kind of request that has it; null: all
};

constexpr std::array params{
    Param{"stripe", Type::integer},
    Param{"ring", Type::integer},
    Param{"ulysses", Type::integer},
    Param{"cp", Type::integer},
    Param{"tp", Type::integer},
    Param{"uneven", Type::flag},
    Param{"axis", Type::integer},
    Param{"shape", Type::integers},
    // Plans.
    Param{"block", Type::integer},
    Param{"work", Type::integers},
    Param{"given_chunk", Type::integer},
    Param{"chunk", Type::integer},
    Param{"mask", Type::name},
    Param{"algorithm", Type::name},
    Param{"partitions", Type::lists},
    Param{"local_cp_size", Type::integer},
    Param{"mixed", Type::flag},
    // Other kinds.
    Param{"causal", Type::flag, "offsets"},
    Param{"shift", Type::integer, "roll"},
    Param{"window", Type::integer, "halo"},
    Param{"side", Type::name, "halo"},
    Param{"stops_at_documents", Type::flag, "halo"},
    // What the peer computed the window from.
    Param{"kernel", Type::integer, "halo"},
    Param{"csa_window", Type::integer, "halo"},
    Param{"ratio", Type::integer, "halo"},
    Param{"ratios", Type::integers, "halo"},
    // `length` is the padded one already.
    Param{"pad_multiple", Type::integer},
    Param{"pad_scale", Type::integer},
    // How the peer was called, or what it did to its input.
    Param{"key", Type::anything},
    Param{"row", Type::anything},
    Param{"caller_buffer_after", Type::anything},
    Param{"cu_seqlens_real", Type::anything},
};

void check_type(const Param& param, const json& value) {
    switch (param.type) {
        case Type::integer: integer(value, param.name); break;
        case Type::integers: integers(value, param.name); break;
        case Type::lists: lists(value, param.name); break;
        case Type::name: text(value, param.name); break;
        case Type::flag:
            if (!value.is_boolean()) throw Refusal("type", std::string(param.name) + " must be true or false");
            break;
        case Type::anything: break;
    }
}

}  // namespace

std::string quoted(const std::string& text) {
    constexpr std::size_t most = 60;
    return text.size() > most ? "\"" + text.substr(0, most) + "...\"" : "\"" + text + "\"";
}

json parse(const std::string& line) {
    json request;
    try {
        request = json::parse(line, Strict{});
    } catch (const json::exception& error) {
        throw Refusal("malformed", error.what());
    }
    if (!request.is_object()) throw Refusal("malformed", "a request is a JSON object");
    return request;
}

const json* find(const json& object, const std::string& key) {
    const auto field = object.find(key);
    return field == object.end() || field->is_null() ? nullptr : &*field;
}

const json& required(const json& object, const std::string& key) {
    const json* field = find(object, key);
    if (field == nullptr) throw Refusal("missing", key + " is missing");
    return *field;
}

std::int64_t integer(const json& value, const std::string& key) {
    if (!value.is_number_integer()) throw Refusal("type", key + " must be an integer");
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
        throw Refusal("too_large", key + " does not fit 64 bits");
    }
    return value.get<std::int64_t>();
}

std::string text(const json& value, const std::string& key) {
    if (!value.is_string()) throw Refusal("type", key + " must be a string");
    return value.get<std::string>();
}

std::vector<std::int64_t> integers(const json& value, const std::string& key) {
    if (!value.is_array()) throw Refusal("type", key + " must be a list of integers");
    std::vector<std::int64_t> list;
    list.reserve(value.size());
    for (const json& entry : value)
        list.push_back(integer(entry, "an entry of " + key));
    return list;
}

std::vector<std::vector<std::int64_t>> lists(const json& value, const std::string& key) {
    if (!value.is_array()) throw Refusal("type", key + " must be a list of lists of integers");
    std::vector<std::vector<std::int64_t>> all;
    for (const json& list : value)
        all.push_back(integers(list, "an entry of " + key));
    return all;
}

std::optional<std::int64_t> optional_integer(const json& object, const std::string& key) {
    const json* field = find(object, key);
    if (field == nullptr) return std::nullopt;
    return integer(*field, key);
}

Params read_params(const json& request) {
    const json* object = find(request, "params");
    if (object == nullptr) return {};
    if (!object->is_object()) throw Refusal("type", "params must be an object");
    const json* kind = find(request, "kind");
    for (const auto& [key, value] : object->items()) {
        const auto* const param = std::find_if(params.begin(), params.end(), [&name = key, kind](const Param& known) {
            return name == known.name && (known.kind == nullptr || (kind != nullptr && *kind == known.kind));
        });
        if (param == params.end()) throw Refusal("unknown_param", "no layout knows the param " + quoted(key));
        if (!value.is_null()) check_type(*param, value);
    }
    Params read;
    read.stripe = optional_integer(*object, "stripe");
    read.ring = optional_integer(*object, "ring");
    read.ulysses = optional_integer(*object, "ulysses");
    read.cp = optional_integer(*object, "cp");
    read.tp = optional_integer(*object, "tp");
    read.axis = optional_integer(*object, "axis");
    if (const json* shape = find(*object, "shape")) read.shape = integers(*shape, "shape");
    if (const json* uneven = find(*object, "uneven")) read.uneven = uneven->get<bool>();
    read.block = optional_integer(*object, "block");
    if (const json* work = find(*object, "work")) read.work = integers(*work, "work");
    read.chooses_chunk = object->contains("given_chunk");
    read.given_chunk = optional_integer(*object, "given_chunk");
    read.chunk = optional_integer(*object, "chunk");
    if (const json* mask = find(*object, "mask")) read.mask = text(*mask, "mask");
    if (const json* algorithm = find(*object, "algorithm")) read.algorithm = text(*algorithm, "algorithm");
    if (const json* partitions = find(*object, "partitions")) read.partitions = lists(*partitions, "partitions");
    read.local_cp_size = optional_integer(*object, "local_cp_size");
    if (const json* mixed = find(*object, "mixed")) read.mixed = mixed->get<bool>();
    return read;
}

void only_known_keys(const json& request, const std::vector<std::string>& known) {
    // A case has a name and a kind, may stand in an illegal file, and may come with its head.
    static const std::set<std::string> of_every_case{"kind",    "name", "illegal",     "outcome", "peer",
                                                     "version", "note", "source_file", "function"};
    for (const auto& field : request.items()) {
        if (of_every_case.count(field.key()) != 0) continue;
        if (std::find(known.begin(), known.end(), field.key()) != known.end()) continue;
        throw Refusal("unknown_key", "a request of this kind has no " + quoted(field.key()));
    }
}

}  // namespace inspect
