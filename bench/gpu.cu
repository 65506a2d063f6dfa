// The operations of a step on a GPU, timed by events, the second-level cache flushed before each: beside a copy of as many bytes from
// device to device, and beside what trainers launch today, in the same run. bench/gpu.sh runs it; see bench/README.md.
#include "step.hpp"

#include <thrust/copy.h>
#include <thrust/gather.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/scan.h>
#include <thrust/transform.h>

#include <cuda_bf16.h>

#include <cstdio>
#include <cstring>

namespace {

using bench::must;
using bench::Operation;
using bench::Step;
using Call = std::function<void(cudaStream_t)>;

// --- what trainers launch today, by Thrust ------------------------------------------------------------------------------
// Element i of vectors of `length` elements, when vectors are taken in the order of an index.
struct VectorElement {
    const std::int64_t* index;
    std::int64_t length;
    __host__ __device__ std::int64_t operator()(std::int64_t i) const {
        return index[i / length] * length + i % length;
    }
};
auto elements(const std::int64_t* index, std::int64_t length) {
    return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), VectorElement{index, length});
}
struct AddEight {
    __device__ uint4 operator()(uint4 a, const uint4& b) const {
        auto* const x = reinterpret_cast<__nv_bfloat162*>(&a);
        const auto* const y = reinterpret_cast<const __nv_bfloat162*>(&b);
        for (int i = 0; i < 4; ++i)
            x[i] = __hadd2(x[i], y[i]);
        return a;
    }
};
struct IsPlaceholder {
    __host__ __device__ std::int64_t operator()(std::int64_t id) const { return id == Step::placeholder ? 1 : 0; }
};
struct RowOrText {
    __host__ __device__ std::int32_t operator()(std::int64_t id, std::int64_t row) const {
        return id == Step::placeholder ? static_cast<std::int32_t>(row) : -1;
    }
};

struct Today {
    std::shared_ptr<Step> s;
    std::int64_t tokens, cut_tokens, vision;
    std::int64_t length;  // of a token vector, in accesses of 16 bytes
    std::int64_t *index, *index_of_axes, *cut_index, *vision_tokens, *vision_rows, *row_numbers;
    mutable seqpar::ScratchSpan scratch{nullptr, 0};

    explicit Today(const std::shared_ptr<Step>& step) : s(step) {
        const bench::StepSizes& n = s->n;
        std::vector<std::int64_t> cu, shard, axes, cut, tokens_of, rows_of;
        for (std::int64_t i = 0; i <= n.documents; ++i)
            cu.push_back(i * (n.length / n.documents));
        const auto layout = seqpar::packed(seqpar::ZigZag{}, cu, n.length, n.ranks);
        const auto nested = seqpar::nested(layout, seqpar::Contiguous{}, n.tensor_ranks);
        for (std::int64_t b = 0; b < n.batch; ++b) {
            for (std::int64_t slot = 0; slot < s->part(); ++slot)
                shard.push_back(b * n.length + layout.position(0, slot));
            for (std::int64_t slot = 0; slot < s->part() / n.tensor_ranks; ++slot)
                cut.push_back(b * n.length + nested.position(0, slot));
        }
        for (std::int64_t axis = 0; axis < 3; ++axis) {
            for (const std::int64_t at : shard)
                axes.push_back(axis * n.batch * n.length + at);
        }
        tokens = n.batch * s->part();
        for (std::int64_t i = 0; i < tokens; ++i) {
            if (!s->is_vision(i)) continue;
            rows_of.push_back(static_cast<std::int64_t>(tokens_of.size()));
            tokens_of.push_back(i);
        }
        cut_tokens = static_cast<std::int64_t>(cut.size());
        vision = s->vision;
        length = n.width / 8;
        index = bench::device_array(tokens, shard);
        index_of_axes = bench::device_array(3 * tokens, axes);
        cut_index = bench::device_array(cut_tokens, cut);
        vision_tokens = bench::device_array(s->bank_rows(), tokens_of);
        vision_rows = bench::device_array(s->bank_rows(), rows_of);
        row_numbers = bench::device_array<std::int64_t>(n.batch * n.length);
        const std::int64_t bytes = std::int64_t{1} << 24;
        scratch = seqpar::ScratchSpan(bench::device_array<char>(bytes), bytes);
    }

