import { Pseudonyms } from '../../discovery/entities/pseudonyms.ts'

/** Pseudonyms with a secret that is the same in each run of a test. */
export const TEST_PSEUDONYMS = new Pseudonyms(Buffer.alloc(32, 7))
