// Reading a request: fields of a JSON object with their types and ranges, strictly, and the errors that programs can tell
// apart. Not here: what a request means; see layouts.hpp.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace inspect {

using nlohmann::json;

// What is wrong with a request before the library sees it; the library's own mistakes are seqpar::Error. Kinds: malformed
// (no JSON object, a key twice, too deep), missing, type, unknown_key, unknown_param, param (a value that the layout has no
// use for), group (ranks that are not the product of their parts), axis, too_large, unsupported.
class Refusal : public std::runtime_error {
public:
    Refusal(std::string kind, const std::string& message) : std::runtime_error(message), kind_(std::move(kind)) {}
    const std::string& kind() const { return kind_; }

private:
    std::string kind_;
};

// The limits of one request, so that no number in it makes the program run out of memory.
inline constexpr std::int64_t most_positions = std::int64_t{1} << 22;
inline constexpr std::int64_t most_ranks = std::int64_t{1} << 16;
inline constexpr int deepest = 16;

// Text of the caller's in a message: quoted and of bounded length.
std::string quoted(const std::string& text);

// One line of JSON; no key twice, no deeper than `deepest`.
json parse(const std::string& line);

// Fields of an object; absent and null are the same. `required` throws where there is none.
const json* find(const json& object, const std::string& key);
const json& required(const json& object, const std::string& key);
std::int64_t integer(const json& value, const std::string& key);
std::string text(const json& value, const std::string& key);
std::vector<std::int64_t> integers(const json& value, const std::string& key);
std::vector<std::vector<std::int64_t>> lists(const json& value, const std::string& key);
std::optional<std::int64_t> optional_integer(const json& object, const std::string& key);

// The params of a golden case that a layout may have. Absent ones are empty.
struct Params {
    std::optional<std::int64_t> stripe;
    std::optional<std::int64_t> ring;
    std::optional<std::int64_t> ulysses;
    std::optional<std::int64_t> cp;
    std::optional<std::int64_t> tp;
    std::optional<std::int64_t> axis;
    std::optional<std::vector<std::int64_t>> shape;
    bool uneven = false;
    std::optional<std::int64_t> block;
    std::optional<std::vector<std::int64_t>> work;
    bool chooses_chunk = false;  // given_chunk occurs; null: the default
    std::optional<std::int64_t> given_chunk;
    std::optional<std::int64_t> chunk;
    std::optional<std::string> mask;
    std::optional<std::string> algorithm;
    std::optional<std::vector<std::vector<std::int64_t>>> partitions;
    std::optional<std::int64_t> local_cp_size;
    bool mixed = false;
};

// Reads them; a key that no layout, nor the request's kind, knows is an error. Keys that change no list are read for their type alone, and those that
// only say how a peer was called not even for that.
Params read_params(const json& request);

// Throws for a key of the request that is neither in `known` nor a part of every case.
void only_known_keys(const json& request, const std::vector<std::string>& known);

}  // namespace inspect
