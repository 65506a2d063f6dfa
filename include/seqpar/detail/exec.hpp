// Which execution policies a host runs, and how work is handed to them. Not here: what the work is.
#pragma once

#include <seqpar/layout/concepts.hpp>

#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>

#include <cstdint>
#include <type_traits>

namespace seqpar {

namespace thrust = THRUST_NS_QUALIFIER;  // a project may wrap it into a namespace of its own

}  // namespace seqpar

namespace seqpar::detail {

// An argument of every call that a later header may overload (the CUDA one): its namespace is where the overload is found.
struct Dispatch {};

// Taken by the overload of each such call that says that no header serves an exec: a match worse than Dispatch.
struct NoBackend {
    NoBackend(Dispatch) {}
};

// thrust::seq, thrust::host, thrust::cpp::par, thrust::omp::par, thrust::tbb::par, each with an allocator or without.
template <class D>
inline constexpr bool is_host_exec = std::is_convertible_v<const D&, thrust::system::detail::sequential::tag>;

template <class D>
concept HostExec = is_host_exec<D>;

// What the overload for NoBackend says.
template <class D>
constexpr void no_backend() {
    static_assert(is_host_exec<D>,
                  "this execution policy runs on no host: a CUDA one needs #include <seqpar/cuda.hpp>");
}

template <class D>
using ExecBase = thrust::detail::execution_policy_base<D>;

// Whether `exec` is known to run on the calling thread alone, so that cutting work into pieces gains nothing.
template <class D>
inline constexpr bool is_sequential_exec =
    std::is_same_v<D, thrust::detail::seq_t> || std::is_same_v<D, thrust::system::cpp::detail::par_t> ||
    std::is_same_v<D, thrust::system::cpp::tag>;
template <class A>
inline constexpr bool is_sequential_exec<
    thrust::detail::execute_with_allocator<A, thrust::system::detail::sequential::execution_policy>> = true;
template <class A>
inline constexpr bool
    is_sequential_exec<thrust::detail::execute_with_allocator<A, thrust::system::cpp::detail::execution_policy>> = true;

// What a policy of documents says of all of them together, where they cannot be read.
template <Layout L>
Status check_total([[maybe_unused]] const L& layout) {
    if constexpr (requires { layout.policy(), layout.cu_seqlens(); }) {
        return check(layout.policy(), layout.size(), layout.ranks());
    } else if constexpr (requires { layout.outer(); }) {
        return check_total(layout.outer());
    } else if constexpr (requires { layout.base(); }) {
        return check_total(layout.base());
    } else {
        return {};
    }
}

// What can be checked of a layout before an operation under an exec: on a host all, else what needs no memory read.
template <class D, Layout L>
Status check_for(const L& layout) {
    if constexpr (is_host_exec<D>) {
        return check(layout);
    } else {
        const Status status = check_unread(layout);
        return status.ok() ? check_total(layout) : status;
    }
}

// An exec that runs nothing: an operation under it checks all that it would check, and stops there.
struct CheckOnly : thrust::system::detail::sequential::execution_policy<CheckOnly> {};

// What check_for says of the layouts that a view reads through: those of sharded(), one in the other. Nothing of other views.
template <class D = CheckOnly, class V>
Status check_view([[maybe_unused]] const V& v) {
    if constexpr (requires { v.mapping(); }) {
        return check_view<D>(v.mapping());
    } else if constexpr (requires {
                             v.base();
                             requires Layout<std::remove_cvref_t<decltype(v.layout())>>;
                         }) {
        const Status status = check_for<D>(v.layout());
        return status.ok() ? check_view<D>(v.base()) : status;
    } else {
        return {};
    }
}

// Calls work(i) for i in [0, count), in any order and from any thread that `exec` has.
template <HostExec D, class Work>
void for_each_index(const D& exec, std::int64_t count, const Work& work) {
    if constexpr (std::is_same_v<D, CheckOnly>) return;
    if (count > 0) thrust::for_each_n(exec, thrust::counting_iterator<std::int64_t>(0), count, work);
}

}  // namespace seqpar::detail

namespace seqpar {

// The exec of status_of(…): whatever is called with it checks its arguments and writes nothing.
inline constexpr detail::CheckOnly check_only{};

}  // namespace seqpar
