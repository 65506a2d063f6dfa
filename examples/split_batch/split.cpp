// The data path, written as a trainer would write it with the library.
#include "split.hpp"

#include "support/bad_input.hpp"

#include <seqpar/seqpar.hpp>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace example {

namespace sp = seqpar;

namespace {

constexpr std::int32_t text_token = -1;  // row and bank of a token that is no placeholder
constexpr std::int64_t max_bytes = std::int64_t{8}
                                   << 30;  // of all embeddings: virtual ranks share this machine's memory

// The padded offsets of the batch's documents, for a policy that deals multiples of m: inside documents each is padded, over the
// whole sequence they stay as they are and the last one grows.
template <class Policy>
std::vector<std::int32_t> pad(const Batch& batch, const Policy& policy, bool inside_documents, const Options& options) {
    const std::int64_t multiple = sp::pad_multiple(policy, options.cp, options.tp);
    std::vector<std::int32_t> padded(batch.cu_seqlens.size());
    if (inside_documents) {
        sp::padded_offsets(thrust::seq, batch.cu_seqlens, multiple, padded);
    } else {
        sp::padded_offsets(thrust::seq, batch.cu_seqlens, multiple, sp::Tail::last_document, padded);
    }
    const std::int64_t most = max_bytes / (2 * std::max<std::int64_t>(1, batch.image.width));
    if (padded.back() > most)
        refuse("--layout", quote(options.layout), text("at most ", most, " positions after padding"),
               text(padded.back()));
    return padded;
}

// Calls use(layout, padded offsets) with the layout that the options ask for: the base layout over CP ranks, with the sources of
// its pad slots, and TP-SP inside each shard (one part where tp is 1).
template <class Use>
auto with_layout(const Batch& batch, const Options& options, Use use) {
    const auto over_sequence = [&](auto policy) {
        const std::vector<std::int32_t> cu = pad(batch, policy, false, options);
        const auto layout = sp::padded(policy(cu.back(), options.cp), batch.cu_seqlens, cu, batch.tokens());
        return use(sp::nested(layout, sp::Contiguous{}, options.tp), cu);
    };
    const auto inside_documents = [&](auto policy) {
        const std::vector<std::int32_t> cu = pad(batch, policy, true, options);
        const auto layout =
            sp::padded(sp::packed(policy, cu, cu.back(), options.cp), batch.cu_seqlens, cu, batch.tokens());
        return use(sp::nested(layout, sp::Contiguous{}, options.tp), cu);
    };
    switch (options.kind) {
        case LayoutKind::zigzag: return over_sequence(sp::ZigZag{});
        case LayoutKind::striped: return over_sequence(sp::Striped{options.width});
        case LayoutKind::contiguous: return over_sequence(sp::Contiguous{});
        case LayoutKind::packed_zigzag: return inside_documents(sp::ZigZag{});
        case LayoutKind::packed_contiguous: return inside_documents(sp::Contiguous{});
    }
    throw std::logic_error("a layout without a name");
}

// What stands in for a model's text embeddings: column j of token id is (id + j) mod 256.
std::vector<sp::bf16> embed(std::span<const std::int64_t> ids, std::int64_t width) {
    std::vector<sp::bf16> vectors(ids.size() * static_cast<std::size_t>(width));
    auto to = vectors.begin();
    for (const std::int64_t id : ids) {
        for (std::int64_t j = 0; j < width; ++j)
            *to++ = sp::bf16(static_cast<std::uint8_t>((id & 255) + j));
    }
    return vectors;
}

// The arrays that are built from the unsplit tokens, once.
struct Prepared {
    std::vector<std::int64_t> labels;  // [S] shifted inside documents
    std::vector<std::int32_t> row;     // [S]
    std::vector<std::int32_t> bank;    // [S]
};

Prepared prepare(const Batch& batch) {
    const std::size_t tokens = batch.input_ids.size();
    Prepared p{std::vector<std::int64_t>(tokens), std::vector<std::int32_t>(tokens), std::vector<std::int32_t>(tokens)};
    const auto rules = sp::placeholders({{batch.token.image, 0}, {batch.token.video, 1}});
    sp::build_rows(thrust::seq, batch.input_ids, rules, p.row, p.bank);
    sp::shift_labels(thrust::seq, batch.labels, batch.cu_seqlens, 1, batch.token.ignore_index, p.labels);
    return p;
}

template <class Layout>
RankData split_rank(const Batch& batch, const Prepared& whole, const Layout& layout, int rank) {
    const std::int64_t slots = layout.slots(rank);
    const std::int64_t width = batch.image.width;
    const std::size_t n = static_cast<std::size_t>(slots);
    const int cp_rank = rank / layout.parts();
    RankData mine;
    mine.position.resize(n);
    mine.source.resize(n);
    mine.input_ids.resize(n);
    mine.labels.resize(static_cast<std::size_t>(layout.outer().slots(cp_rank)));
    mine.position_ids.resize(3 * n);
    mine.bank.resize(n);
    mine.row.resize(n);

    sp::positions(thrust::seq, layout, rank, mine.position);
    sp::sources(thrust::seq, layout, rank, mine.source);
    sp::shard_batch(
        thrust::seq, layout, rank,  //
        sp::field(batch.input_ids, sp::axis<0>, mine.input_ids).fill(batch.token.pad),
        sp::field(whole.labels, sp::axis<0>, mine.labels).fill(batch.token.ignore_index).with(layout.outer(), cp_rank),
        sp::field(sp::tensor(batch.position_ids.data(), 3, batch.tokens()), sp::axis<-1>,
                  sp::tensor(mine.position_ids.data(), 3, slots))
            .fill(0),
        sp::field(whole.bank, sp::axis<0>, mine.bank).fill(text_token),
        sp::field(whole.row, sp::axis<0>, mine.row).fill(text_token));

    // The tokens are split; now the vision rows land in them, in place, straight from the banks.
    mine.embeddings = embed(mine.input_ids, width);
    const auto embeddings = sp::tensor(mine.embeddings.data(), slots, width);
    const auto image = sp::tensor(batch.image.bytes.data(), batch.image.rows, width);
    const auto video = sp::tensor(batch.video.bytes.data(), batch.video.rows, width);
    sp::VisionGather{}(thrust::seq, embeddings, sp::row_array(mine.row, mine.bank), sp::banks(image, video),
                       embeddings);

    mine.work = sp::causal_work(layout, rank, sp::offsets(batch.cu_seqlens));
    return mine;
}

void prove(bool holds, SplitResult& result, std::string claim) {
    if (!holds) throw std::logic_error("not so: " + claim);
    result.verified.push_back(std::move(claim));
}

// Every position and every source has one place and no more.
template <class Layout>
void prove_partition(const Layout& layout, SplitResult& result) {
    std::vector<int> positions(static_cast<std::size_t>(layout.size()));
    std::vector<int> sources(static_cast<std::size_t>(layout.source_size()));
    for (const RankData& rank : result.ranks) {
        for (const std::int64_t p : rank.position)
            ++positions[static_cast<std::size_t>(p)];
        for (const std::int64_t s : rank.source) {
            if (s >= 0) ++sources[static_cast<std::size_t>(s)];
        }
    }
    const auto once = [](int n) { return n == 1; };
    prove(std::ranges::all_of(positions, once), result,
          text("each of ", positions.size(), " positions is held by one rank, once"));
    prove(std::ranges::all_of(sources, once), result,
          text("each of ", sources.size(), " tokens is held by one rank, once"));
}

// The shards of all ranks give back the unsplit array. `member` is an array of RankData, [lead, T] or [T].
template <class T, class Layout, class Shard>
bool comes_back(const std::vector<T>& unsplit, const Layout& layout, const Shard& shard, std::int64_t lead) {
    std::vector<T> back(unsplit.size());
    sp::unshard(thrust::seq, layout, sp::shards(shard), sp::axis<1>,
                sp::tensor(back.data(), lead, layout.source_size()));
    return back == unsplit;
}

template <class Layout>
void prove_unshard(const Batch& batch, const Prepared& whole, const Layout& layout, SplitResult& result) {
    auto& ranks = result.ranks;
    const auto shard_of = [&](auto member, std::int64_t lead) {
        return [&ranks, member, lead](int r) {
            auto& array = ranks[static_cast<std::size_t>(r)].*member;
            return sp::tensor(array.data(), lead, static_cast<std::int64_t>(array.size()) / lead);
        };
    };
    // TP ranks hold the labels of their whole CP shard, so the first of each is the one to ask.
    const auto labels_of = [&](int cp_rank) {
        auto& labels = ranks[static_cast<std::size_t>(cp_rank * layout.parts())].labels;
        return sp::tensor(labels.data(), 1, labels.size());
    };
    prove(comes_back(batch.input_ids, layout, shard_of(&RankData::input_ids, 1), 1) &&
              comes_back(whole.labels, layout.outer(), labels_of, 1) &&
              comes_back(batch.position_ids, layout, shard_of(&RankData::position_ids, 3), 3) &&
              comes_back(whole.bank, layout, shard_of(&RankData::bank, 1), 1) &&
              comes_back(whole.row, layout, shard_of(&RankData::row, 1), 1),
          result, "unshard gives back ids, labels, position ids, banks and rows, bit for bit");
}

// Merge on the unsplit sequence, then split: the same as split, then gather.
template <class Layout>
void prove_commutes(const Batch& batch, const Prepared& whole, const Layout& layout,
                    const std::vector<std::int32_t>& cu, SplitResult& result) {
    const std::int64_t length = layout.size();
    const std::int64_t width = batch.image.width;
    const std::size_t n = static_cast<std::size_t>(length);
    std::vector<std::int64_t> ids(n);
    std::vector<std::int32_t> row(n);
    std::vector<std::int32_t> bank(n);
    const auto one_rank =
        sp::padded(sp::Contiguous{}(length, 1), batch.cu_seqlens, cu, batch.tokens());  // pads, splits nothing
    sp::shard_batch(thrust::seq, one_rank, 0, sp::field(batch.input_ids, sp::axis<0>, ids).fill(batch.token.pad),
                    sp::field(whole.row, sp::axis<0>, row).fill(text_token),
                    sp::field(whole.bank, sp::axis<0>, bank).fill(text_token));
    std::vector<sp::bf16> merged = embed(ids, width);
    const auto view = sp::tensor(merged.data(), length, width);
    sp::VisionGather{}(thrust::seq, view, sp::row_array(row, bank),
                       sp::banks(sp::tensor(batch.image.bytes.data(), batch.image.rows, width),
                                 sp::tensor(batch.video.bytes.data(), batch.video.rows, width)),
                       view);

    const auto unpadded =
        sp::nested(layout.outer().base(), sp::Contiguous{}, layout.parts());  // `merged` has its pad slots
    bool same = true;
    for (int r = 0; r < layout.ranks(); ++r) {
        const RankData& mine = result.ranks[static_cast<std::size_t>(r)];
        std::vector<sp::bf16> part(mine.embeddings.size());
        sp::shard(thrust::seq, unpadded, r, view, sp::axis<0>, sp::tensor(part.data(), mine.slots(), width));
        same = same && part == mine.embeddings;
    }
    prove(same, result, "gathering into split tokens is splitting gathered tokens, bit for bit");
}

// The adjoint of the gather takes every bank row back out of the embeddings that the ranks hold.
void rebuild_banks(const Batch& batch, SplitResult& result) {
    const std::int64_t width = batch.image.width;
    std::vector<sp::bf16> image(
        batch.image.bytes.size());  // a gradient is no byte; each value is one that a byte holds
    std::vector<sp::bf16> video(batch.video.bytes.size());
    const auto banks =
        sp::banks(sp::tensor(image.data(), batch.image.rows, width), sp::tensor(video.data(), batch.video.rows, width));
    for (const RankData& mine : result.ranks) {
        sp::VisionGather{}.backward(thrust::seq, sp::tensor(mine.embeddings.data(), mine.slots(), width),
                                    sp::row_array(mine.row, mine.bank), sp::no_gradient, banks, sp::Store{});
    }
    for (const sp::bf16 value : image)
        result.image_bank.push_back(static_cast<std::uint8_t>(static_cast<float>(value)));
    for (const sp::bf16 value : video)
        result.video_bank.push_back(static_cast<std::uint8_t>(static_cast<float>(value)));
    prove(result.image_bank == batch.image.bytes && result.video_bank == batch.video.bytes, result,
          text("all ", batch.image.rows, " image rows and ", batch.video.rows,
               " video rows come back from the ranks' embeddings, bit for bit"));
}

template <class Layout>
Ownership describe(const Batch& batch, const Layout& layout, const std::vector<std::int32_t>& cu) {
    Ownership result;
    result.cu_seqlens = cu;
    for (int r = 0; r < layout.ranks(); ++r) {
        auto cursor = sp::runs(layout, r, 0, layout.slots(r));
        sp::Run run;
        while (cursor.next(run))
            result.segments.push_back({run.position, run.length, r});
        result.work.push_back(sp::causal_work(layout, r, sp::offsets(batch.cu_seqlens)));
    }
    std::ranges::sort(result.segments, {}, &Ownership::Segment::begin);
    result.imbalance = sp::imbalance(result.work);
    return result;
}

}  // namespace

