// Golden cases of vision/ with vectors of values: merges and gathers with their gradients, added levels, whole models, and what
// keeps an encoder in the graph; merges and levels also split over ranks. On the device: vectors and banks of one type, f32 or bf16
// (tests/move has the others). Not here: lists of rows and all else that is integers.
#include "exec.hpp"
#include "trainer_rules.hpp"

#include "support/safetensors.hpp"

#include <cstring>

using namespace golden;

namespace {

// What a number is in files: `f32` in the case, `F32` in the tensors.
template <class F>
void with_type(const std::string& name, F f) {
    if (name == "f64") return f(double{});
    if (name == "f32") return f(float{});
    if (name == "f16") return f(sp::f16{});
    if (name == "bf16") return f(sp::bf16{});
    throw std::runtime_error("a type that is not known here: " + name);
}
template <class T>
constexpr std::string_view dtype = std::is_same_v<T, double>     ? "F64"
                                   : std::is_same_v<T, float>    ? "F32"
                                   : std::is_same_v<T, sp::f16>  ? "F16"
                                   : std::is_same_v<T, sp::bf16> ? "BF16"
                                                                 : "U8";

// The arrays of one case.
struct Arrays {
    const example::TensorFile& file;
    std::string name;

    bool has(const std::string& key) const { return file.tensors.contains(name + "." + key); }
    template <class T>
    std::vector<T> values(const std::string& key) const {
        const example::Tensor& tensor = file.tensors.at(name + "." + key);
        if (tensor.dtype != dtype<T>) throw std::runtime_error(key + " is " + tensor.dtype);
        std::vector<T> all(tensor.bytes.size() / sizeof(T));
        if (!all.empty()) std::memcpy(static_cast<void*>(all.data()), tensor.bytes.data(), tensor.bytes.size());
        return all;
    }
    // Not there: no rows.
    template <class T>
    std::vector<T> values_or_none(const std::string& key) const {
        return has(key) ? values<T>(key) : std::vector<T>{};
    }
};
struct Values {
    const json& body;
    Arrays arrays;
    std::int64_t width = body.value("H", std::int64_t{0});

    template <class T>
    auto rows_of(std::vector<T>& values) const {
        return sp::tensor(values.data(), static_cast<std::int64_t>(values.size()) / width, width);
    }
};

// Bit for bit, except that a NaN is a NaN and, where told so, -0 is 0.
template <class T>
bool same(const std::vector<T>& got, const std::vector<T>& expected, bool payload = false, bool zeros = false) {
    if (got.size() != expected.size()) return false;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::memcmp(&got[i], &expected[i], sizeof(T)) == 0) continue;
        const double a = sp::convert<double>(got[i]), b = sp::convert<double>(expected[i]);
        if (!(a != a && b != b && !payload) && !(zeros && a == 0 && b == 0)) return false;
    }
    return true;
}

// --- the same over ranks: values [samples, length, width] split by a layout, worked on, put back -------------------------
template <class F>
void for_each_split(std::int64_t length, F f) {
    f(sp::UnevenContiguous{}(length, 3));
    const List real{0, length / 3, length};
    const List padded = padded_to(real, 4);
    f(sp::padded(sp::packed(sp::ZigZag{}, padded, padded.back(), 2), real, padded, length));
}
template <class T>
auto as_ref(const std::vector<T>& values, std::int64_t samples, std::int64_t width) {
    const auto count = static_cast<std::int64_t>(values.size());
    return sp::tensor(values.data(), samples, width > 0 ? count / samples / width : 0, width);
}
template <class T>
auto as_ref(std::vector<T>& values, std::int64_t samples, std::int64_t width) {
    const auto count = static_cast<std::int64_t>(values.size());
    return sp::tensor(values.data(), samples, width > 0 ? count / samples / width : 0, width);
}
template <class L, class T>
std::vector<T> part_of(const L& layout, int rank, const std::vector<T>& whole, std::int64_t samples, std::int64_t width,
                       T fill) {
    std::vector<T> out(static_cast<std::size_t>(samples * layout.slots(rank) * width));
    if constexpr (sp::is_padded<L>) {
        sp::shard(test::main_exec, layout, rank, as_ref(whole, samples, width), sp::axis<1>,
                  as_ref(out, samples, width), fill);
    } else {
        sp::shard(test::main_exec, layout, rank, as_ref(whole, samples, width), sp::axis<1>,
                  as_ref(out, samples, width));
    }
    return out;
}
// work(rank, values) on what each rank holds.
template <class L, class T, class Work>
std::vector<T> over_ranks(const L& layout, const std::vector<T>& whole, std::int64_t samples, std::int64_t width,
                          const Work& work) {
    std::vector<std::vector<T>> parts;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        parts.push_back(part_of(layout, rank, whole, samples, width, T(0)));
        work(rank, parts.back());
    }
    std::vector<T> out(whole.size());
    const auto of_rank = [&](int rank) { return as_ref(parts[static_cast<std::size_t>(rank)], samples, width); };
    sp::unshard(test::main_exec, layout, sp::shards(of_rank), sp::axis<1>, as_ref(out, samples, width));
    return out;
}

