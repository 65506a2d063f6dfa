// The answer to one request: what the program inspect prints, and what the golden tests compare. Not here: input and output.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace inspect {

// The output keys of the case that `request` is, or {"error": {"kind": …, "message": …}}. Throws nothing but out of memory.
nlohmann::json answer(const nlohmann::json& request);

// The same from a line to a line (without its end), malformed lines included.
std::string answer_line(const std::string& line);

}  // namespace inspect
