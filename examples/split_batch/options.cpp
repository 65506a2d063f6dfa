// Reads the command line with CLI11 and turns its complaints into one line.
#include "options.hpp"

#include "support/bad_input.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

namespace example {

namespace {

constexpr int max_ranks = 1024;  // one file is written for each

// "striped:16" is 16, "striped" is 1.
std::int64_t stripe_width(const std::string& layout, std::string_view digits) {
    std::int64_t width = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), width);
    if (error != std::errc{} || end != digits.data() + digits.size() || width < 1) {
        refuse("--layout", quote(layout), "striped:w with a whole number w of at least 1",
               text("w = ", quote(std::string(digits))));
    }
    return width;
}

void parse_layout(Options& options) {
    static constexpr std::pair<std::string_view, LayoutKind> names[] = {
        {"zigzag", LayoutKind::zigzag},
        {"packed-zigzag", LayoutKind::packed_zigzag},
        {"striped", LayoutKind::striped},
        {"contiguous", LayoutKind::contiguous},
        {"packed-contiguous", LayoutKind::packed_contiguous},
    };
    const std::string_view given = options.layout;
    if (given.starts_with("striped:")) {
        options.kind = LayoutKind::striped;
        options.width = stripe_width(options.layout, given.substr(std::string_view("striped:").size()));
        return;
    }
    for (const auto& [name, kind] : names) {
        if (given == name) {
            options.kind = kind;
            return;
        }
    }
    refuse("--layout", "", "zigzag, packed-zigzag, striped[:w], contiguous or packed-contiguous",
           quote(options.layout));
}

}  // namespace

Options parse_options(int argc, char** argv) {
    Options options;
    CLI::App app{
        "Splits a packed multimodal batch over context-parallel ranks (virtual ranks of this process), gathers the "
        "vision rows "
        "into tokens that are already split, puts everything back together and draws who holds what.",
        "split_batch"};
    app.add_option("--input", options.input, "safetensors file with the batch")->capture_default_str();
    app.add_option("--layout", options.layout, "zigzag, packed-zigzag, striped[:w], contiguous or packed-contiguous")
        ->capture_default_str();
    app.add_option("--cp", options.cp, "context-parallel ranks")->capture_default_str();
    app.add_option("--tp", options.tp, "tensor-parallel ranks that split each shard once more (TP-SP)")
        ->capture_default_str();
    app.add_option("--out", options.out, "folder that is written")->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help();
        std::exit(0);
    } catch (const CLI::ParseError& error) {
        refuse("command line", "", "the options that --help lists", quote(error.what()));
    }
    if (options.cp < 1) refuse("--cp", "", "at least 1 rank", text(options.cp));
    if (options.tp < 1) refuse("--tp", "", "at least 1 rank", text(options.tp));
    if (options.cp > max_ranks / options.tp) {
        refuse("--cp and --tp", "", text("at most ", max_ranks, " ranks in all"), text(options.cp, " x ", options.tp));
    }
    if (options.out.empty()) refuse("--out", "", "a folder", "an empty name");
    parse_layout(options);
    return options;
}

}  // namespace example
