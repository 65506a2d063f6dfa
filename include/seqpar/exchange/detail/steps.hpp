// What the three communicators share: a group guard that keeps what is called with it, and verbs made of the few that engines
// know. Not here: the engines.
#pragma once

#include <seqpar/exchange/communicator.hpp>

#include <cstring>
#include <utility>
#include <vector>

namespace seqpar::detail {

// What an engine can be asked to do. For `reduce`, `peer` is the rank that gets the result.
enum class StepKind : unsigned char { send, receive, reduce, all_reduce, all_gather, reduce_scatter };

template <class Stream>
struct Step {
    StepKind kind;
    Reduction reduction;
    DataType type;
    int peer;
    const void* from;
    void* to;
    std::int64_t count;
    const char* verb;  // the public one, for texts
    Stream stream;
};

inline const void* offset_by(const void* data, std::int64_t elements, DataType type) {
    return static_cast<const std::byte*>(data) + elements * bytes_of(type);
}
inline void* offset_by(void* data, std::int64_t elements, DataType type) {
    return static_cast<std::byte*>(data) + elements * bytes_of(type);
}

// Keeps the steps until close(), which hands them to engine.run(steps). Without it engine.drop() hears of them.
template <class Engine>
class StepGroup {
public:
    using Steps = std::vector<Step<typename Engine::Stream>>;

    explicit StepGroup(const Engine& engine) : engine_(&engine) {}
    StepGroup(const StepGroup&) = delete;
    StepGroup& operator=(const StepGroup&) = delete;
    ~StepGroup() {
        if (!steps_.empty()) engine_->drop();
    }

    void close() {
        const Steps steps = std::exchange(steps_, {});
        if (!steps.empty()) engine_->run(steps);
    }

    void add(const Step<typename Engine::Stream>& step) { steps_.push_back(step); }

private:
    const Engine* engine_;
    Steps steps_;
};

// The communicator of an engine: Engine has Stream, rank(), size(), run(steps), drop(), `native_equal`, whether it knows all_gather
// and reduce_scatter of equal parts, and keeps_buffers (communicator.hpp).
// Synchronises: in close(), where Stream is NoStream; else never. Allocates: the list of the guard. Error: a negative count, a
// peer outside the group, a reduction of bytes; found in the call, before anything is sent.
template <class Engine>
class EngineCommunicator {
public:
    using Stream = typename Engine::Stream;
    using Group = StepGroup<Engine>;
    using Counts = std::span<const std::int64_t>;
    static constexpr bool keeps_buffers = Engine::keeps_buffers;

    template <class... Args>
        requires std::constructible_from<Engine, Args...>
    explicit EngineCommunicator(Args&&... args) : engine_(std::forward<Args>(args)...) {}

    [[nodiscard]] int rank() const { return engine_.rank(); }
    [[nodiscard]] int size() const { return engine_.size(); }
    [[nodiscard]] Group group() const { return Group(engine_); }
    [[nodiscard]] const Engine& engine() const { return engine_; }

