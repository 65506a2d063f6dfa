// The data path of one training step of a vision-language model on one rank, as a list of operations on a stream, each with the
// fewest bytes that it can load and store. bench/gpu.cu times and runs them; tests/cuda reads their machine code.
#pragma once

#include <seqpar/cuda.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace sp = seqpar;
namespace thrust = THRUST_NS_QUALIFIER;  // the compile tests wrap it

inline void must(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

// Device memory, never given back: the program ends with it.
template <class T>
T* device_array(std::int64_t count, const std::vector<T>& values = {}) {
    void* data = nullptr;
    must(cudaMalloc(&data, static_cast<std::size_t>(count) * sizeof(T)));
    must(cudaMemset(data, 0, static_cast<std::size_t>(count) * sizeof(T)));
    if (!values.empty()) must(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    must(cudaDeviceSynchronize());
    return static_cast<T*>(data);
}

struct StepSizes {
    std::int64_t batch = 2;
    std::int64_t length = 65536;  // S, tokens of a sequence, over all ranks
    std::int64_t width = 4096;    // H
    std::int64_t documents = 16;  // of a sequence, equally long
    std::int64_t span = 256;      // vision tokens in a row, and then as many of text
    int ranks = 8;
    int tensor_ranks = 2;  // hidden is cut by sequence parallelism as well
};

struct Operation {
    std::string name;
    std::int64_t loaded;  // bytes, at the least
    std::int64_t stored;
    std::function<void(cudaStream_t)> run;
    bool moves = true;             // and computes nothing
    std::int64_t wide_loaded = 0;  // bytes of token vectors, which accesses of 16 bytes move
    std::int64_t wide_stored = 0;

    double bytes() const {
        return static_cast<double>(loaded + stored) / 2;
    }  // of a copy that loads and stores as many
};

struct Step {
    static constexpr int levels = 4;

    explicit Step(const StepSizes& sizes) : n(sizes) {
        if (n.length % (n.documents * 2 * n.ranks * n.tensor_ranks) != 0)
            throw std::invalid_argument("the length must be a multiple of documents * 2 * ranks * tensor ranks");
        std::vector<std::int64_t> offsets;
        for (std::int64_t i = 0; i <= n.documents; ++i)
            offsets.push_back(i * (n.length / n.documents));
        const std::int64_t tokens = n.batch * n.length;
        std::vector<std::int64_t> ids_of;
        for (std::int64_t i = 0; i < tokens; ++i)
            ids_of.push_back(is_vision(i) ? placeholder : i);
        std::vector<std::int32_t> rows_of;
        for (std::int64_t i = 0; i < n.batch * part(); ++i)
            rows_of.push_back(is_vision(i) ? static_cast<std::int32_t>(vision++) : -1);
        cu = device_array(n.documents + 1, offsets);
        for (int side = 0; side < 2; ++side) {
            const std::int64_t of_side = side == 0 ? tokens : n.batch * part();
            ids[side] = device_array(of_side, side == 0 ? ids_of : std::vector<std::int64_t>{});
            labels[side] = device_array<std::int64_t>(of_side);
            loss_mask[side] = device_array<float>(of_side);
            positions[side] = device_array<std::int64_t>(3 * of_side);
            rows[side] = device_array(of_side, side == 1 ? rows_of : std::vector<std::int32_t>{});
            hidden[side] = device_array<sp::bf16>(of_side * n.width);
        }
        out = device_array<sp::bf16>(n.batch * part() * n.width);
        gathered = device_array<sp::bf16>(tokens * n.width);
        for (auto& bank : banks)
            bank = device_array<sp::bf16>(bank_rows() * n.width);
        const std::int64_t scratch_bytes =
            (std::max)({sp::build_rows_scratch_bytes(tokens, 1), sp::compact_scratch_bytes(n.batch * part()),
                        sp::summed_scratch_bytes(n.batch * part(), bank_rows())});
        span = sp::ScratchSpan(device_array<char>(scratch_bytes), scratch_bytes);
    }

    static constexpr std::int64_t placeholder = -200;
    bool is_vision(std::int64_t token) const { return token / n.span % 2 == 1; }
    std::int64_t part() const { return n.length / n.ranks; }  // of a sequence, on a rank
    std::int64_t bank_rows() const { return (std::max)(vision, std::int64_t{1}); }
    auto layout() const {
        return sp::packed(sp::ZigZag{}, sp::Offsets<std::int64_t>(cu, n.documents + 1), n.length, n.ranks);
    }
    auto nested() const { return sp::nested(layout(), sp::Contiguous{}, n.tensor_ranks); }
    static auto exec(cudaStream_t stream) { return thrust::cuda::par_nosync.on(stream); }
    // Its scratch is free again when the operation's launches are made.
    auto scratch_exec(cudaStream_t stream) { return thrust::cuda::par_nosync(span).on(stream); }

    auto whole_hidden() const { return sp::tensor(hidden[0], n.batch, n.length, n.width); }
    template <class T>
    auto vectors(T* data) const {
        return sp::tensor(data, n.batch * part(), n.width);
    }
    auto bank(int level) const { return sp::tensor(banks[level], bank_rows(), n.width); }
    auto all_levels() const { return sp::levels(bank(0), bank(1), bank(2), bank(3)); }
    auto local_rows() const { return sp::tensor(static_cast<const std::int32_t*>(rows[1]), n.batch * part()); }

    template <class T>
    auto by_token(T* const (&sides)[2]) const {
        return sp::field(sp::tensor(sides[0], n.batch, n.length), sp::axis<1>, sp::tensor(sides[1], n.batch, part()));
    }

    StepSizes n;
    std::int64_t vision = 0;  // tokens of this rank
    std::int64_t* cu;
    std::int64_t* ids[2];  // of the whole, and of the rank
    std::int64_t* labels[2];
    float* loss_mask[2];
    std::int64_t* positions[2];
    std::int32_t* rows[2];
    sp::bf16* hidden[2];
    sp::bf16* out;
    sp::bf16* gathered;
    sp::bf16* banks[levels];
    sp::ScratchSpan span{nullptr, 0};
};

inline std::vector<Operation> operations(const std::shared_ptr<Step>& s) {
    const StepSizes& sizes = s->n;
    const std::int64_t whole = sizes.batch * sizes.length;
    const std::int64_t tokens = sizes.batch * s->part();
    const std::int64_t vector = sizes.width * std::int64_t{sizeof(sp::bf16)};
    const std::int64_t by_token = tokens * (8 + 8 + 4 + 3 * 8 + 4);
    const std::int64_t numbers = tokens * 4;
    const std::int64_t cut = tokens / sizes.tensor_ranks * vector;
    const std::int64_t text_and_vision = tokens * vector;
    const std::int64_t vision = s->vision * vector;
    return {
        {"shard_batch", by_token + cut, by_token + cut,
         [s](cudaStream_t stream) {
             const auto& n = s->n;
             sp::shard_batch(s->exec(stream), s->layout(), 0, s->by_token(s->ids), s->by_token(s->labels),
                             s->by_token(s->loss_mask),
                             sp::field(sp::tensor(s->positions[0], std::int64_t{3}, n.batch, n.length), sp::axis<2>,
                                       sp::tensor(s->positions[1], std::int64_t{3}, n.batch, s->part())),
                             s->by_token(s->rows),
                             sp::field(s->whole_hidden(), sp::axis<1>,
                                       sp::tensor(s->hidden[1], n.batch, s->part() / n.tensor_ranks, n.width))
                                 .with(s->nested(), 0));
         },
         true, cut, cut},
        {"shard", text_and_vision, text_and_vision,
         [s](cudaStream_t stream) {
             sp::shard(s->exec(stream), s->layout(), 0, s->whole_hidden(), sp::axis<1>,
                       sp::tensor(s->hidden[1], s->n.batch, s->part(), s->n.width));
         },
         true, text_and_vision, text_and_vision},
        {"shard, ids", tokens * 8, tokens * 8,
         [s](cudaStream_t stream) {
             sp::shard(s->exec(stream), s->layout(), 0, sp::tensor(s->ids[0], s->n.batch, s->n.length), sp::axis<1>,
                       sp::tensor(s->ids[1], s->n.batch, s->part()));
         }},
        {"unshard", whole * vector, whole * vector,
         [s](cudaStream_t stream) {
             const auto& n = s->n;
             sp::unshard(s->exec(stream), s->layout(),
                         sp::stacked(sp::tensor(s->gathered, std::int64_t{n.ranks}, n.batch, s->part(), n.width)),
                         sp::axis<1>, s->whole_hidden());
         },
         true, whole * vector, whole * vector},
        {"VisionGather", numbers + text_and_vision, text_and_vision,
         [s](cudaStream_t stream) {
             sp::VisionGather{}(s->exec(stream), s->vectors(s->hidden[1]), s->local_rows(), s->bank(0),
                                s->vectors(s->out));
         },
         true, text_and_vision, text_and_vision},
        {"VisionGather, in place", numbers + vision, vision,
         [s](cudaStream_t stream) {
             sp::VisionGather{}(s->exec(stream), s->vectors(s->out), s->local_rows(), s->bank(0), s->vectors(s->out));
         },
         true, vision, vision},
        {"VisionGather, backward", numbers + text_and_vision, text_and_vision + vision,
         [s](cudaStream_t stream) {
             sp::VisionGather{}.backward(s->exec(stream), s->vectors(s->out), s->local_rows(), s->vectors(s->hidden[1]),
                                         s->bank(0), sp::Store{});
         },
         true, text_and_vision, text_and_vision + vision},
        {"VisionGather, backward with Summed", numbers + text_and_vision, text_and_vision + vision,
         [s](cudaStream_t stream) {
             sp::VisionGather{}.backward(s->scratch_exec(stream), s->vectors(s->out), s->local_rows(),
                                         s->vectors(s->hidden[1]), s->bank(0), sp::Summed<sp::Store>{});
         },
         false, text_and_vision, text_and_vision + vision},
        {"add_rows, 4 levels", numbers + 5 * vision, vision,
         [s](cudaStream_t stream) {
             sp::add_rows(s->exec(stream), s->vectors(s->out), s->local_rows(), s->all_levels());
         },
         true, 5 * vision, vision},
        {"add_rows_backward, 4 levels", numbers + vision, 4 * vision,
         [s](cudaStream_t stream) {
             sp::add_rows_backward(s->exec(stream), s->vectors(s->out), s->local_rows(), s->all_levels(), sp::Store{});
         },
         true, vision, 4 * vision},
        {"build_rows", whole * 8, whole * 4,
         [s](cudaStream_t stream) {
             sp::build_rows(s->scratch_exec(stream),
                            sp::tensor(static_cast<const std::int64_t*>(s->ids[0]), s->n.batch, s->n.length),
                            sp::PlaceholderRules{}.with(Step::placeholder, 0),
                            sp::tensor(s->rows[0], s->n.batch, s->n.length));
         },
         false},
        {"sources", 0, s->part() * 8,
         [s](cudaStream_t stream) {
             sp::sources(s->exec(stream), s->layout(), 0, sp::tensor(s->positions[1], s->part()));
         },
         false},
        {"shift_labels", sizes.length * 8, sizes.length * 8,
         [s](cudaStream_t stream) {
             sp::shift_labels(s->exec(stream), sp::tensor(static_cast<const std::int64_t*>(s->ids[0]), s->n.length),
                              sp::Offsets<std::int64_t>(s->cu, s->n.documents + 1), 1, std::int64_t{-100},
                              sp::tensor(s->labels[0], s->n.length));
         },
         false},
        {"document_positions", 0, sizes.length * 8,
         [s](cudaStream_t stream) {
             sp::document_positions(s->exec(stream), sp::Offsets<std::int64_t>(s->cu, s->n.documents + 1),
                                    sp::tensor(s->positions[0], s->n.length));
         },
         false},
    };
}

}  // namespace bench
