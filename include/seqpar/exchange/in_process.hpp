// VirtualRank: a communicator whose ranks are threads of one process, for tests and for trying things out. Not here: threads.
#pragma once

#include <seqpar/exchange/detail/steps.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace seqpar {

namespace detail {

// What one rank offers another; lives in the sender's run() until it is taken.
struct BoardMessage {
    enum class State : unsigned char { posted, in_use, taken };
    Step<NoStream> step;
    int to;
    State state = State::posted;
};

// Where the ranks of a process leave messages for each other. Once something failed, it has failed for all.
class Board {
public:
    using Steps = std::vector<Step<NoStream>>;
    enum class Presence : unsigned char { awaited, here, gone };

    Board(int ranks, std::chrono::milliseconds time_limit)
        : ranks_(ranks),
          time_limit_(time_limit),
          queues_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)),
          presence_(static_cast<std::size_t>(ranks), Presence::awaited) {}

    [[nodiscard]] int ranks() const { return ranks_; }

    void join(int rank) {
        const std::lock_guard lock(mutex_);
        if (presence_[index(rank)] != Presence::awaited)
            throw CommunicationError("rank " + std::to_string(rank) + " joins its group twice");
        presence_[index(rank)] = Presence::here;
    }
    void leave(int rank) {
        const std::lock_guard lock(mutex_);
        presence_[index(rank)] = Presence::gone;
        changed_.notify_all();
    }
    void drop(int rank) {
        const std::lock_guard lock(mutex_);
        fail("rank " + std::to_string(rank) + " left a group of calls unfinished");
    }

    void run(int rank, const Steps& steps) {
        std::vector<BoardMessage> posted = messages_of(rank, steps);
        std::vector<std::vector<std::byte>> results(steps.size());
        std::unique_lock lock(mutex_);
        if (failure_.empty()) {
            for (BoardMessage& message : posted)
                queue(rank, message.to).push_back(&message);
            changed_.notify_all();
        }
        for (std::size_t i = 0; i < steps.size() && failure_.empty(); ++i)
            receive(lock, rank, steps[i], results[i]);
        for (const BoardMessage& message : posted)
            wait(lock, rank, message.to, &message);
        // A failure stops further use of what was posted here; what is in use still is waited for.
        for (const BoardMessage& message : posted) {
            while (message.state == BoardMessage::State::in_use)
                changed_.wait(lock);
        }
        if (!failure_.empty()) throw CommunicationError(failure_);
        lock.unlock();
        for (std::size_t i = 0; i < steps.size(); ++i) {  // only now, since `to` may be what other ranks read
            if (!results[i].empty()) std::memcpy(steps[i].to, results[i].data(), results[i].size());
        }
    }

