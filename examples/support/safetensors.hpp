// Reads and writes safetensors files: a little-endian u64 n, n bytes of JSON, then the bytes of all tensors.
// The reader is strict: what it accepts is sound in every byte. It knows nothing of batches or tokens.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <seqpar/tensor/half.hpp>

#include "bad_input.hpp"

namespace example {

static_assert(std::endian::native == std::endian::little, "the bytes of a tensor are used as they stand in the file");

/// The name that safetensors gives the element type T.
template <class T>
inline constexpr std::string_view dtype_of{};
template <>
inline constexpr std::string_view dtype_of<std::uint8_t> = "U8";
template <>
inline constexpr std::string_view dtype_of<std::int32_t> = "I32";
template <>
inline constexpr std::string_view dtype_of<std::int64_t> = "I64";
template <>
inline constexpr std::string_view dtype_of<float> = "F32";
template <>
inline constexpr std::string_view dtype_of<seqpar::bf16> = "BF16";

/// Bytes of one element, 0 for a name that safetensors does not know.
std::size_t element_size(std::string_view dtype);

/// Stands for "any extent" in a shape that is asked for.
inline constexpr std::int64_t any_extent = -1;

/// "I64 [3, 31]"; any_extent prints as *.
std::string describe(std::string_view dtype, const std::vector<std::int64_t>& shape);

struct Tensor {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;  ///< row-major, little-endian

    friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// The contents of one file. `file` is how messages call it.
struct TensorFile {
    std::string file;
    std::map<std::string, std::string> metadata;
    std::map<std::string, Tensor> tensors;

    /// The tensor of that name; refuses when it is missing or has another dtype or shape (any_extent fits all).
    [[nodiscard]] const Tensor& require(const std::string& name, std::string_view dtype,
                                        const std::vector<std::int64_t>& shape) const;

    /// The elements of a tensor, row-major, after the checks of `require`. Valid as long as the tensor is.
    template <class T>
    [[nodiscard]] std::span<const T> view(const std::string& name, const std::vector<std::int64_t>& shape) const {
        static_assert(!dtype_of<T>.empty(), "no safetensors dtype is known for this type");
        const Tensor& tensor = require(name, dtype_of<T>, shape);
        return {reinterpret_cast<const T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
    }

    /// Adds a copy of `values` as a tensor. A shape that does not fit, or a name that is taken, is a logic_error.
    template <class T>
    void add(const std::string& name, const std::vector<std::int64_t>& shape, std::span<const T> values) {
        static_assert(!dtype_of<T>.empty(), "no safetensors dtype is known for this type");
        add_bytes(name, dtype_of<T>, shape, std::as_bytes(values));
    }
    void add_bytes(const std::string& name, std::string_view dtype, const std::vector<std::int64_t>& shape,
                   std::span<const std::byte> bytes);
};

/// Reads a whole file. Refuses (BadInput) unless: the length of the header is inside the file; the header is a JSON
/// object without a name twice; metadata are strings; every dtype is known; shape times element size equals the
/// length of data_offsets, counted without overflow; the tensors fill the data exactly, without overlap or hole.
TensorFile read_tensors(const std::filesystem::path& path);
TensorFile parse_tensors(std::span<const std::byte> bytes, std::string file);

/// Writes a file whose bytes depend on nothing but the contents: in the header the metadata first, sorted by key,
/// spaces up to a multiple of 8; then the tensors, wider elements first and then by name, so that every tensor is
/// aligned to its elements. A file that cannot be written is a std::system_error.
void write_tensors(const TensorFile& contents, const std::filesystem::path& path);
std::vector<std::byte> serialize_tensors(const TensorFile& contents);

}  // namespace example