// --- gather: out, d_emb, d_bank ---------------------------------------------------------------------------------------
template <class T, class B>
void gather(const Values& v) {
    const auto rows = v.body.at("row").get<std::vector<std::int32_t>>();
    const bool payload = v.body.at("name").get<std::string>().rfind("nan_payload", 0) == 0;
    std::vector<T> emb = v.arrays.values<T>("emb");
    std::vector<B> bank = v.arrays.values_or_none<B>("bank");
    std::vector<T> out(emb.size());
    sp::VisionGather{}(test::main_exec, v.rows_of(emb), rows, v.rows_of(bank), v.rows_of(out));
    CHECK(same(out, v.arrays.values<T>("out"), payload));
    if (v.body.value("forward_only", false)) return;
    std::vector<T> d_out = v.arrays.values<T>("d_out");
    std::vector<B> d_bank(bank.size(), B(0));
    const auto backward = [&](auto mode) {
        std::vector<T> d_emb(d_out.size());
        sp::VisionGather{}.backward(test::main_exec, v.rows_of(d_out), rows, v.rows_of(d_emb), v.rows_of(d_bank), mode);
        CHECK(same(d_emb, v.arrays.values<T>("d_emb")));
        // Where the peer's bank gets no gradient at all, no row of it is touched.
        CHECK(same(d_bank, v.arrays.has("d_bank") ? v.arrays.values<B>("d_bank") : std::vector<B>(bank.size(), B(0)),
                   false, true));
    };
    backward(sp::Summed<sp::Add, T>{});
    if (!v.body.at("injective").get<bool>()) return;
    std::fill(d_bank.begin(), d_bank.end(), B(0));
    backward(sp::Store{});
}

// --- merge and e2e: rows from the ids; up to three banks, of which the first two have levels ----------------------------
struct Stream {
    std::int64_t samples, length;
    std::vector<std::int32_t> rows, banks;

    template <class T>
    auto whole(std::vector<T>& values) const {
        return sp::tensor(values.data(), samples, length);
    }
    template <class T>
    auto vectors(std::vector<T>& values, std::int64_t width) const {
        return sp::tensor(values.data(), samples, length, width);
    }
    auto array() { return sp::row_array(whole(rows), whole(banks)); }
    template <class L>
    Stream part(const L& layout, int rank) const {
        Stream own = *this;
        own.length = layout.slots(rank);
        own.rows = part_of(layout, rank, rows, samples, 1, -1);
        own.banks = part_of(layout, rank, banks, samples, 1, -1);
        return own;
    }

    explicit Stream(const json& body) {
        const Lists ids = lists(body, "ids");
        samples = static_cast<std::int64_t>(ids.size());
        length = static_cast<std::int64_t>(ids.at(0).size());
        List flat, valid;
        for (const List& sample : ids)
            flat = test::joined(flat, sample);
        valid.resize(flat.size(), 1);
        if (has(body, "attention_mask")) {
            valid.clear();
            for (const List& sample : lists(body, "attention_mask"))
                valid = test::joined(valid, sample);
        }
        sp::PlaceholderRules rules;
        for (const std::int64_t id : list(body, "placeholders"))
            rules = rules.with(id, rules.count());
        rows.resize(flat.size());
        banks.resize(flat.size());
        sp::build_rows(test::main_exec, sp::masked(whole(flat), whole(valid)), rules, whole(rows), whole(banks));
    }
};

// Level `l` of the banks that have one, if the case has it.
template <class B>
struct Level {
    std::vector<B> image, video;

    Level(const Arrays& arrays, int l)
        : image(arrays.values_or_none<B>("level" + std::to_string(l) + "_bank0")),
          video(arrays.values_or_none<B>("level" + std::to_string(l) + "_bank1")) {}
    auto banks(const Values& v) { return sp::banks(v.rows_of(image), v.rows_of(video), sp::no_level); }
};