private:
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
    std::deque<BoardMessage*>& queue(int from, int to) { return queues_[index(from) * index(ranks_) + index(to)]; }

    void fail(const std::string& why) {
        if (failure_.empty()) failure_ = why;
        changed_.notify_all();
    }

    std::vector<BoardMessage> messages_of(int rank, const Steps& steps) const {
        std::vector<BoardMessage> messages;
        for (const Step<NoStream>& step : steps) {
            for (int to = 0; to < ranks_; ++to) {
                const bool named = step.kind == StepKind::all_reduce || to == step.peer;
                if (named && (step.kind == StepKind::send || (step.kind != StepKind::receive && to != rank)))
                    messages.push_back({step, to});
            }
        }
        return messages;
    }

    // Until peer has sent something, or taken `message` if there is one, or a failure; which may be that it is gone, or the time.
    void wait(std::unique_lock<std::mutex>& lock, int rank, int peer, const BoardMessage* message = nullptr) {
        const auto& received = queue(peer, rank);
        const auto until = std::chrono::steady_clock::now() + time_limit_;
        while (failure_.empty() &&
               (message != nullptr ? message->state != BoardMessage::State::taken : received.empty())) {
            const bool gone = presence_[index(peer)] == Presence::gone;
            if (!gone && std::chrono::steady_clock::now() < until) {
                changed_.wait_until(lock, until);
                continue;
            }
            return fail(
                "rank " + std::to_string(rank) + " waits for rank " + std::to_string(peer) +
                (gone ? ", which has left" : " for longer than " + std::to_string(time_limit_.count()) + " ms"));
        }
    }

    void receive(std::unique_lock<std::mutex>& lock, int rank, const Step<NoStream>& step,
                 std::vector<std::byte>& result) {
        if (step.kind == StepKind::receive) {
            take(lock, rank, step.peer, step, step.to, false);
        } else if (step.kind == StepKind::all_reduce || (step.kind == StepKind::reduce && step.peer == rank)) {
            result.resize(static_cast<std::size_t>(step.count * bytes_of(step.type)));
            // In order of rank: the same sums everywhere.
            for (int from = 0; from < ranks_ && failure_.empty(); ++from) {
                if (from != rank) {
                    take(lock, rank, from, step, result.data(), from > 0);
                } else {
                    lock.unlock();
                    put(step, step.from, result.data(), from > 0);
                    lock.lock();
                }
            }
        }
    }

    // Copies the next message of `from`, or reduces `to` with it.
    void take(std::unique_lock<std::mutex>& lock, int rank, int from, const Step<NoStream>& step, void* to,
              bool reduces) {
        std::deque<BoardMessage*>& messages = queue(from, rank);
        wait(lock, rank, from);
        if (!failure_.empty()) return;
        BoardMessage& message = *messages.front();
        const Step<NoStream>& sent = message.step;
        if (sent.count != step.count || sent.type != step.type || sent.reduction != step.reduction ||
            std::strcmp(sent.verb, step.verb) != 0) {
            return fail("rank " + std::to_string(from) + " calls " + text_of(sent) + ", rank " + std::to_string(rank) +
                        " expects " + text_of(step));
        }
        messages.pop_front();
        message.state = BoardMessage::State::in_use;
        lock.unlock();
        put(step, sent.from, to, reduces);
        lock.lock();
        message.state = BoardMessage::State::taken;
        changed_.notify_all();
    }
    static void put(const Step<NoStream>& step, const void* from, void* to, bool reduces) {
        if (step.count == 0) return;
        if (reduces) {
            with_number(step.type, ReduceElements{to, from, step.count, step.reduction});
        } else {
            std::memcpy(to, from, static_cast<std::size_t>(step.count * bytes_of(step.type)));
        }
    }
    static std::string text_of(const Step<NoStream>& step) {
        return std::string(step.verb) + " of " + std::to_string(step.count) + " " + name(step.type) +
               (step.reduction == Reduction::max ? " for the maximum" : "");
    }

    const int ranks_;
    const std::chrono::milliseconds time_limit_;
    std::mutex mutex_;  // of all below
    std::condition_variable changed_;
    std::vector<std::deque<BoardMessage*>> queues_;
    std::vector<Presence> presence_;
    std::string failure_;
};

class InProcessEngine {
public:
    using Stream = NoStream;
    static constexpr bool native_equal = false;
    static constexpr bool keeps_buffers = false;

    InProcessEngine(std::shared_ptr<Board> board, int rank) : board_(std::move(board)), rank_(rank) {
        board_->join(rank_);
    }
    InProcessEngine(const InProcessEngine&) = delete;
    InProcessEngine& operator=(const InProcessEngine&) = delete;
    ~InProcessEngine() { board_->leave(rank_); }

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return board_->ranks(); }
    void run(const Board::Steps& steps) const { board_->run(rank_, steps); }
    void drop() const { board_->drop(rank_); }

private:
    std::shared_ptr<Board> board_;
    int rank_;
};

}  // namespace detail

// One rank of VirtualRanks, for one thread. When it is destroyed (the thread ended, or threw), whoever waits for it gets an error.
using VirtualRank = detail::EngineCommunicator<detail::InProcessEngine>;

// A group of virtual ranks, made once; each thread asks for its own:
//     VirtualRanks group(4, std::chrono::seconds(10));
//     // in thread r: const VirtualRank comm = group.join(r);
// No call waits longer than the time limit for another rank: then, or when a rank is gone, or when calls do not fit together, all
// ranks get a CommunicationError, now and in every later call. Sums are made in the order of ranks, and are the same everywhere.
class VirtualRanks {
public:
    explicit VirtualRanks(int ranks, std::chrono::milliseconds time_limit = std::chrono::seconds(60)) {
        if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks));
        board_ = std::make_shared<detail::Board>(ranks, time_limit);
    }

    // Error: a rank outside the group. CommunicationError: a rank that joins twice.
    [[nodiscard]] VirtualRank join(int rank) const {
        if (rank < 0 || rank >= board_->ranks()) throw_if_bad(make_status(Kind::rank, 0, 0, board_->ranks() - 1, rank));
        return VirtualRank(board_, rank);
    }

private:
    std::shared_ptr<detail::Board> board_;
};

}  // namespace seqpar