    static uint4* wide(seqpar::bf16* data) { return reinterpret_cast<uint4*>(data); }
    template <class T>
    static void gather(cudaStream_t stream, const std::int64_t* map, std::int64_t count, T* const (&sides)[2]) {
        thrust::gather(Step::exec(stream), map, map + count, sides[0], sides[1]);
    }
    void gather_vectors(cudaStream_t stream, const std::int64_t* map, std::int64_t count) const {
        const auto from = elements(map, length);
        thrust::gather(Step::exec(stream), from, from + count * length, wide(s->hidden[0]), wide(s->hidden[1]));
    }
    void copy(cudaStream_t stream, seqpar::bf16* from, seqpar::bf16* to) const {
        must(cudaMemcpyAsync(to, from, static_cast<std::size_t>(tokens * length) * 16, cudaMemcpyDeviceToDevice,
                             stream));
    }
    auto bank_rows(int level) const {
        return thrust::make_permutation_iterator(wide(s->banks[level]), elements(vision_rows, length));
    }
    auto places(seqpar::bf16* data) const {
        return thrust::make_permutation_iterator(wide(data), elements(vision_tokens, length));
    }

    // Null: nothing to compare with.
    Call of(const std::string& name) const {
        if (name == "shard_batch") {
            return [this](cudaStream_t stream) {
                gather(stream, index, tokens, s->ids);
                gather(stream, index, tokens, s->labels);
                gather(stream, index, tokens, s->loss_mask);
                gather(stream, index_of_axes, 3 * tokens, s->positions);
                gather(stream, index, tokens, s->rows);
                gather_vectors(stream, cut_index, cut_tokens);
            };
        }
        if (name == "shard") return [this](cudaStream_t stream) { gather_vectors(stream, index, tokens); };
        if (name == "shard, ids") return [this](cudaStream_t stream) { gather(stream, index, tokens, s->ids); };
        if (name == "VisionGather") {
            return [this](cudaStream_t stream) {
                copy(stream, s->hidden[1], s->out);
                thrust::copy_n(Step::exec(stream), bank_rows(0), vision * length, places(s->out));
            };
        }
        if (name == "VisionGather, backward") {
            return [this](cudaStream_t stream) {
                copy(stream, s->out, s->hidden[1]);
                thrust::fill_n(Step::exec(stream), places(s->hidden[1]), vision * length, uint4{});
                thrust::copy_n(Step::exec(stream), places(s->out), vision * length, bank_rows(0));
            };
        }
        if (name == "add_rows, 4 levels") {
            return [this](cudaStream_t stream) {
                for (int level = 0; level < Step::levels; ++level)
                    thrust::transform(Step::exec(stream), places(s->out), places(s->out) + vision * length,
                                      bank_rows(level), places(s->out), AddEight{});
            };
        }
        if (name == "build_rows") {
            return [this](cudaStream_t stream) {
                const std::int64_t count = s->n.batch * s->n.length;
                const auto is_placeholder = thrust::make_transform_iterator(s->ids[0], IsPlaceholder{});
                thrust::exclusive_scan(thrust::cuda::par_nosync(scratch).on(stream), is_placeholder,
                                       is_placeholder + count, row_numbers);
                thrust::transform(Step::exec(stream), s->ids[0], s->ids[0] + count, row_numbers, s->rows[0],
                                  RowOrText{});
            };
        }
        return {};
    }
};

