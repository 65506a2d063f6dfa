// The command line of split_batch: what was asked for, checked. Not here: whether a batch can be split so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace example {

enum class LayoutKind { zigzag, packed_zigzag, striped, contiguous, packed_contiguous };

struct Options {
    std::filesystem::path input = SEQPAR_EXAMPLE_DATA "/batch.safetensors";
    std::filesystem::path out = SEQPAR_EXAMPLE_OUT;
    std::string layout = "packed-zigzag";  // as on the command line
    LayoutKind kind = LayoutKind::packed_zigzag;
    std::int64_t width = 1;  // of a stripe
    int cp = 4;
    int tp = 1;
};

// What the command line says. --help prints and leaves the program; a bad option throws BadInput.
Options parse_options(int argc, char** argv);

}  // namespace example
