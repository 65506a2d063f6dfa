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

enum class Type { integer, flag, extents, anything };

struct Param {
    const char* name;
    Type type;
};

constexpr std::array<Param, 14> params{{
    {"stripe", Type::integer},
    {"ring", Type::integer},
    {"ulysses", Type::integer},
    {"cp", Type::integer},
    {"tp", Type::integer},
    {"uneven", Type::flag},
    {"axis", Type::integer},
    {"shape", Type::extents},
    // `length` is the padded one already.
    {"pad_multiple", Type::integer},
    {"pad_scale", Type::integer},
    // How the peer was called, or what it did to its input.
    {"key", Type::anything},
    {"row", Type::anything},
    {"caller_buffer_after", Type::anything},
    {"cu_seqlens_real", Type::anything},
}};

void check_type(const Param& param, const json& value) {
    switch (param.type) {
        case Type::integer: integer(value, param.name); break;
        case Type::extents: integers(value, param.name); break;
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

std::optional<std::int64_t> optional_integer(const json& object, const std::string& key) {
    const json* field = find(object, key);
    if (field == nullptr) return std::nullopt;
    return integer(*field, key);
}

Params read_params(const json& request) {
    const json* object = find(request, "params");
    if (object == nullptr) return {};
    if (!object->is_object()) throw Refusal("type", "params must be an object");
    for (const auto& [key, value] : object->items()) {
        const auto* const param = std::find_if(params.begin(), params.end(),
                                               [&name = key](const Param& known) { return name == known.name; });
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