template <class T, class B>
void merge(const Values& v) {
    Stream stream(v.body);
    std::vector<B> bank[3];
    for (int b = 0; b < 3; ++b)
        bank[b] = v.arrays.values_or_none<B>("bank" + std::to_string(b));
    const auto all = sp::banks(v.rows_of(bank[0]), v.rows_of(bank[1]), v.rows_of(bank[2]));
    // All at once, and by the ranks of a split, of which each works on what it holds.
    const auto both_ways = [&](const std::vector<T>& values, const std::vector<T>& expected, const auto& work,
                               const auto& begin, const auto& check) {
        begin();
        std::vector<T> whole = values;
        work(stream, whole);
        CHECK(same(whole, expected));
        check();
        for_each_split(stream.length, [&](const auto& layout) {
            begin();
            const auto split = over_ranks(layout, values, stream.samples, v.width, [&](int rank, std::vector<T>& part) {
                Stream own = stream.part(layout, rank);
                work(own, part);
            });
            CHECK(same(split, whole, true));
            check();
        });
    };
    const auto nothing = [] {};
    const auto gather = [&](Stream& s, std::vector<T>& emb) {
        sp::VisionGather{}(test::main_exec, s.vectors(emb, v.width), s.array(), all, s.vectors(emb, v.width));
    };
    both_ways(v.arrays.values<T>("emb"), v.arrays.values<T>(v.arrays.has("merged") ? "merged" : "out"), gather, nothing,
              nothing);
    if (v.arrays.has("d_out")) {
        std::vector<B> d_bank[3];
        const auto clear = [&] {
            for (int b = 0; b < 3; ++b)
                d_bank[b].assign(bank[b].size(), B(0));
        };
        const auto backward = [&](Stream& s, std::vector<T>& d_out) {
            const auto vectors = s.vectors(d_out, v.width);
            sp::VisionGather{}.backward(test::main_exec, vectors, s.array(), vectors,
                                        sp::banks(v.rows_of(d_bank[0]), v.rows_of(d_bank[1]), v.rows_of(d_bank[2])),
                                        sp::Store{});
        };
        both_ways(v.arrays.values<T>("d_out"), v.arrays.values<T>("d_emb"), backward, clear, [&] {
            for (int b = 0; b < 3; ++b)
                CHECK(same(d_bank[b], v.arrays.values_or_none<B>("d_bank" + std::to_string(b))));
        });
    }
    // The compact form, as decoder layers are given it.
    if (v.arrays.has("visual_pos_masks")) {
        std::vector<std::uint8_t> mask(stream.rows.size());
        std::vector<std::int32_t> rows(stream.rows.size()), banks(stream.rows.size());
        List count(1);
        sp::compact(test::main_exec, stream.array(), sp::only_banks({0, 1}), stream.whole(mask), rows, banks, count);
        CHECK(mask == v.arrays.values<std::uint8_t>("visual_pos_masks"));
        rows.resize(static_cast<std::size_t>(count[0]));
        banks.resize(rows.size());
        for (int l = 0; v.arrays.has("deepstack" + std::to_string(l)); ++l) {
            Level<B> level(v.arrays, l);
            std::vector<B> features(rows.size() * static_cast<std::size_t>(v.width));
            sp::select(test::main_exec, level.banks(v), sp::row_array(rows, banks), v.rows_of(features));
            CHECK(same(features, v.arrays.values<B>("deepstack" + std::to_string(l))));
        }
    }
    for (int l = 0; v.arrays.has("add" + std::to_string(l) + "_h"); ++l) {
        Level<B> level(v.arrays, l);
        const std::string key = "add" + std::to_string(l);
        const auto add = [&](Stream& s, std::vector<T>& h) {
            sp::add_rows(test::main_exec, s.vectors(h, v.width), s.array(), level.banks(v));
        };
        both_ways(v.arrays.values<T>(key + "_h"), v.arrays.values<T>(key + "_out"), add, nothing, nothing);
    }
}