    void send(Group& g, const void* from, std::int64_t count, DataType type, int peer, Stream s) const {
        add(g, {StepKind::send, {}, type, peer, from, nullptr, count, "send", s});
    }
    void recv(Group& g, void* to, std::int64_t count, DataType type, int peer, Stream s) const {
        add(g, {StepKind::receive, {}, type, peer, nullptr, to, count, "send", s});
    }
    void all_gather(Group& g, const void* from, void* to, std::int64_t count, DataType type, Stream s) const {
        if constexpr (Engine::native_equal) {
            add(g, {StepKind::all_gather, {}, type, 0, from, to, count, "all_gather", s});
        } else {
            all_gather_v(g, from, to, equal(count), type, s);
        }
    }
    void all_gather_v(Group& g, const void* from, void* to, Counts counts, DataType type, Stream s) const {
        require_counts(counts);
        const std::int64_t mine = counts[static_cast<std::size_t>(rank())];
        std::int64_t at = 0;
        for (int r = 0; r < size(); ++r) {
            void* const part = offset_by(to, at, type);
            const std::int64_t count = counts[static_cast<std::size_t>(r)];
            at += count;
            if (r == rank() && part == from) continue;
            add(g, {StepKind::send, {}, type, r, from, nullptr, mine, "all_gather", s});
            add(g, {StepKind::receive, {}, type, r, nullptr, part, count, "all_gather", s});
        }
    }
    void reduce_scatter(Group& g, const void* from, void* to, std::int64_t count, DataType type, Reduction reduction,
                        Stream s) const {
        if constexpr (Engine::native_equal) {
            add(g, {StepKind::reduce_scatter, reduction, type, 0, from, to, count, "reduce_scatter", s});
        } else {
            reduce_scatter_v(g, from, to, equal(count), type, reduction, s);
        }
    }
    void reduce_scatter_v(Group& g, const void* from, void* to, Counts counts, DataType type, Reduction reduction,
                          Stream s) const {
        require_counts(counts);
        std::int64_t at = 0;
        for (int r = 0; r < size(); ++r) {
            const std::int64_t count = counts[static_cast<std::size_t>(r)];
            add(g, {StepKind::reduce, reduction, type, r, offset_by(from, at, type), to, count, "reduce_scatter", s});
            at += count;
        }
    }
    void all_to_all_v(Group& g, const void* from, Counts send_counts, void* to, Counts receive_counts, DataType type,
                      Stream s) const {
        require_counts(send_counts);
        require_counts(receive_counts);
        std::int64_t sent = 0;
        std::int64_t received = 0;
        for (int r = 0; r < size(); ++r) {
            const std::int64_t out = send_counts[static_cast<std::size_t>(r)];
            const std::int64_t in = receive_counts[static_cast<std::size_t>(r)];
            add(g, {StepKind::send, {}, type, r, offset_by(from, sent, type), nullptr, out, "all_to_all_v", s});
            add(g, {StepKind::receive, {}, type, r, nullptr, offset_by(to, received, type), in, "all_to_all_v", s});
            sent += out;
            received += in;
        }
    }
    void all_reduce(Group& g, const void* from, void* to, std::int64_t count, DataType type, Reduction reduction,
                    Stream s) const {
        add(g, {StepKind::all_reduce, reduction, type, 0, from, to, count, "all_reduce", s});
    }
    void max_of_host(std::span<std::int64_t> values, Stream s) const
        requires requires(const Engine& engine) { engine.max_of_host(values, s); }
    {
        engine_.max_of_host(values, s);
    }

private:
    void add(Group& g, const Step<Stream>& step) const {
        if (step.count < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, step.count));
        if (step.peer < 0 || step.peer >= size()) throw_if_bad(make_status(Kind::rank, 0, 0, size() - 1, step.peer));
        const bool reduces =
            step.kind != StepKind::send && step.kind != StepKind::receive && step.kind != StepKind::all_gather;
        if (reduces && step.type == DataType::bytes) throw_if_bad(make_status(Kind::element, 0, 0, 2, 1));
        g.add(step);
    }
    std::vector<std::int64_t> equal(std::int64_t count) const {
        return std::vector<std::int64_t>(static_cast<std::size_t>(size()), count);
    }
    void require_counts(Counts counts) const {
        if (counts.size() != static_cast<std::size_t>(size()))
            throw_if_bad(make_status(Kind::shard_count, 0, 0, size(), static_cast<std::int64_t>(counts.size())));
        for (std::size_t r = 0; r < counts.size(); ++r) {  // before the first step of the verb is kept
            if (counts[r] < 0) throw_if_bad(make_status(Kind::length, 0, static_cast<std::int64_t>(r), 0, counts[r]));
        }
    }

    Engine engine_;
};

// Calls f.template operator()<T>() for the number that a DataType is; bytes are uint8.
template <class F>
void with_number(DataType type, const F& f) {
    switch (type) {
        case DataType::bytes:
        case DataType::uint8: return f.template operator()<std::uint8_t>();
        case DataType::int8: return f.template operator()<std::int8_t>();
        case DataType::int32: return f.template operator()<std::int32_t>();
        case DataType::uint32: return f.template operator()<std::uint32_t>();
        case DataType::int64: return f.template operator()<std::int64_t>();
        case DataType::uint64: return f.template operator()<std::uint64_t>();
        case DataType::float16: return f.template operator()<f16>();
        case DataType::bfloat16: return f.template operator()<bf16>();
        case DataType::float32: return f.template operator()<float>();
        case DataType::float64: return f.template operator()<double>();
    }
}

// into[i] = reduction(into[i], from[i]) on the host, in the type itself; integers wrap.
struct ReduceElements {
    void* into;
    const void* from;
    std::int64_t count;
    Reduction reduction;

    template <class T>
    static T add(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            using Unsigned = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
        } else {
            return convert<T>(convert<arithmetic_of<T>>(a) + convert<arithmetic_of<T>>(b));
        }
    }
    template <class T>
    void operator()() const {
        auto* const out = static_cast<T*>(into);
        const auto* const in = static_cast<const T*>(from);
        for (std::int64_t i = 0; i < count; ++i) {
            if (reduction == Reduction::sum) {
                out[i] = add(out[i], in[i]);
            } else if (convert<arithmetic_of<T>>(out[i]) < convert<arithmetic_of<T>>(in[i])) {
                out[i] = in[i];
            }
        }
    }
};

}  // namespace seqpar::detail
