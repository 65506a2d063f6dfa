// The folder that an example writes: whole or not at all. It decides where files go, not what is in them.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "bad_input.hpp"

namespace example {

/// True for the names of files that split_batch writes: rank-<n>.safetensors, photo-<n>.png, frame-<n>.png,
/// ownership.png and ownership.svg.
bool is_output_name(std::string_view name);

/// Files are written into a fresh folder beside the destination, which takes the destination's name at `commit()`.
/// Without a commit the destructor removes it, and the parent folders that were made for it, so that a failed run
/// leaves everything as it was. A folder that stands at the destination is replaced only if it holds nothing but
/// files that a former run wrote; anything else is refused (BadInput). A killed process leaves the fresh folder.
class OutputFolder {
public:
    explicit OutputFolder(const std::filesystem::path& destination);
    ~OutputFolder();
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;
    OutputFolder(OutputFolder&&) = delete;
    OutputFolder& operator=(OutputFolder&&) = delete;

    /// Where to write the file of that name. A name that is no output name is a std::logic_error: the next run
    /// would refuse to replace the folder.
    [[nodiscard]] std::filesystem::path file(std::string_view name) const;

    /// Where the files are found after `commit()`: absolute, links resolved.
    [[nodiscard]] const std::filesystem::path& destination() const { return destination_; }

    /// Puts the folder in place of what was there. When that fails, the destination is as it was before.
    void commit();

private:
    void discard() noexcept;

    std::filesystem::path destination_;
    std::filesystem::path fresh_;                 ///< empty once committed
    std::vector<std::filesystem::path> parents_;  ///< made by us, outermost first
};

}  // namespace example
