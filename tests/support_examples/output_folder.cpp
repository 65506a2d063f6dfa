// The laws of OutputFolder: all or nothing, and what is not ours stays.
#include <doctest/doctest.h>

#include "refusal.hpp"
#include "support/output_folder.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using example::OutputFolder;
using Names = std::vector<std::string>;

std::string refusal_of(const fs::path& destination) {
    return refusal([&] { const OutputFolder folder(destination); });
}

}  // namespace

TEST_CASE("only our names are output names") {
    for (const char* name : {"rank-0.safetensors", "rank-12.safetensors", "photo-3.png", "frame-10.png",
                             "ownership.png", "ownership.svg"}) {
        CHECK(example::is_output_name(name));
    }
    for (const char* name :
         {"", "rank-.safetensors", "rank-x.safetensors", "rank-1.safetensors~", "photo-1.jpg", "rank--1.safetensors",
          "notes.txt", "ownership.pdf", "xrank-1.safetensors", ".png", "photo-.png"}) {
        CHECK_FALSE(example::is_output_name(name));
    }
}

TEST_CASE("committed: the folder is there with its files and nothing beside it, parents included") {
    const TemporaryFolder here;
    OutputFolder folder(here / "a/b/out/");
    write_file(folder.file("rank-0.safetensors"), "0");
    CHECK_FALSE(fs::exists(here / "a/b/out"));
    folder.commit();
    CHECK(here.listing() == Names{"a", "a/b", "a/b/out", "a/b/out/rank-0.safetensors"});
    CHECK(folder.destination() == here / "a/b/out");
    CHECK_THROWS_AS(folder.commit(), std::logic_error);
}

TEST_CASE("not committed: nothing is left, parents included") {
    const TemporaryFolder here;
    {
        const OutputFolder folder(here / "a/b/out");
        write_file(folder.file("ownership.png"), "x");
        CHECK(here.listing().size() == 4);
    }
    CHECK(here.listing().empty());
}

TEST_CASE("an exception leaves nothing") {
    const TemporaryFolder here;
    CHECK_THROWS_AS(
        [&] {
            const OutputFolder folder(here / "out");
            write_file(folder.file("photo-0.png"), "x");
            throw std::runtime_error("in between");
        }(),
        std::runtime_error);
    CHECK(here.listing().empty());
}

TEST_CASE("parents that were there, or that others use by now, stay") {
    const TemporaryFolder here;
    fs::create_directory(here / "a");
    {
        const OutputFolder folder(here / "a/b/c/out");
        write_file(here / "a/b/other", "x");
    }
    CHECK(here.listing() == Names{"a", "a/b", "a/b/other"});
}

TEST_CASE("a former run is replaced on success and stays on failure") {
    const TemporaryFolder here;
    {
        OutputFolder folder(here / "out");
        write_file(folder.file("rank-0.safetensors"), "old");
        write_file(folder.file("rank-1.safetensors"), "old");
        folder.commit();
    }
    {
        const OutputFolder folder(here / "out");
        write_file(folder.file("rank-0.safetensors"), "new");
    }
    CHECK(here.listing() == Names{"out", "out/rank-0.safetensors", "out/rank-1.safetensors"});
    CHECK(contents_of(here / "out/rank-0.safetensors") == "old");
    {
        OutputFolder folder(here / "out");
        write_file(folder.file("rank-0.safetensors"), "new");
        folder.commit();
    }
    CHECK(here.listing() == Names{"out", "out/rank-0.safetensors"});
    CHECK(contents_of(here / "out/rank-0.safetensors") == "new");
}

TEST_CASE("an empty folder is replaced") {
    const TemporaryFolder here;
    fs::create_directory(here / "out");
    OutputFolder folder(here / "out");
    write_file(folder.file("frame-0.png"), "x");
    folder.commit();
    CHECK(here.listing() == Names{"out", "out/frame-0.png"});
}

TEST_CASE("a folder with anything else in it is refused by the name of that, and untouched") {
    const TemporaryFolder here;
    fs::create_directory(here / "out");
    write_file(here / "out/rank-0.safetensors", "x");
    write_file(here / "out/thesis.tex", "x");
    CHECK(contains(refusal_of(here / "out"),
                   "expected a folder that holds only files of a former run, got \"thesis.tex\" in it"));
    fs::remove(here / "out/thesis.tex");
    fs::create_directory(here / "out/photo-1.png");
    CHECK(contains(refusal_of(here / "out"), "\"photo-1.png\""));
    fs::remove(here / "out/photo-1.png");
    fs::create_symlink(here / "out/rank-0.safetensors", here / "out/photo-2.png");
    CHECK(contains(refusal_of(here / "out"), "\"photo-2.png\""));
    CHECK(here.listing() == Names{"out", "out/photo-2.png", "out/rank-0.safetensors"});
}

TEST_CASE("what turns up at the destination meanwhile is not lost") {
    const TemporaryFolder here;
    {
        OutputFolder folder(here / "out");
        write_file(folder.file("frame-0.png"), "x");
        fs::create_directory(here / "out");
        write_file(here / "out/thesis.tex", "x");
        CHECK_THROWS_AS(folder.commit(), example::BadInput);
    }
    CHECK(here.listing() == Names{"out", "out/thesis.tex"});
}

TEST_CASE("destinations that can be no folder are refused and leave nothing") {
    const TemporaryFolder here;
    write_file(here / "file", "x");
    fs::create_symlink("nowhere", here / "dangling");
    CHECK(contains(refusal_of(here / "file"), "expected a folder or nothing"));
    CHECK(contains(refusal_of(here / "file/out"), "output folder"));
    CHECK(contains(refusal_of(here / "file/a/out"), "output folder"));
    CHECK(contains(refusal_of(here / "dangling"), "output folder"));
    CHECK(contains(refusal_of(here / ("a/b/" + std::string(300, 'x'))), "output folder"));
    CHECK(contains(refusal_of(""), "a path"));
    CHECK(contains(refusal_of("/"), "the root"));
    CHECK(contains(refusal_of("."), "output folder"));
    CHECK(contains(refusal_of(fs::path("/proc/seqpar/out")), "output folder"));
    CHECK(here.listing() == Names{"dangling", "file"});
}

TEST_CASE("a link to a folder stays a link") {
    const TemporaryFolder here;
    fs::create_directory(here / "real");
    fs::create_directory_symlink("real", here / "link");
    OutputFolder folder(here / "link");
    write_file(folder.file("frame-0.png"), "x");
    folder.commit();
    CHECK(here.listing() == Names{"link", "real", "real/frame-0.png"});
    CHECK(fs::is_symlink(here / "link"));
}

TEST_CASE("a file of another name is a fault of the program") {
    const TemporaryFolder here;
    const OutputFolder folder(here / "out");
    CHECK_THROWS_AS((void)folder.file("notes.txt"), std::logic_error);
    CHECK_THROWS_AS((void)folder.file("../rank-0.safetensors"), std::logic_error);
}
