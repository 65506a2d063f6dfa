// The main job as a user runs it: the program is started, and its files are held against a reference that knows no seqpar.
#include "support/safetensors.hpp"
#include "support_examples/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Ints = std::vector<std::int64_t>;

const fs::path data = SEQPAR_EXAMPLE_DATA;

struct Outcome {
    int code;
    std::string out;
    std::string err;
};

Outcome run(const TemporaryFolder& folder, const std::string& arguments) {
    const std::string out = (folder / "stdout").string();
    const std::string err = (folder / "stderr").string();
    const int status =
        std::system((std::string(SEQPAR_PROGRAM_SPLIT_BATCH) + " " + arguments + " >" + out + " 2>" + err).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents_of(out), contents_of(err)};
}

// --- the reference: docs/design.md's formulas, spelled out a token at a time ------------------------------------------------------

struct Case {
    std::string layout;
    int cp;
    int tp;
};

std::int64_t up(std::int64_t n, std::int64_t m) { return (n + m - 1) / m * m; }

// Positions of a CP rank over [begin, begin + length).
Ints deal(const std::string& layout, std::int64_t begin, std::int64_t length, int ranks, int rank, std::int64_t width) {
    Ints result;
    if (layout.starts_with("striped")) {
        for (std::int64_t p = 0; p < length; ++p) {
            if (p / width % ranks == rank) result.push_back(begin + p);
        }
    } else if (layout.ends_with("zigzag") && ranks > 1) {
        const std::int64_t c = length / (2 * ranks);
        for (std::int64_t i = 0; i < c; ++i)
            result.push_back(begin + rank * c + i);
        for (std::int64_t i = 0; i < c; ++i)
            result.push_back(begin + (2 * ranks - 1 - rank) * c + i);
    } else {
        const std::int64_t c = length / ranks;
        for (std::int64_t i = 0; i < c; ++i)
            result.push_back(begin + rank * c + i);
    }
    return result;
}

struct Reference {
    Ints cu;               // padded
    std::vector<Ints> cp;  // positions of each CP rank
    Ints source;           // of each position
};

Reference reference(const Case& c, const Ints& real) {
    const bool packed = c.layout.starts_with("packed-");
    const std::int64_t width = c.layout.starts_with("striped:") ? std::stoll(c.layout.substr(8)) : 1;
    std::int64_t m = c.layout.ends_with("zigzag") ? 2 * c.cp : c.layout.starts_with("striped") ? width * c.cp : c.cp;
    if (c.cp == 1) m = 1;
    if (c.tp > 1) m = std::lcm(m, std::int64_t{c.cp} * c.tp);
    Reference result;
    result.cu = real;
    if (packed) {
        for (std::size_t d = 1; d < real.size(); ++d)
            result.cu[d] = result.cu[d - 1] + up(real[d] - real[d - 1], m);
    } else {
        result.cu.back() = up(real.back(), m);
    }
    for (int r = 0; r < c.cp; ++r) {
        Ints mine;
        if (!packed) {
            mine = deal(c.layout, 0, result.cu.back(), c.cp, r, width);
        } else {
            for (std::size_t d = 0; d + 1 < real.size(); ++d) {
                const Ints part = deal(c.layout, result.cu[d], result.cu[d + 1] - result.cu[d], c.cp, r, width);
                mine.insert(mine.end(), part.begin(), part.end());
            }
        }
        result.cp.push_back(mine);
    }
    result.source.assign(static_cast<std::size_t>(result.cu.back()), -1);
    for (std::size_t d = 0; d + 1 < real.size(); ++d) {
        for (std::int64_t i = 0; i < real[d + 1] - real[d]; ++i)
            result.source[static_cast<std::size_t>(result.cu[d] + i)] = real[d] + i;
    }
    return result;
}

template <class T>
Ints ints(const example::TensorFile& file, const std::string& name) {
    const auto& tensor = file.tensors.at(name);
    const auto values = file.view<T>(name, tensor.shape);
    return Ints(values.begin(), values.end());
}