RankData split_one(const Batch& batch, const Options& options, int rank) {
    const Prepared whole = prepare(batch);
    return with_layout(batch, options, [&](const auto& layout, const std::vector<std::int32_t>&) {
        return split_rank(batch, whole, layout, rank);
    });
}

SplitResult put_together(const Batch& batch, const Options& options, std::vector<RankData> ranks) {
    const Prepared whole = prepare(batch);
    return with_layout(batch, options, [&](const auto& layout, const std::vector<std::int32_t>& cu) {
        SplitResult result;
        result.ranks = std::move(ranks);
        result.ownership = describe(batch, layout, cu);
        prove_partition(layout, result);
        prove_commutes(batch, whole, layout, cu, result);
        prove_unshard(batch, whole, layout, result);
        rebuild_banks(batch, result);
        return result;
    });
}

SplitResult split(const Batch& batch, const Options& options) {
    const Prepared whole = prepare(batch);
    std::vector<RankData> ranks;
    with_layout(batch, options, [&](const auto& layout, const std::vector<std::int32_t>&) {
        for (int r = 0; r < layout.ranks(); ++r)
            ranks.push_back(split_rank(batch, whole, layout, r));
    });
    return put_together(batch, options, std::move(ranks));
}

Ownership ownership(const Batch& batch, const Options& options) {
    return with_layout(batch, options, [&](const auto& layout, const std::vector<std::int32_t>& cu) {
        return describe(batch, layout, cu);
    });
}

}  // namespace example
