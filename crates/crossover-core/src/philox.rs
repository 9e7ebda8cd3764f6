//! Philox4x32-10: random bits as a pure function of a key and a position.
//!
//! Element i of stream s under key k is word i mod 4 of the block with counter (i / 4, s). Any sub-range can
//! be generated anywhere, in any order, with the same bits.

/// The 128-bit block of a counter under a key.
///
/// Constants and rounds of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
#[inline(always)]
pub fn block(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let mut round = 0;
    while round < 10 {
        let first = 0xD251_1F53u64 * counter[0] as u64;
        let second = 0xCD9E_8D57u64 * counter[2] as u64;
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        round += 1;
    }
    counter
}

/// The counter of the block that holds element `index` of a stream.
#[inline(always)]
pub fn counter(index: u64, stream: u32) -> [u32; 4] {
    let at = index / 4;
    [at as u32, (at >> 32) as u32, stream, 0]
}

/// Element `index` of a stream.
#[inline(always)]
pub fn word(index: u64, stream: u32, key: [u32; 2]) -> u32 {
    block(counter(index, stream), key)[(index % 4) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_match_the_published_vectors() {
        assert_eq!(block([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(block([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        let pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
        assert_eq!(block(pi, [0xa4093822, 0x299f31d0]), [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
    }

    #[test]
    fn words_walk_through_blocks() {
        let key = [1, 2];
        let first = block([0, 0, 7, 0], key);
        assert_eq!([0, 1, 2, 3].map(|i| word(i, 7, key)), first);
        assert_eq!(word(4 << 32, 0, key), block([0, 1, 0, 0], key)[0]);
    }
}