// --- add_rows: rows in sample order; a fault of the peer must come out otherwise ----------------------------------------
template <class T, class B>
void add_rows(const Values& v) {
    std::vector<std::int32_t> rows;
    std::int32_t next = 0;
    for (const List& sample : lists(v.body, "mask")) {
        for (const std::int64_t marked : sample)
            rows.push_back(marked != 0 ? next++ : -1);
    }
    std::vector<B> level = v.arrays.values<B>("level");
    const std::vector<T> before = v.arrays.values<T>("h");
    std::vector<T> h = before;
    sp::add_rows(test::main_exec, v.rows_of(h), rows, v.rows_of(level));
    const auto length = static_cast<std::int64_t>(rows.size());
    for_each_split(length, [&](const auto& layout) {
        const auto split = over_ranks(layout, before, 1, v.width, [&](int rank, std::vector<T>& part) {
            sp::add_rows(test::main_exec, v.rows_of(part), part_of(layout, rank, rows, 1, 1, -1), v.rows_of(level));
        });
        CHECK(same(split, h, true));
    });
    if (v.body.contains("raises")) return;  // the peer does; nothing was recorded
    const bool right = !v.body.contains("fault");
    CHECK(same(h, v.arrays.values<T>("out")) == right);
    std::vector<T> d_h = v.arrays.values<T>("d_out");
    std::vector<B> d_level(level.size());
    sp::add_rows_backward(test::main_exec, v.rows_of(d_h), rows, v.rows_of(d_level), sp::Store{});
    CHECK(same(d_h, v.arrays.values<T>("d_h")));
    CHECK(same(d_level, v.arrays.values<B>("d_level")) == right);
    for_each_split(length, [&](const auto& layout) {  // each row's gradient is on one rank
        std::vector<B> united(level.size());
        over_ranks(layout, v.arrays.values<T>("d_out"), 1, v.width, [&](int rank, std::vector<T>& part) {
            sp::add_rows_backward(test::main_exec, v.rows_of(part), part_of(layout, rank, rows, 1, 1, -1),
                                  v.rows_of(united), sp::Store{});
        });
        CHECK(same(united, d_level, true));
    });
}

// --- zero_dependency: the peer's own 0 * x is NaN in two cases ----------------------------------------------------------
void zero_dependency(const Values& v) {
    std::vector<float> emb = v.arrays.values<float>("emb"), d_out = v.arrays.values<float>("d_out");
    std::vector<float> out(emb.size(), -7.0f), d_emb(emb.size(), -7.0f);
    std::vector<float> d_bank(v.arrays.values<float>("bank").size(), -7.0f);
    sp::ZeroDependency{}(test::main_exec, v.rows_of(emb), v.rows_of(out));
    sp::ZeroDependency{}.backward(test::main_exec, v.rows_of(d_out), v.rows_of(d_emb), v.rows_of(d_bank));
    CHECK(same(out, emb, true));
    CHECK(same(d_emb, d_out, true));
    CHECK(d_bank == std::vector<float>(d_bank.size(), 0.0f));
    if (v.body.at("peer_out_nan").get<bool>()) return;
    CHECK(same(out, v.arrays.values<float>("out"), true));
    CHECK(same(d_bank, v.arrays.values<float>("d_bank"), false, true));  // the peer's 0 * g may be -0
}

// The types that a case says its vectors and its banks have. Whether f was called: on a device each pair takes long to compile.
template <class T, class B>
constexpr bool is_taken =
    !test::on_device || (std::is_same_v<T, B> && (std::is_same_v<T, float> || std::is_same_v<T, sp::bf16>));
template <class F>
bool with_types(const json& body, const char* vectors, const char* banks, F f) {
    bool taken = false;
    with_type(body.value("type", body.value(vectors, std::string())), [&]<class T>(T t) {
        with_type(body.value("type", body.value(banks, std::string())), [&]<class B>(B b) {
            if constexpr (is_taken<T, B>) {
                f(t, b);
                taken = true;
            }
        });
    });
    return taken;
}
bool run(const std::string& kind, const Values& v) {
    if (kind == "gather")
        return with_types(v.body, "emb_type", "bank_type",
                          [&](auto t, auto b) { gather<decltype(t), decltype(b)>(v); });
    if (kind == "merge" || kind == "e2e")
        return with_types(v.body, "emb_type", "bank_type", [&](auto t, auto b) { merge<decltype(t), decltype(b)>(v); });
    if (kind == "add_rows")
        return with_types(v.body, "h_type", "level_type",
                          [&](auto t, auto b) { add_rows<decltype(t), decltype(b)>(v); });
    if (kind != "zero_dependency") return false;
    zero_dependency(v);
    return true;
}

}  // namespace

TEST_CASE("every golden value of vision rows comes out bit for bit") {
    std::map<std::string, example::TensorFile> files;
    std::map<std::string, int> checked;
    for (const Case& c : cases("vision")) {
        const auto path = folder() / "vision" / (c.file + ".safetensors");
        if (!std::filesystem::exists(path)) continue;
        if (!files.contains(c.file)) files.emplace(c.file, example::read_tensors(path));
        const std::string name = c.name();
        CAPTURE(name);
        try {
            if (run(c.kind(), {c.body, {files.at(c.file), c.body.value("name", std::string())}})) ++checked[c.kind()];
        } catch (const std::exception& error) {
            FAIL_CHECK(error.what());
        }
    }
    for (const auto& [kind, count] : checked)
        std::printf("%-16s %7d cases of values\n", kind.c_str(), count);
    if (std::getenv("SEQPAR_GOLDEN") == nullptr) CHECK(checked.size() == 5);
}
