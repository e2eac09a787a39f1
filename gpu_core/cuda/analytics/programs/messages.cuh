// messages.cuh -- messages to vertices: combined where they arrive; a vertex that is sent any is listed once.
//
// Needs       Message, Word    f64, f32, i64 or i32; the unsigned type of its size
//             both             what two messages are together, in whatever order
//             IS_SUM_OF_WHOLES
#pragma once
#include "frontier.cuh"

// Combine a message with what is at a position.
__device__ __forceinline__ void combine_into(Message* position, Message sent) {
    Word* const word = reinterpret_cast<Word*>(position);
    if constexpr (IS_SUM_OF_WHOLES) {
        atomicAdd(word, static_cast<Word>(sent));
        return;
    }
    union Bits {
        Message message;
        Word word;
    };
    Bits old, made;
    old.word = __ldcg(word);
    while (true) {
        made.message = both(old.message, sent);
        if (made.word == old.word) return;
        const Word found = atomicCAS(word, old.word, made.word);
        if (found == old.word) return;
        old.word = found;
    }
}

// Whether a vertex is sent its first message; `has` is 0 before.
__device__ __forceinline__ bool is_first_to(u32 target, u32* has) {
    return __ldcg(&has[target]) == 0 && atomicExch(&has[target], 1u) == 0;
}
