// What the machine-code test reads beside the operations of a step (kernels.cu): the check, the compact form, layouts with pad slots,
// gradients added to what is there, and element types that differ. Never run: the pointers lead nowhere.
#include <seqpar/cuda.hpp>

namespace sp = seqpar;

namespace {

template <class T>
auto vectors(std::int64_t count) {
    return sp::tensor(static_cast<T*>(nullptr), count, std::int64_t{4096});
}
sp::DenseView<std::int32_t, 1> numbers(std::int64_t count) {
    return sp::tensor(static_cast<std::int32_t*>(nullptr), count);
}

}  // namespace

void padded_moves(cudaStream_t stream) {
    const auto exec = thrust::cuda::par_nosync.on(stream);
    const sp::Offsets<std::int64_t> cu(nullptr, 5);
    const auto layout = sp::padded(sp::packed(sp::ZigZag{}, cu, 4096, 8), cu, cu, 4000);
    const auto ids = sp::tensor(static_cast<std::int64_t*>(nullptr), std::int64_t{4000});
    const auto local_ids = sp::tensor(static_cast<std::int64_t*>(nullptr), std::int64_t{512});
    sp::shard_batch(exec, layout, 0, sp::field(ids, sp::axis<0>, local_ids).fill(0),
                    sp::field(vectors<sp::bf16>(4000), sp::axis<0>, vectors<sp::bf16>(512)).fill(sp::bf16{}));
    sp::shard_adjoint(exec, layout, 0, vectors<sp::bf16>(512), sp::axis<0>, vectors<sp::bf16>(4000));
    sp::unshard(exec, layout, sp::joined(vectors<sp::bf16>(4096)), sp::axis<0>, vectors<sp::bf16>(4000));
}

void gathers(cudaStream_t stream) {
    const auto exec = thrust::cuda::par_nosync.on(stream);
    const sp::VisionGather gather;
    const auto rows = numbers(512);
    const auto h = vectors<sp::bf16>(512);
    const auto bank = vectors<float>(99);
    // Added to what is there.
    gather.backward(exec, h, rows, h, vectors<sp::bf16>(99), sp::Add{});
    gather.backward(exec, vectors<float>(512), rows, sp::no_gradient, bank, sp::Add{});
    sp::add_rows_backward(exec, h, rows, sp::levels(vectors<sp::bf16>(99), vectors<sp::bf16>(99)), sp::Add{});
    // A bank of f32 under embeddings of bf16.
    gather(exec, h, rows, bank, h);
    gather.backward(exec, h, rows, h, bank, sp::Store{});
    gather.backward(exec, h, rows, h, bank, sp::Add{});
    sp::add_rows(exec, h, rows, sp::levels(bank));
    sp::add_rows(exec, h, rows, sp::levels(bank, bank, bank));
    sp::add_rows_backward(exec, h, rows, sp::levels(bank, bank, bank), sp::Store{});
    sp::add_rows_backward(exec, h, rows, sp::levels(bank, bank), sp::Add{});
    // Several banks, f16, and f32 alone.
    gather(exec, h, sp::row_array(rows, rows), sp::banks(vectors<sp::bf16>(9), vectors<sp::bf16>(99)), h);
    gather(exec, vectors<float>(512), rows, bank, vectors<float>(512));
    sp::add_rows(exec, vectors<sp::f16>(512), rows, sp::levels(vectors<sp::f16>(99), vectors<sp::f16>(99)));
    sp::select(exec, sp::banks(bank, sp::no_level), sp::row_array(rows, rows), h);
}

void scans_and_checks(cudaStream_t stream, sp::ScratchSpan scratch, sp::Status* status) {
    const auto exec = sp::reporting(thrust::cuda::par_nosync(scratch).on(stream), status);
    const sp::Offsets<std::int64_t> cu(nullptr, 5);
    const auto rows = numbers(512);
    const auto mask = sp::tensor(static_cast<std::uint8_t*>(nullptr), std::int64_t{512});
    const auto count = sp::tensor(static_cast<std::int64_t*>(nullptr), std::int64_t{1});
    sp::compact(exec, sp::row_array(rows, rows), sp::only_banks({0, 1}), mask, numbers(99), numbers(99), count);
    const sp::BankInfo info[] = {sp::BankInfo{99, cu}};
    sp::check_rows(exec, rows, rows, info, mask, cu, cu);
    const auto offsets = sp::tensor(static_cast<std::int64_t*>(nullptr), std::int64_t{5});
    sp::padded_offsets(exec, cu, 16, offsets);
    sp::VisionGather{}.backward(exec, vectors<sp::bf16>(512), rows, sp::no_gradient, vectors<float>(99),
                                sp::Summed<sp::Add>{});
}
