// The folder that an example writes. Rename is the only step that others can see.
#include "output_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace example {
namespace {

namespace fs = std::filesystem;

bool is_numbered(std::string_view name, std::string_view before, std::string_view after) {
    if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) {
        return false;
    }
    const std::string_view digits = name.substr(before.size(), name.size() - before.size() - after.size());
    return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Absolute, without links, dots and a slash at the end; the last parts need not exist.
fs::path resolve(const fs::path& destination) {
    if (destination.empty()) {
        refuse("output folder", "", "a path", "an empty one");
    }
    std::error_code error;
    fs::path resolved = fs::weakly_canonical(fs::absolute(destination), error);
    if (error) {
        refuse("output folder", quote(destination.string()), "a path that can be followed", error.message());
    }
    if (!resolved.has_filename()) {
        resolved = resolved.parent_path();
    }
    std::error_code ignored;
    if (!resolved.has_filename() || resolved == fs::current_path(ignored)) {
        refuse("output folder", quote(resolved.string()), "a folder that a new one can replace",
               resolved.has_filename() ? "the current folder" : "the root");
    }
    return resolved;
}

/// Nothing there, or a folder that holds nothing but output of a former run.
void check_replaceable(const fs::path& destination) {
    std::error_code error;
    const auto status = fs::symlink_status(destination, error);
    if (status.type() == fs::file_type::not_found) {
        return;
    }
    if (error || !fs::is_directory(status)) {
        refuse("output folder", quote(destination.string()), "a folder or nothing",
               error ? error.message() : "something else of that name");
    }
    std::vector<std::string> foreign;
    for (fs::directory_iterator entry(destination, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (!is_output_name(name) || !fs::is_regular_file(entry->symlink_status())) {
            foreign.push_back(name);
        }
    }
    if (error) {
        refuse("output folder", quote(destination.string()), "a folder that can be read", error.message());
    }
    if (::access(destination.c_str(), W_OK | X_OK) != 0) {
        refuse("output folder", quote(destination.string()), "a folder whose files can be removed",
               std::generic_category().message(errno));
    }
    if (!foreign.empty()) {
        refuse("output folder", quote(destination.string()), "a folder that holds only files of a former run",
               text(quote(*std::min_element(foreign.begin(), foreign.end())), " in it"));
    }
}

/// Beside the destination, so that a rename never crosses file systems, and hidden.
fs::path sibling(const fs::path& destination, std::string_view word, int attempt) {
    const std::string name = text(".", destination.filename().string(), ".", word, "-", ::getpid(), "-", attempt);
    return destination.parent_path() / name;
}

constexpr int attempts = 100;

fs::path free_sibling(const fs::path& destination, std::string_view word) {
    for (int attempt = 0; attempt < attempts; ++attempt) {
        fs::path path = sibling(destination, word, attempt);
        if (fs::symlink_status(path).type() == fs::file_type::not_found) {
            return path;
        }
    }
    throw std::runtime_error(text("no free name beside ", quote(destination.string())));
}

fs::path make_sibling(const fs::path& destination, std::string_view word) {
    for (int attempt = 0; attempt < attempts; ++attempt) {
        fs::path path = sibling(destination, word, attempt);
        if (fs::create_directory(path)) {
            return path;
        }
    }
    throw std::runtime_error(text("no free name beside ", quote(destination.string())));
}

}  // namespace

bool is_output_name(std::string_view name) {
    return name == "ownership.png" || name == "ownership.svg" || is_numbered(name, "rank-", ".safetensors") ||
           is_numbered(name, "photo-", ".png") || is_numbered(name, "frame-", ".png");
}

OutputFolder::OutputFolder(const fs::path& destination) : destination_(resolve(destination)) {
    check_replaceable(destination_);
    try {
        std::vector<fs::path> missing;
        for (fs::path parent = destination_.parent_path(); !fs::exists(parent); parent = parent.parent_path()) {
            missing.push_back(parent);
        }
        for (auto parent = missing.rbegin(); parent != missing.rend(); ++parent) {
            if (fs::create_directory(*parent)) {
                parents_.push_back(*parent);
            }
        }
        fresh_ = make_sibling(destination_, "partial");
    } catch (const fs::filesystem_error& error) {
        discard();
        refuse("output folder", quote(destination_.string()), "a folder that can be made",
               text(error.code().message(), " at ", quote(error.path1().string())));
    } catch (...) {
        discard();
        throw;
    }
}

OutputFolder::~OutputFolder() { discard(); }

fs::path OutputFolder::file(std::string_view name) const {
    if (!is_output_name(name) || fresh_.empty()) {
        throw std::logic_error(text("OutputFolder: no place for ", quote(name)));
    }
    return fresh_ / name;
}

void OutputFolder::commit() {
    if (fresh_.empty()) {
        throw std::logic_error("OutputFolder: committed twice");
    }
    check_replaceable(destination_);
    if (!fs::exists(destination_)) {
        fs::rename(fresh_, destination_);
        fresh_.clear();
        parents_.clear();
        return;
    }
    const fs::path former = free_sibling(destination_, "former");
    fs::rename(destination_, former);
    try {
        fs::rename(fresh_, destination_);
    } catch (...) {
        std::error_code ignored;
        fs::rename(former, destination_, ignored);
        throw;
    }
    fresh_.clear();
    parents_.clear();
    fs::remove_all(former);
}

void OutputFolder::discard() noexcept {
    std::error_code ignored;
    if (!fresh_.empty()) {
        fs::remove_all(fresh_, ignored);
        fresh_.clear();
    }
    for (auto parent = parents_.rbegin(); parent != parents_.rend(); ++parent) {
        fs::remove(*parent, ignored);  // only if it is empty: others may use it by now
    }
    parents_.clear();
}

}  // namespace example
