// put_words.cuh -- which words of an entry a batch writes, and their values.
//
// Host twin   gpu_core/host/update/rows/entries.py: write_properties
#pragma once
#include "rows.cuh"

// Word `word` of the entry of a put.
__device__ __forceinline__ u32 put_word(const Properties& properties, int word, u32 put) {
    const size_t at = 2 * static_cast<size_t>(put);
    if (HAS_WIDE_WEIGHT(ENTRY_WORDS)) {
        if (word == WEIGHT_WORD) return properties.weight[at];
        if (word == ENTRY_WORDS - 1) return properties.weight[at + 1];
    }
    if (word == WEIGHT_WORD) return properties.weight[put];
    if (word == TYPE_WORD) return properties.type[put];
    if (word < LAST_WORD) return properties.first[at + word - FIRST_WORD];
    return properties.last[at + word - LAST_WORD];
}

// Whether an entry of the batch writes this word of its entry of the adjacency: a put that finds
// its edge keeps the neighbor, and the first time unless that is reset.
__device__ __forceinline__ bool writes_word(u32 code, int word) {
    if (is_new(code)) return true;
    if (word == 0 || !is_found(code)) return false;
    return word < FIRST_WORD || word >= LAST_WORD || code == CODE_RESET;
}

// Whether an old entry goes on in this word; `code` is of the entry of the batch that it met.
__device__ __forceinline__ bool keeps_word(u32 code, int word) {
    return !is_taken(code) && !(is_found(code) && writes_word(code, word));
}
