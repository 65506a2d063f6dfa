// GradientState: which sums of gradients are due over a group whose ranks share a bank, each exactly once.
// Not here: the sums themselves; see exchange/reduce.hpp.
#pragma once

#include <seqpar/layout/status.hpp>

namespace seqpar {

// What each rank of a group (CP, or TP with sequence parallelism) holds of a bank in the forward.
enum class BankState : unsigned char {
    replicated,  // all of it, each its own copy; the gradient of each is a part, and may flow on into the encoder as that
    invariant,  // all of it, one value; its gradient must be one value again before it flows on
    sharded,    // the rows of its own items
};

// A sum over the group that a bank's gradient needs before it flows into the encoder.
enum class BankSum : unsigned char {
    none,
    all_reduce,
    reduce_scatter,  // or the reversed plan, which adds nothing: each row's gradient is on one rank
};

// A small value for one group. Ask what is due, do it, and say so; what is not due, or was done before, is an Error: a second sum
// over CP makes gradients c times too big, a forgotten one loses the tokens of other ranks. Errors name the group's axis.
//
// | bank       | sum at the bank | sum of the encoder's weights over the group |
// |------------|-----------------|---------------------------------------------|
// | replicated | none            | yes                                         |
// | invariant  | all-reduce      | no                                          |
// | sharded    | reduce-scatter  | yes                                         |
class GradientState {
public:
    SEQPAR_HD constexpr GradientState(BankState bank, int ranks, GroupAxis axis = GroupAxis::cp)
        : ranks_(ranks), bank_(bank), axis_(axis) {
        if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks));
        weights_due_ = bank != BankState::invariant;
        if (bank != BankState::replicated)
            bank_due_ = bank == BankState::invariant ? BankSum::all_reduce : BankSum::reduce_scatter;
    }

    [[nodiscard]] SEQPAR_HD constexpr BankState bank() const { return bank_; }
    [[nodiscard]] SEQPAR_HD constexpr GroupAxis axis() const { return axis_; }
    // What is still to be done, the bank's before the weights'.
    [[nodiscard]] SEQPAR_HD constexpr BankSum bank_sum() const { return bank_due_; }
    [[nodiscard]] SEQPAR_HD constexpr bool weights_sum() const { return weights_due_; }
    [[nodiscard]] SEQPAR_HD constexpr bool done() const { return bank_due_ == BankSum::none && !weights_due_; }

    // Error (reduction): a sum that is due was not done.
    SEQPAR_HD constexpr void require_done() const {
        if (!done()) refuse(0);
    }

    // The state after a sum at the bank, or of the weights. Errors (reduction): not due, or the bank's is.
    [[nodiscard]] SEQPAR_HD constexpr GradientState after_bank_sum(BankSum sum) const {
        if (sum == BankSum::none || sum != bank_due_) refuse(static_cast<std::int64_t>(sum));
        GradientState next = *this;
        next.bank_due_ = BankSum::none;
        return next;
    }
    [[nodiscard]] SEQPAR_HD constexpr GradientState after_weights_sum() const {
        if (!weights_due_ || bank_due_ != BankSum::none) refuse(sum_of_weights);
        GradientState next = *this;
        next.weights_due_ = false;
        return next;
    }

    // The ranks over which the encoder's gradients are a sum when there are `data_parallel` batches: what a data-parallel engine
    // that takes the mean over all data_parallel * ranks() has to be multiplied with, once, to give it. Errors: a data_parallel
    // below 1 (ranks), or a product that is no int64 (value_lost).
    [[nodiscard]] SEQPAR_HD constexpr std::int64_t weights_over(std::int64_t data_parallel) const {
        if (data_parallel < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, data_parallel));
        if (bank_ == BankState::invariant) return data_parallel;
        const std::int64_t most = INT64_MAX / ranks_;
        if (data_parallel > most) throw_if_bad(make_status(Kind::value_lost, 0, 0, most, data_parallel));
        return data_parallel * ranks_;
    }
    [[nodiscard]] SEQPAR_HD constexpr int ranks() const { return ranks_; }

    friend SEQPAR_HD constexpr bool operator==(const GradientState&, const GradientState&) = default;

private:
    static constexpr std::int64_t sum_of_weights = 3;  // in a Status, after those of BankSum

    SEQPAR_HD constexpr void refuse(std::int64_t got) const {
        const std::int64_t due = bank_due_ != BankSum::none ? static_cast<std::int64_t>(bank_due_)
                                 : weights_due_             ? sum_of_weights
                                                            : 0;
        throw_if_bad(make_status(Kind::reduction, static_cast<int>(axis_), 0, due, got));
    }

    int ranks_ = 1;
    BankState bank_ = BankState::replicated;
    GroupAxis axis_ = GroupAxis::cp;
    BankSum bank_due_ = BankSum::none;
    bool weights_due_ = false;
};

}  // namespace seqpar
