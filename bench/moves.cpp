// shard, unshard and shard_batch. The copy beside them: the whole array, in one memcpy.
#include "harness.hpp"

#include <seqpar/seqpar.hpp>

#include <cstring>
#include <memory>

namespace bench {

namespace {

namespace sp = seqpar;

constexpr int whole_memory = 0;
constexpr int shard_memory = 1;

template <class T>
struct Arrays {
    std::vector<std::int64_t> extents;  // [B,S,H]
    std::vector<std::int64_t> cu_seqlens;
    int ranks;
    T* whole;
    T* shards;  // [P,B,S/P,H]

    auto layout() const { return sp::packed(sp::ZigZag{}, cu_seqlens, extents[1], ranks); }
    std::int64_t part() const { return extents[1] / ranks; }
    std::int64_t elements() const { return extents[0] * extents[1] * extents[2]; }
    auto whole_tensor() const { return sp::tensor(whole, extents[0], extents[1], extents[2]); }
    auto shard_tensor(int rank) const {
        return sp::tensor(shards + rank * (elements() / ranks), extents[0], part(), extents[2]);
    }
    auto stacked() const { return sp::stacked(sp::tensor(shards, ranks, extents[0], part(), extents[2])); }
};

template <class T>
std::shared_ptr<Arrays<T>> make_arrays(const std::vector<std::int64_t>& extents, std::int64_t documents, int ranks) {
    auto arrays = std::make_shared<Arrays<T>>();
    arrays->extents = extents;
    arrays->ranks = ranks;
    arrays->cu_seqlens = equal_documents(extents[1], documents, 2 * std::int64_t{ranks});
    arrays->whole = array<T>(whole_memory, arrays->elements());
    arrays->shards = array<T>(shard_memory, arrays->elements());
    return arrays;
}

template <class T>
Work shard_work(const std::shared_ptr<Arrays<T>>& arrays) {
    return {[arrays] {
                for (int rank = 0; rank < arrays->ranks; ++rank) {
                    sp::shard(thrust::seq, arrays->layout(), rank, arrays->whole_tensor(), sp::axis<1>,
                              arrays->shard_tensor(rank));
                }
            },
            [arrays] {
                std::memcpy(arrays->shards, arrays->whole, static_cast<std::size_t>(arrays->elements()) * sizeof(T));
            }};
}

template <class T>
Work unshard_work(const std::shared_ptr<Arrays<T>>& arrays) {
    return {[arrays] {
                sp::unshard(thrust::seq, arrays->layout(), arrays->stacked(), sp::axis<1>, arrays->whole_tensor());
            },
            [arrays] {
                std::memcpy(arrays->whole, arrays->shards, static_cast<std::size_t>(arrays->elements()) * sizeof(T));
            }};
}

// shard and unshard of [B,S,H] along axis 1.
template <class T>
void add_pair(const std::string& what, const std::string& sizes, const std::vector<std::int64_t>& extents,
              std::int64_t documents, int ranks, Target shard_target, Target unshard_target) {
    const int fitting = ranks_for(extents[1], documents, ranks);
    const std::string name = what + "/documents:" + std::to_string(documents);
    const std::string text = sizes + ", " + count(fitting, "rank");
    const std::int64_t tokens = extents[0] * extents[1];
    add({"shard/" + name, text, "token", tokens, shard_target},
        [=] { return shard_work(make_arrays<T>(extents, documents, fitting)); });
    add({"unshard/" + name, text, "token", tokens, unshard_target},
        [=] { return unshard_work(make_arrays<T>(extents, documents, fitting)); });
}

// What a trainer splits at once: token vectors, ids, labels, three position axes and rows, all fields of one rank after the other.
struct Batch {
    std::int64_t length;
    std::int64_t width;
    int ranks;
    std::vector<std::int64_t> cu_seqlens;
    sp::bf16* hidden[2];
    std::int64_t* ids[2];
    std::int64_t* labels[2];
    std::int32_t* position_ids[2];
    std::int32_t* rows[2];
};

Work batch_work(const Sizes& sizes, const std::vector<std::int64_t>& extents, std::int64_t documents) {
    auto batch = std::make_shared<Batch>();
    batch->length = extents[1];
    batch->width = extents[2];
    batch->ranks = ranks_for(extents[1], documents, sizes.ranks);
    batch->cu_seqlens = equal_documents(extents[1], documents, 2 * std::int64_t{batch->ranks});
    for (int side = 0; side < 2; ++side) {
        batch->hidden[side] = array<sp::bf16>(side, batch->length * batch->width);
        batch->ids[side] = array<std::int64_t>(2 + side, batch->length);
        batch->labels[side] = array<std::int64_t>(4 + side, batch->length);
        batch->position_ids[side] = array<std::int32_t>(6 + side, 3 * batch->length);
        batch->rows[side] = array<std::int32_t>(8 + side, batch->length);
    }
    return {[batch] {
                const auto layout = sp::packed(sp::ZigZag{}, batch->cu_seqlens, batch->length, batch->ranks);
                const std::int64_t length = batch->length;
                const std::int64_t part = length / batch->ranks;
                for (int rank = 0; rank < batch->ranks; ++rank) {
                    const std::int64_t first = rank * part;
                    sp::shard_batch(thrust::seq, layout, rank,
                                    sp::field(sp::tensor(batch->hidden[0], length, batch->width), sp::axis<0>,
                                              sp::tensor(batch->hidden[1] + first * batch->width, part, batch->width)),
                                    sp::field(sp::tensor(batch->ids[0], 1, length), sp::axis<1>,
                                              sp::tensor(batch->ids[1] + first, 1, part)),
                                    sp::field(sp::tensor(batch->labels[0], 1, length), sp::axis<1>,
                                              sp::tensor(batch->labels[1] + first, 1, part)),
                                    sp::field(sp::tensor(batch->position_ids[0], 3, 1, length), sp::axis<-1>,
                                              sp::tensor(batch->position_ids[1] + 3 * first, 3, 1, part)),
                                    sp::field(sp::tensor(batch->rows[0], length), sp::axis<0>,
                                              sp::tensor(batch->rows[1] + first, part)));
                }
            },
            [batch] {
                const auto length = static_cast<std::size_t>(batch->length);
                std::memcpy(batch->hidden[1], batch->hidden[0],
                            length * static_cast<std::size_t>(batch->width) * sizeof(sp::bf16));
                std::memcpy(batch->ids[1], batch->ids[0], length * sizeof(std::int64_t));
                std::memcpy(batch->labels[1], batch->labels[0], length * sizeof(std::int64_t));
                std::memcpy(batch->position_ids[1], batch->position_ids[0], length * 3 * sizeof(std::int32_t));
                std::memcpy(batch->rows[1], batch->rows[0], length * sizeof(std::int32_t));
            }};
}

}  // namespace

void add_moves(const Sizes& sizes) {
    const bool default_ids = sizes.ids == Sizes{}.ids && sizes.ranks == Sizes{}.ranks;
    for (const std::int64_t documents : sizes.id_documents) {
        const Target target{default_ids && documents == 64 ? 0.75 : default_ids && documents == 1024 ? 0.2 : 0, 0};
        add_pair<std::int64_t>("ids", "i64 " + shape({1, sizes.ids}), {1, sizes.ids, 1}, documents, sizes.ranks, target,
                               {});
    }
    for (const auto& extents : sizes.hidden) {
        for (const std::int64_t documents : sizes.hidden_documents) {
            const bool is_default = extents == Sizes{}.hidden[0] || extents == Sizes{}.hidden[1];
            const Target target{!is_default ? 0.0 : documents == 1024 ? 0.8 : documents <= 64 ? 1.0 : 0.0, 0};
            add_pair<sp::bf16>("hidden" + shape(extents), "bf16 axis 1", extents, documents, sizes.ranks, target,
                               target);
        }
    }
    const std::vector<std::int64_t> extents = sizes.hidden.front();
    const std::int64_t documents = sizes.hidden_documents.back() < 64 ? sizes.hidden_documents.back() : 64;
    add({"shard_batch/documents:" + std::to_string(documents),
         "bf16 [S,H], i64 ids, labels, i32 [3,1,S], rows; S,H = " + shape({extents[1], extents[2]}),
         "token",
         extents[1],
         {}},
        [=] { return batch_work(sizes, extents, documents); });
    for (const std::int64_t d : sizes.row_documents) {
        const std::vector<std::int64_t> wide = {1, sizes.walk, sizes.row_bytes};
        const int fitting = ranks_for(wide[1], d, sizes.ranks);
        add({"shard/rows_of_" + std::to_string(sizes.row_bytes) + "_bytes/documents:" + std::to_string(d),
             "u8 " + shape({sizes.walk, sizes.row_bytes}) + ", " + count(fitting, "rank"),
             "token",
             sizes.walk,
             {0, 0, d != sizes.row_documents.front() && sizes.row_documents == Sizes{}.row_documents ? 2.0 : 0}},
            [=] { return shard_work(make_arrays<unsigned char>(wide, d, fitting)); });
    }
}

}  // namespace bench
