import { integer, withDefault } from '../../kernel/store/columns.ts'

const sum = () => withDefault(integer(), 0)

/** Sums of the requests of one key for one model that began within a span of time. */
export const usageSumColumns = {
  /** Requests that left no row: refused by a limit or as invalid, and those that no cell took. */
  refused: sum(),
  unavailable: sum(),
  retries: sum(),
  /** Number of streams with a first token, and the sum of their times to it. */
  ttft_count: sum(),
  ttft_ms: sum(),
  /** Streams whose first token took at most so many milliseconds. */
  ttft_le_100: sum(),
  ttft_le_250: sum(),
  ttft_le_500: sum(),
  ttft_le_1000: sum(),
  ttft_le_2500: sum(),
  ttft_le_5000: sum(),
  ttft_le_10000: sum(),
  ttft_le_30000: sum(),
  /** Duration of the requests that generated tokens. */
  generation_ms: sum(),
}
