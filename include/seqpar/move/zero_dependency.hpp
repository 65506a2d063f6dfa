// ZeroDependency: what keeps a vision encoder in the graph of a rank that has no images. Not here: any gather of rows.
#pragma once

#include <seqpar/index/detail/samples.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/move/shard.hpp>

namespace seqpar {

namespace detail {

template <class V>
struct ZeroVectors {
    static constexpr const char* operation = "seqpar::ZeroDependency";
    V vectors;           // [V, H]
    std::int64_t total;  // V

    SEQPAR_HD void operator()(std::int64_t first, std::int64_t last) const {
        using T = typename V::value_type;
        for (std::int64_t row = first; row < last; ++row) {
            const Line<T> line{vectors.data_handle() + row * vectors.stride(0), vectors.stride(1)};
            write_value(line, 0, vectors.extent(1), T{});
        }
    }
};

// to = from, where they are not one array.
template <class D, class From, class To>
void copy_array(const ExecBase<D>& exec, const From& from, const To& to) {
    bool one = static_cast<const void*>(from.data_handle()) == static_cast<const void*>(to.data_handle());
    for (std::size_t a = 0; a < From::rank(); ++a)
        one = one && from.extent(a) == to.extent(a) && from.stride(a) == to.stride(a);
    if (!one) shard(exec, Contiguous{}(from.extent(0), 1), 0, from, axis<0>, to);
}

}  // namespace detail

// Makes the embeddings depend on a bank whose rows nobody wants, so that the encoder runs its backward, and its collectives, on
// every rank. Adds no 0 * x, which is NaN where x is infinite: no value of the bank is read.
// Synchronises: never. Allocates: never. Launches: on CUDA one an array that is written. Reads offsets on: none.
struct ZeroDependency {
    // out = embeddings, bit for bit; in place too, where nothing is done. Any shape. Errors: as shard.
    template <class D, StridedTensor E, WritableTensor O>
    void operator()(const detail::ExecBase<D>& exec, E&& embeddings, O&& out) const {
        detail::copy_array(exec, view(embeddings), view(out));
    }

    // d_embeddings = d_out (in place too), and d_bank [V, H] = 0, all of it. Errors: as shard, and a d_bank that shares memory.
    template <class D, StridedTensor G, WritableTensor E, WritableTensor B>
    void backward(const detail::ExecBase<D>& exec, G&& d_out, E&& d_embeddings, B&& d_bank) const {
        static_assert(axes_of<B> == 2, "a bank is [V, H]");
        const auto bank = view(d_bank);
        throw_if_bad(detail::check_overlap(bank, 2, view(d_out), view(d_embeddings)));
        detail::copy_array(exec, view(d_out), view(d_embeddings));
        run_index_work(detail::Dispatch{}, thrust::detail::derived_cast(exec),
                       detail::ZeroVectors<view_of<B>>{bank, bank.extent(0)});
    }
};

}  // namespace seqpar