// Every array of every rank's file against the reference.
void holds_what_it_should(const fs::path& input, const fs::path& out, const Case& c) {
    const example::TensorFile batch = example::read_tensors(input);
    const Ints ids = ints<std::int64_t>(batch, "input_ids");
    const Ints labels = ints<std::int64_t>(batch, "labels");
    const Ints real = ints<std::int32_t>(batch, "cu_seqlens");
    const Ints position_ids = ints<std::int32_t>(batch, "position_ids");
    const std::int64_t width = batch.tensors.at("image_bank").shape[1];
    const std::size_t tokens = ids.size();
    Ints shifted(tokens, -100);
    Ints bank(tokens, -1);
    Ints row(tokens, -1);
    std::int64_t next[2] = {0, 0};
    for (std::size_t t = 0; t < tokens; ++t) {
        if (ids[t] == 151655 || ids[t] == 151656) {
            bank[t] = ids[t] - 151655;
            row[t] = next[bank[t]]++;
        }
    }
    for (std::size_t d = 0; d + 1 < real.size(); ++d) {
        for (std::int64_t t = real[d]; t + 1 < real[d + 1]; ++t)
            shifted[static_cast<std::size_t>(t)] = labels[static_cast<std::size_t>(t) + 1];
    }
    const auto banks = std::map<std::int64_t, std::string>{{0, "image_bank"}, {1, "video_bank"}};

    const Reference expected = reference(c, real);
    for (int r = 0; r < c.cp * c.tp; ++r) {
        CAPTURE(r);
        const example::TensorFile file = example::read_tensors(out / ("rank-" + std::to_string(r) + ".safetensors"));
        const Ints& shard = expected.cp[static_cast<std::size_t>(r / c.tp)];
        const std::int64_t part = static_cast<std::int64_t>(shard.size()) / c.tp;
        const Ints mine(shard.begin() + r % c.tp * part, shard.begin() + (r % c.tp + 1) * part);

        const auto source = [&](std::int64_t p) { return expected.source[static_cast<std::size_t>(p)]; };
        const auto take = [&](const Ints& whole, const Ints& positions, std::int64_t fill) {
            Ints result;
            for (const std::int64_t p : positions)
                result.push_back(source(p) < 0 ? fill : whole[static_cast<std::size_t>(source(p))]);
            return result;
        };
        CHECK(ints<std::int64_t>(file, "position") == mine);
        Ints sources;
        for (const std::int64_t p : mine)
            sources.push_back(source(p));
        CHECK(ints<std::int64_t>(file, "source") == sources);
        CHECK(ints<std::int64_t>(file, "input_ids") == take(ids, mine, 151643));
        CHECK(ints<std::int64_t>(file, "labels") == take(shifted, shard, -100));
        CHECK(ints<std::int32_t>(file, "bank") == take(bank, mine, -1));
        CHECK(ints<std::int32_t>(file, "row") == take(row, mine, -1));
        Ints axes;
        for (std::size_t a = 0; a < 3; ++a) {
            const Ints one(position_ids.begin() + static_cast<std::ptrdiff_t>(a * tokens),
                           position_ids.begin() + static_cast<std::ptrdiff_t>((a + 1) * tokens));
            const Ints local = take(one, mine, 0);
            axes.insert(axes.end(), local.begin(), local.end());
        }
        CHECK(ints<std::int32_t>(file, "position_ids") == axes);

        CHECK(file.tensors.at("embeddings").dtype == "BF16");
        CHECK(file.tensors.at("embeddings").shape == Ints{part, width});
        const auto& bytes = file.tensors.at("embeddings").bytes;
        bool same = true;
        for (std::int64_t i = 0; i < part; ++i) {
            const std::int64_t s = source(mine[static_cast<std::size_t>(i)]);
            const std::int64_t id = s < 0 ? 151643 : ids[static_cast<std::size_t>(s)];
            for (std::int64_t j = 0; j < width; ++j) {
                std::int64_t value = (id + j) % 256;
                if (s >= 0 && bank[static_cast<std::size_t>(s)] >= 0) {
                    const auto& from = batch.tensors.at(banks.at(bank[static_cast<std::size_t>(s)])).bytes;
                    value = std::to_integer<std::int64_t>(
                        from[static_cast<std::size_t>(row[static_cast<std::size_t>(s)] * width + j)]);
                }
                std::uint16_t bits;
                std::memcpy(&bits, bytes.data() + 2 * (i * width + j), 2);
                const float number = std::bit_cast<float>(std::uint32_t{bits} << 16);
                same = same && number == static_cast<float>(value);
            }
        }
        CHECK(same);

        CHECK(file.metadata.at("layout") == c.layout);
        CHECK(file.metadata.at("cp") == std::to_string(c.cp));
        CHECK(file.metadata.at("tp") == std::to_string(c.tp));
        CHECK(file.metadata.at("cp_rank") == std::to_string(r / c.tp));
        CHECK(file.metadata.at("tp_rank") == std::to_string(r % c.tp));
        std::string list = "[";
        for (const std::int64_t offset : expected.cu)
            list += (list.size() > 1 ? "," : "") + std::to_string(offset);
        CHECK(file.metadata.at("cu_seqlens") == list + "]");
    }
    CHECK_FALSE(fs::exists(out / ("rank-" + std::to_string(c.cp * c.tp) + ".safetensors")));
}

}  // namespace

