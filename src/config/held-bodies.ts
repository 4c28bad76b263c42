/**
 * Largest total size of the large JSON bodies of submissions that one isolate (128 MB of memory) holds at the same
 * time, in MB of 1,048,576 bytes: `all` for all of them, `ofAccount` for those of one account. A body takes its own
 * size until it is sent on, and twice its size while its parts are joined. While a body is checked, its text takes up
 * to two bytes for each byte of the body (four for an account), but only one body is checked at a time. No single body
 * can be larger than `all`, so this is the upper end of the range of `MAX_SUBMIT_MB`.
 */
export const HELD_BODIES_MB = { all: 24, ofAccount: 16 } as const;
