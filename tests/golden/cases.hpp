// The golden files of one folder: read as they lie there, whatever their names. Not here: what a kind of case means.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace golden {

using nlohmann::json;

// Environment variable SEQPAR_GOLDEN, else the folder of this project.
inline std::filesystem::path folder() {
    const char* const given = std::getenv("SEQPAR_GOLDEN");
    return given != nullptr && *given != '\0' ? given : SEQPAR_DEFAULT_GOLDEN;
}

inline json read(const std::filesystem::path& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    return json::parse(file);
}

struct Case {
    std::string file;  // without folder and .json
    json head;         // the file without its cases
    json body;

    std::string name() const { return file + " / " + body.value("name", std::string("(no name)")); }
    std::string kind() const { return head.value("kind", std::string("(no kind)")); }
    std::string layout() const {
        const auto layout = body.find("layout");
        return layout != body.end() && layout->is_string() ? layout->get<std::string>() : std::string("-");
    }
    bool illegal() const { return body.value("illegal", false); }
};

// Every case of every *.json in `subfolder`, files in order of their names. A folder that is named may lack it, but must be there.
inline std::vector<Case> cases(const std::string& subfolder) {
    std::vector<std::filesystem::path> paths;
    if (!std::filesystem::is_directory(folder())) throw std::runtime_error("no folder " + folder().string());
    if (!std::filesystem::exists(folder() / subfolder)) return {};
    for (const auto& entry : std::filesystem::directory_iterator(folder() / subfolder)) {
        if (entry.path().extension() == ".json") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Case> all;
    for (const auto& path : paths) {
        json head = read(path);
        const json bodies = head.at("cases");
        head.erase("cases");
        for (const json& body : bodies)
            all.push_back({path.stem().string(), head, body});
    }
    return all;
}

// Cases in which the recorded trainer itself breaks the rules: exceptions.json of this project, whatever folder is read. A
// case is known by its file or, since file names are free, by the head's function, and by its name.
struct Exception {
    std::string file;
    std::string function;
    std::string name;
    std::string reason;
    bool met = false;

    bool is(const Case& c) const {
        if (name != c.body.value("name", std::string())) return false;
        return file == c.file || (!function.empty() && function == c.head.value("function", std::string()));
    }
};

// Of another folder, only those that it holds.
inline std::vector<Exception> exceptions() {
    std::vector<Exception> all;
    const json list = read(std::filesystem::path(SEQPAR_DEFAULT_GOLDEN) / "exceptions.json");
    for (const json& entry : list.at("exceptions")) {
        all.push_back({entry.at("file"), entry.value("function", std::string()), entry.at("name"), entry.at("reason")});
    }
    const char* const given = std::getenv("SEQPAR_GOLDEN");
    if (given == nullptr || *given == '\0') return all;
    std::vector<Exception> held;
    const std::vector<Case> there = cases("layouts");
    for (const Exception& exception : all) {
        for (const Case& c : there) {
            if (exception.is(c)) {
                held.push_back(exception);
                break;
            }
        }
    }
    return held;
}

// What a program is asked: the case without its outputs, with the kind and function of its head.
inline json request(const Case& c, const std::vector<std::string>& outputs) {
    json request = c.body;
    for (const std::string& key : outputs)
        request.erase(key);
    request["kind"] = c.kind();
    if (c.head.contains("function")) request["function"] = c.head["function"];
    return request;
}

}  // namespace golden