TEST_CASE("every rank's file holds what the formulas say, for every layout, one rank, odd ranks and TP-SP") {
    const TemporaryFolder folder;
    const std::vector<Case> cases = {
        {"packed-zigzag", 4, 1}, {"packed-zigzag", 2, 2}, {"packed-zigzag", 3, 2},     {"packed-zigzag", 1, 1},
        {"zigzag", 4, 1},        {"zigzag", 1, 3},        {"striped", 5, 1},           {"striped:16", 2, 3},
        {"contiguous", 4, 1},    {"contiguous", 3, 2},    {"packed-contiguous", 4, 1}, {"packed-contiguous", 3, 4}};
    for (const char* name : {"tiny", "batch"}) {
        for (const Case& c : cases) {
            CAPTURE(name);
            CAPTURE(c.layout);
            CAPTURE(c.cp);
            CAPTURE(c.tp);
            const fs::path input = data / (std::string(name) + ".safetensors");
            const fs::path out = folder / "out";
            const Outcome outcome =
                run(folder, "--input " + input.string() + " --layout " + c.layout + " --cp " + std::to_string(c.cp) +
                                " --tp " + std::to_string(c.tp) + " --out " + out.string());
            REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
            CHECK(outcome.err.empty());
            CHECK(outcome.out.find("bit for bit") != std::string::npos);
            CHECK(fs::exists(out / "ownership.png"));
            holds_what_it_should(input, out, c);
            fs::remove_all(out);
        }
    }
}

TEST_CASE("the table shows the recorded facts of the batch under packed-zigzag") {
    const TemporaryFolder folder;
    const Outcome outcome = run(folder, "--out " + (folder / "out").string());
    REQUIRE(outcome.code == 0);
    // rank, tokens, real, pad, image, video, labels
    const std::vector<std::vector<int>> facts = {{0, 1280, 1251, 29, 55, 15, 1085},
                                                 {1, 1280, 1280, 0, 100, 30, 1103},
                                                 {2, 1280, 1280, 0, 162, 30, 1042},
                                                 {3, 1280, 1280, 0, 119, 45, 1040}};
    for (const std::vector<int>& fact : facts) {
        std::istringstream lines(outcome.out);
        bool found = false;
        for (std::string line; std::getline(lines, line);) {
            std::istringstream numbers(line);
            std::vector<int> row(7, -1);
            for (int& n : row)
                numbers >> n;
            found = found || row == fact;
        }
        CHECK_MESSAGE(found, "rank " << fact[0]);
    }
    CHECK(outcome.out.find("1.005 here, 2.208 for the contiguous layout") != std::string::npos);
}

TEST_CASE("two runs write the same bytes, and a second run takes the place of the first") {
    const TemporaryFolder folder;
    const std::string arguments =
        "--input " + (data / "tiny.safetensors").string() + " --cp 2 --out " + (folder / "out").string();
    REQUIRE(run(folder, arguments).code == 0);
    std::map<std::string, std::string> first;
    for (const auto& entry : fs::directory_iterator(folder / "out"))
        first[entry.path().filename().string()] = contents_of(entry.path());
    REQUIRE(first.contains("photo-0.png"));
    REQUIRE(run(folder, arguments).code == 0);
    std::map<std::string, std::string> second;
    for (const auto& entry : fs::directory_iterator(folder / "out"))
        second[entry.path().filename().string()] = contents_of(entry.path());
    CHECK(first == second);
}

TEST_CASE("whatever is wrong gives exit code 2, one line on standard error and no output, not even the folder") {
    const TemporaryFolder folder;
    std::vector<std::string> arguments = {"--layout spiral",
                                          "--layout striped:0",
                                          "--layout striped:",
                                          "--layout striped:2x",
                                          "--cp 0",
                                          "--cp -1",
                                          "--cp two",
                                          "--tp 0",
                                          "--cp 2000",
                                          "--cp 64 --tp 64",
                                          "--frobnicate",
                                          "--input /no/such/file",
                                          "--input /",
                                          "--layout striped:100000000",
                                          "--layout striped:9223372036854775807",
                                          "surplus"};
    for (const auto& entry : fs::directory_iterator(data / "bad"))
        arguments.push_back("--input " + entry.path().string());
    CHECK(arguments.size() == 16 + 19);
    for (const std::string& given : arguments) {
        CAPTURE(given);
        const Outcome outcome = run(folder, given + " --out " + (folder / "deep" / "out").string());
        CHECK(outcome.code == 2);
        CHECK(std::ranges::count(outcome.err, '\n') == 1);
        CHECK(outcome.err.find("got") != std::string::npos);
        CHECK(outcome.out.empty());
        CHECK_FALSE(fs::exists(folder / "deep"));
    }
}

TEST_CASE("a folder that was there stays as it was when a run fails, and is refused where it holds something else") {
    const TemporaryFolder folder;
    fs::create_directories(folder / "mine");
    write_file(folder / "mine" / "thesis.txt", "years of work");
    const std::string out = " --out " + (folder / "mine").string();
    CHECK(run(folder, "--cp 0" + out).code == 2);
    CHECK(run(folder, "--input " + (data / "tiny.safetensors").string() + out).code == 2);
    CHECK(contents_of(folder / "mine" / "thesis.txt") == "years of work");
    CHECK(std::distance(fs::directory_iterator(folder / "mine"), fs::directory_iterator{}) == 1);
}

TEST_CASE("--help prints the options and leaves with 0") {
    const TemporaryFolder folder;
    const Outcome outcome = run(folder, "--help");
    CHECK(outcome.code == 0);
    for (const char* option : {"--input", "--layout", "--cp", "--tp", "--out"})
        CHECK(outcome.out.find(option) != std::string::npos);
}
