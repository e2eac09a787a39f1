// deltas.cuh -- sort keys of the entries of a delta, and the arrays unpacked from them.
//
// Keys        row | column | kind | number, from the top: `bits` bits each for row and column,
//             `kind_bits` (2, or 0 where all entries are of one kind), `number_bits` for the number
//             of the put (0 where it travels as a value of the sort, or not at all)
#pragma once
#include "block.cuh"

// Aligned as other arguments are, so that nothing lies between it and them.
struct alignas(8) Layout {
    u32 bits;
    u32 kind_bits;
    u32 number_bits;
    __device__ __forceinline__ u64 pack(u32 row, u32 column, u32 kind, u64 number) const {
        u64 key = static_cast<u64>(row) << bits | column;
        if (kind_bits) key = key << kind_bits | kind;
        return number_bits ? key << number_bits | number : key;
    }
    __device__ __forceinline__ u32 row_shift() const { return bits + kind_bits + number_bits; }
    __device__ __forceinline__ u32 row_of(u64 key) const { return static_cast<u32>(key >> row_shift()); }
    __device__ __forceinline__ u32 column_of(u64 key) const {
        return static_cast<u32>(key >> (kind_bits + number_bits)) & ((1u << bits) - 1);
    }
    __device__ __forceinline__ u8 kind_of(u64 key) const { return (key >> number_bits) & 3; }
    __device__ __forceinline__ u32 number_of(u64 key) const {
        return static_cast<u32>(key & ((u64(1) << number_bits) - 1));
    }
};

// Arrays of a delta; passed by value. `rows` and `indptr` are null where keys have the numbers of rows
// of a list: these are its rows. `kinds` and `source` are null where they are not needed.
struct Grouped {
    u32* rows;
    u32* indptr;
    u32* columns;
    u8* kinds;
    u32* source;
    __device__ __forceinline__ void write_entry(
            const Layout& layout, u64 key, i64 position, u32 number) const {
        columns[position] = layout.column_of(key);
        if (kinds) kinds[position] = layout.kind_of(key);
        if (source) source[position] = number;
    }
};

// Position of a key among those of its row, in their order; keys of rows stand together, in any order
// within. Of a row with more than ORDERED_ENTRIES keys it is nonsense, if within the row.
__device__ __forceinline__ i64 position_in_row(const u64* keys, i64 count, u32 row_shift, i64 at) {
    const u64 key = keys[at];
    const u64 row = key >> row_shift;
    const i64 before = at - ORDERED_ENTRIES;
    const i64 after = at + ORDERED_ENTRIES;
    if (before >= 0 && keys[before] >> row_shift == row) return at;
    if (after < count && keys[after] >> row_shift == row) return at;
    i64 position = at;
    for (i64 i = at - 1; i >= 0 && keys[i] >> row_shift == row; --i) position -= keys[i] > key;
    for (i64 i = at + 1; i < count && keys[i] >> row_shift == row; ++i) position += keys[i] < key;
    return position;
}