// --- times --------------------------------------------------------------------------------------------------------------
class Timer {
public:
    explicit Timer(std::int64_t copied) : copied_(copied) {
        int device = 0, cache = 0;
        must(cudaGetDevice(&device));
        must(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
        flushed_ = 2 * (std::max)(std::int64_t{cache}, std::int64_t{1} << 16);
        flush_ = bench::device_array<char>(flushed_);
        from_ = bench::device_array<char>(copied_);
        to_ = bench::device_array<char>(copied_);
        must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (auto& event : events_)
            must(cudaEventCreate(&event));
    }

    // Milliseconds; the flush keeps the GPU busy while the work is being launched.
    double once(const Call& call) {
        must(cudaMemsetAsync(flush_, 0, static_cast<std::size_t>(flushed_), stream_));
        must(cudaEventRecord(events_[0], stream_));
        call(stream_);
        must(cudaEventRecord(events_[1], stream_));
        must(cudaStreamSynchronize(stream_));
        float ms = 0;
        must(cudaEventElapsedTime(&ms, events_[0], events_[1]));
        return double{ms};
    }
    Call copy_of(double bytes) const {
        return [=, this](cudaStream_t stream) {
            must(cudaMemcpyAsync(to_, from_, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
        };
    }

private:
    std::int64_t copied_, flushed_;
    char *flush_, *from_, *to_;
    cudaStream_t stream_{};
    cudaEvent_t events_[2]{};
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

constexpr double target = 0.92;
constexpr double target_from = 16 << 20;  // bytes

// Whether it reached what it is to reach.
bool time_one(Timer& timer, const Operation& operation, const Call& today, int runs) {
    std::vector<double> ours, copies, todays;
    const Call copy = timer.copy_of(operation.bytes());
    for (int run = -2; run < runs; ++run) {  // two to warm up
        const double own = timer.once(operation.run), of_copy = timer.once(copy);
        const double of_today = today ? timer.once(today) : 0;
        if (run < 0) continue;
        ours.push_back(own);
        copies.push_back(of_copy);
        todays.push_back(of_today);
    }
    const double us = 1000 * median(ours), copy_us = 1000 * median(copies), today_us = 1000 * median(todays);
    const double ratio = copy_us / us;
    const bool aims = operation.moves && operation.bytes() >= target_from;
    std::printf("| %s | %.1f | %.1f | %.1f | %.2f | %s%s |", operation.name.c_str(), operation.bytes() / (1 << 20), us,
                copy_us, ratio, aims ? "0.92" : "", aims && ratio < target ? " !" : "");
    if (today) {
        std::printf(" %.1f | %.2f |\n", today_us, today_us / us);
    } else {
        std::printf(" | |\n");
    }
    std::fflush(stdout);
    return !aims || ratio >= target;
}

constexpr const char* usage =
    "--list | --once NAME | [--only PART] [--runs N]; and sizes: --batch, --length, --width, --documents, --ranks, "
    "--span\n"
    "--list: names, the fewest bytes that each can load and store, and how many of them are token vectors'; --once: "
    "one call, without a time\n";

}  // namespace

int main(int argc, char** argv) {
    bench::StepSizes sizes;
    std::string once, only;
    bool list = false;
    int runs = 21;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "--list") {
            list = true;
            continue;
        }
        if (i + 1 == argc) {
            std::fputs(usage, stderr);
            return 2;
        }
        const std::string value = argv[++i];
        if (option == "--once") {
            once = value;
        } else if (option == "--only") {
            only = value;
        } else {
            const std::int64_t number = std::stoll(value);
            if (option == "--runs") {
                runs = static_cast<int>(number);
            } else if (option == "--batch") {
                sizes.batch = number;
            } else if (option == "--length") {
                sizes.length = number;
            } else if (option == "--width") {
                sizes.width = number;
            } else if (option == "--documents") {
                sizes.documents = number;
            } else if (option == "--ranks") {
                sizes.ranks = static_cast<int>(number);
            } else if (option == "--span") {
                sizes.span = number;
            } else {
                std::fputs(usage, stderr);
                return 2;
            }
        }
    }
    try {
        const auto step = std::make_shared<Step>(sizes);
        const std::vector<Operation> all = bench::operations(step);
        if (list) {
            const std::int64_t wide = sizes.width * std::int64_t{sizeof(seqpar::bf16)} % 16 == 0 ? 1 : 0;
            for (const Operation& operation : all) {
                std::printf("%s", operation.name.c_str());
                for (const std::int64_t bytes :
                     {operation.loaded, operation.stored, wide * operation.wide_loaded, wide * operation.wide_stored})
                    std::printf("\t%lld", static_cast<long long>(bytes));
                std::printf("\n");
            }
            return 0;
        }
        if (!once.empty()) {
            for (const Operation& operation : all) {
                if (operation.name != once) continue;
                operation.run(nullptr);
                must(cudaDeviceSynchronize());
                return 0;
            }
            std::fprintf(stderr, "no such operation: %s\n", once.c_str());
            return 2;
        }
        double most = 0;
        for (const Operation& operation : all)
            most = (std::max)(most, operation.bytes());
        Timer timer(static_cast<std::int64_t>(most));
        const Today today(step);
        cudaDeviceProp device{};
        must(cudaGetDeviceProperties(&device, 0));
        std::printf("%s: batch %lld, length %lld, width %lld (bf16), %lld documents, %d ranks; medians of %d\n\n",
                    device.name, static_cast<long long>(sizes.batch), static_cast<long long>(sizes.length),
                    static_cast<long long>(sizes.width), static_cast<long long>(sizes.documents), sizes.ranks, runs);
        std::printf("| operation | MiB | us | copy us | ratio | target | today us | today / ours |\n");
        std::printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
        bool reached = true;
        for (const Operation& operation : all) {
            if (operation.name.find(only) != std::string::npos)
                reached = time_one(timer, operation, today.of(operation.name), runs) && reached;
        }
        return reached ? 0 : 3;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench/gpu: %s\n", error.what());
        return 1;
    }
}
