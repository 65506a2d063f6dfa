// Mpi: the communicator on MPI, for host memory. Not here: MPI_Init, launching, a default group.
#pragma once

#include <seqpar/exchange/detail/steps.hpp>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include <mpi.h>

namespace seqpar {

namespace detail {

class MpiEngine {
public:
    using Stream = NoStream;
    using Steps = std::vector<Step<NoStream>>;
    static constexpr bool native_equal = false;
    static constexpr bool keeps_buffers = true;

    explicit MpiEngine(MPI_Comm comm, std::chrono::milliseconds time_limit = std::chrono::minutes(10),
                       int longest = 1 << 30)
        : time_limit_(time_limit), longest_(longest) {
        require_mpi(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
        require_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        require_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
        require_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
        MPI_User_function* const functions[] = {reduce<bf16, Reduction::sum>, reduce<bf16, Reduction::max>,
                                                reduce<f16, Reduction::sum>, reduce<f16, Reduction::max>};
        for (int i = 0; i < 4; ++i)
            require_mpi(MPI_Op_create(functions[i], 1, &own_ops_[i]), "MPI_Op_create");
    }
    MpiEngine(const MpiEngine&) = delete;
    MpiEngine& operator=(const MpiEngine&) = delete;
    ~MpiEngine() {
        int finalized = 0;
        if (!failure_.empty() || MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
        for (MPI_Op& own : own_ops_)
            MPI_Op_free(&own);
        MPI_Comm_free(&comm_);
    }

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    void drop() const {}

    void run(const Steps& steps) const {
        if (!failure_.empty()) throw CommunicationError("the MPI communicator is of no use: " + failure_);
        try {
            post_and_wait(steps);
        } catch (const CommunicationError& error) {
            failure_ = error.what();
            throw;
        }
    }

private:
    struct Pending {
        std::vector<MPI_Request> requests;
        std::vector<const Step<NoStream>*> steps;
        std::vector<int> counts;
    };

    void post_and_wait(const Steps& steps) const {
        Pending pending;
        for (const Step<NoStream>& step : steps) {
            std::int64_t done = 0;
            do {  // at least one piece: messages of no elements are sent as well
                const std::int64_t left = step.count - done;
                const int piece = left < longest_ ? static_cast<int>(left) : longest_;
                post(step, done, piece, pending);
                done += piece;
            } while (done < step.count);
        }
        wait(pending);
    }

    static void require_mpi(int code, const char* what) {
        if (code == MPI_SUCCESS) return;
        char text[MPI_MAX_ERROR_STRING] = {};
        int length = 0;
        MPI_Error_string(code, text, &length);
        throw CommunicationError(std::string(what) + ": " + text);
    }

    // MPI has no type for short floats: to it they are 16 bits, reduced by these.
    template <class T, Reduction R>
    static void reduce(void* from, void* into, int* count, MPI_Datatype*) {
        ReduceElements{into, from, *count, R}.template operator()<T>();
    }
    [[nodiscard]] MPI_Op op_of(const Step<NoStream>& step) const {
        const bool sum = step.reduction == Reduction::sum;
        if (step.type == DataType::bfloat16) return own_ops_[sum ? 0 : 1];
        if (step.type == DataType::float16) return own_ops_[sum ? 2 : 3];
        return sum ? MPI_SUM : MPI_MAX;
    }
    static MPI_Datatype type_of(DataType type) {
        const MPI_Datatype types[] = {MPI_BYTE,     MPI_INT8_T,   MPI_UINT8_T,  MPI_INT32_T, MPI_UINT32_T, MPI_INT64_T,
                                      MPI_UINT64_T, MPI_UINT16_T, MPI_UINT16_T, MPI_FLOAT,   MPI_DOUBLE};
        return types[static_cast<int>(type)];
    }

    void post(const Step<NoStream>& step, std::int64_t done, int count, Pending& pending) const {
        const MPI_Datatype type = type_of(step.type);
        const void* const from = step.from == nullptr ? nullptr : offset_by(step.from, done, step.type);
        void* const to = step.to == nullptr ? nullptr : offset_by(step.to, done, step.type);
        MPI_Request* const request = &pending.requests.emplace_back(MPI_REQUEST_NULL);
        int code = MPI_SUCCESS;
        switch (step.kind) {
            case StepKind::send: code = MPI_Isend(from, count, type, step.peer, 0, comm_, request); break;
            case StepKind::receive: code = MPI_Irecv(to, count, type, step.peer, 0, comm_, request); break;
            case StepKind::reduce:
                code = MPI_Ireduce(from, to, count, type, op_of(step), step.peer, comm_, request);
                break;
            default:
                // In place on all ranks alike, whatever they were given: MPI wants it on all or on none.
                if (from != to && count > 0)
                    std::memcpy(to, from, static_cast<std::size_t>(count * bytes_of(step.type)));
                code = MPI_Iallreduce(MPI_IN_PLACE, to, count, type, op_of(step), comm_, request);
        }
        require_mpi(code, step.verb);
        pending.steps.push_back(&step);
        pending.counts.push_back(count);
    }

    void wait(Pending& pending) const {
        const auto until = std::chrono::steady_clock::now() + time_limit_;
        const int count = static_cast<int>(pending.requests.size());
        std::vector<MPI_Status> states(pending.requests.size());
        int all = 0;
        int looks = 0;
        for (;;) {
            const int code = MPI_Testall(count, pending.requests.data(), &all, states.data());
            if (code == MPI_ERR_IN_STATUS) {
                for (std::size_t i = 0; i < states.size(); ++i) {
                    if (states[i].MPI_ERROR != MPI_ERR_PENDING)
                        require_mpi(states[i].MPI_ERROR, pending.steps[i]->verb);
                }
            }
            require_mpi(code, "MPI_Testall");
            if (all != 0) break;
            if (time_limit_.count() > 0 && std::chrono::steady_clock::now() > until) {
                throw CommunicationError("rank " + std::to_string(rank_) + " waits for others for longer than " +
                                         std::to_string(time_limit_.count()) + " ms");
            }
            // Others may need this core to send what is waited for: after some looks, look less often.
            if (++looks < 1000) {
                std::this_thread::yield();
            } else {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        }
        for (std::size_t i = 0; i < states.size(); ++i) {
            const Step<NoStream>& step = *pending.steps[i];
            if (step.kind != StepKind::receive) continue;
            int got = 0;
            require_mpi(MPI_Get_count(&states[i], type_of(step.type), &got), "MPI_Get_count");
            if (got != pending.counts[i]) {
                throw CommunicationError("rank " + std::to_string(rank_) + " expects " +
                                         std::to_string(pending.counts[i]) + " " + name(step.type) + " from rank " +
                                         std::to_string(step.peer) + ", got " + std::to_string(got));
            }
        }
    }

    std::chrono::milliseconds time_limit_;
    int longest_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Op own_ops_[4] = {};
    int rank_ = 0;
    int size_ = 0;
    mutable std::string failure_;  // the first
};

}  // namespace detail

// Mpi(comm, time_limit, longest): on a duplicate of `comm`, so that its messages mix with no others; making one and destroying it are
// collectives of `comm`. A close() that waits longer than time_limit (0: for ever) throws a CommunicationError. Messages longer than
// `longest` elements, the same on all ranks, go in pieces: counts may exceed what an int holds. MPI must be initialised, and not
// finalised, while there is one.
//
// After a CommunicationError every later close() throws one that names the first, and ranks that wait for this one get theirs when
// their time is over. What the failed group had begun stays with MPI: its buffers must be neither freed nor used until the process
// ends (exchange() sees to its own), and the duplicate is not freed. Other communicators work as before, so that results can be saved;
// MPI_Finalize may wait for ever for what has begun: the way out is MPI_Abort.
using Mpi = detail::EngineCommunicator<detail::MpiEngine>;

}  // namespace seqpar
